/** A message, or what a chunk adds to one. */
type Message = Record<string, unknown>;

/** What the model thought, under whichever of its names; empty where it did not. */
function thoughtOf({ reasoning_content: content, reasoning }: Message): string {
  if (typeof content === "string") return content;
  return typeof reasoning === "string" ? reasoning : "";
}

/** Whether a message has a place for thoughts, be it empty. */
export function hasThought({ reasoning_content: content, reasoning }: Message): boolean {
  return typeof content === "string" || typeof reasoning === "string";
}

/** The message with its thoughts under one name. */
function nameThought(message: Message): Message {
  const { reasoning, ...rest } = message;
  if (typeof reasoning !== "string") return reasoning === undefined ? message : rest;
  if (typeof rest.reasoning_content !== "string") rest.reasoning_content = reasoning;
  return rest;
}

/** A whole message with its thoughts under one name and, where it holds some, as blocks of content too. */
export function withBlocks(message: Message): Message {
  const thinking = thoughtOf(message);
  const named = nameThought(message);
  if (thinking === "" || named.content_blocks !== undefined) return named;
  const { content } = named;
  const said = typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : [];
  const parts: readonly unknown[] = Array.isArray(content) ? content : said;
  return { ...named, content_blocks: [{ type: "thinking", thinking }, ...parts] };
}

/** Blocks of one choice of a stream: thoughts and texts in the order they come. Streams without thoughts have none. */
export class StreamedBlocks {
  #index = -1;
  #kind = "";

  /** Whether the choice has thought: what it says then belongs to blocks. */
  get hasBegun(): boolean {
    return this.#index >= 0;
  }

  /** What a chunk adds to a message, with the pieces of blocks that make it. */
  add(delta: Message): Message {
    const named = nameThought(delta);
    const thinking = thoughtOf(delta);
    const { content, tool_calls: calls } = named;
    const pieces: object[] = [];
    if (thinking !== "") pieces.push(this.#piece("thinking", thinking));
    if (this.hasBegun && typeof content === "string" && content !== "") pieces.push(this.#piece("text", content));
    // what comes behind a call is not what came before it
    if (Array.isArray(calls) && calls.length > 0) this.#kind = "";
    return pieces.length === 0 || named.content_blocks !== undefined ? named : { ...named, content_blocks: pieces };
  }

  #piece(kind: "thinking" | "text", text: string): object {
    if (kind !== this.#kind) this.#index++;
    this.#kind = kind;
    return { index: this.#index, delta: { [kind]: text } };
  }
}

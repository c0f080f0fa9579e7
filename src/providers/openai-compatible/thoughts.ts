/** A message or a stream delta. */
type Message = Record<string, unknown>;

/** The reasoning text, under any of its names; empty without reasoning. */
function reasoningOf({ reasoning_content: content, reasoning }: Message): string {
  if (typeof content === "string") return content;
  return typeof reasoning === "string" ? reasoning : "";
}

/** Whether a message has a reasoning field, even an empty one. */
export function hasReasoning({ reasoning_content: content, reasoning }: Message): boolean {
  return typeof content === "string" || typeof reasoning === "string";
}

/** The message with its reasoning under one name. */
function nameReasoning(message: Message): Message {
  const { reasoning, ...rest } = message;
  if (typeof reasoning !== "string") return reasoning === undefined ? message : rest;
  if (typeof rest.reasoning_content !== "string") rest.reasoning_content = reasoning;
  return rest;
}

/** A complete message with its reasoning under one name and, when it is not empty, in content blocks too. */
export function withBlocks(message: Message): Message {
  const thinking = reasoningOf(message);
  const named = nameReasoning(message);
  if (thinking === "" || named.content_blocks !== undefined) return named;
  const { content } = named;
  const said = typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : [];
  const parts: readonly unknown[] = Array.isArray(content) ? content : said;
  return { ...named, content_blocks: [{ type: "thinking", thinking }, ...parts] };
}

/**
 * Content blocks of one streamed choice: reasoning and text in order of arrival. Streams without reasoning have no
 * blocks.
 */
export class StreamedBlocks {
  #index = -1;
  #kind = "";

  /** Whether the choice has produced reasoning; its text then goes into blocks too. */
  get hasBegun(): boolean {
    return this.#index >= 0;
  }

  /** The delta with the block deltas that belong to it. */
  add(delta: Message): Message {
    const named = nameReasoning(delta);
    const thinking = reasoningOf(delta);
    const { content, tool_calls: calls } = named;
    const pieces: object[] = [];
    if (thinking !== "") pieces.push(this.#piece("thinking", thinking));
    if (this.hasBegun && typeof content === "string" && content !== "") pieces.push(this.#piece("text", content));
    // text after a tool call starts a new block
    if (Array.isArray(calls) && calls.length > 0) this.#kind = "";
    return pieces.length === 0 || named.content_blocks !== undefined ? named : { ...named, content_blocks: pieces };
  }

  #piece(kind: "thinking" | "text", text: string): object {
    if (kind !== this.#kind) this.#index++;
    this.#kind = kind;
    return { index: this.#index, delta: { [kind]: text } };
  }
}

import { isObject, parseJson, stringOf } from "../../lib/json.ts";

type Item = Readonly<Record<string, unknown>>;

/** A content block while its deltas come. */
interface OpenBlock {
  block: Record<string, unknown>;
  /** JSON text of an input. */
  input: string;
}

/** Adds a delta to a block (https://docs.claude.com/en/docs/build-with-claude/streaming). */
function addDelta(open: OpenBlock, delta: Item): void {
  const { block } = open;
  const append = (name: string, more: unknown) => {
    block[name] = `${stringOf(block[name]) ?? ""}${stringOf(more) ?? ""}`;
  };
  if (delta.type === "text_delta") append("text", delta.text);
  else if (delta.type === "thinking_delta") append("thinking", delta.thinking);
  else if (delta.type === "signature_delta") block.signature = delta.signature;
  else if (delta.type === "input_json_delta") open.input += stringOf(delta.partial_json) ?? "";
  else if (delta.type === "citations_delta") {
    block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation];
  }
}

/** Puts a message together from the events of its stream. */
export class MessageMaker {
  #message: Item | undefined;
  #end: Item = {};
  #usage: Item = {};
  #isOver = false;
  readonly #blocks = new Map<unknown, OpenBlock>();

  push(event: Item): void {
    const { type, index, message, content_block: block, delta, usage } = event;
    if (type === "message_start" && isObject(message)) {
      this.#message = message;
      this.#usage = isObject(message.usage) ? message.usage : {};
    } else if (type === "content_block_start" && isObject(block)) {
      this.#blocks.set(index, { block: { ...block }, input: "" });
    } else if (type === "content_block_delta" && isObject(delta)) {
      const open = this.#blocks.get(index);
      if (open) addDelta(open, delta);
    } else if (type === "message_delta") {
      this.#end = isObject(delta) ? delta : {};
      // counts of the end replace those of the start
      this.#usage = { ...this.#usage, ...(isObject(usage) && usage) };
    } else if (type === "message_stop") this.#isOver = true;
  }

  /** The message; undefined before its end. */
  whole(): Item | undefined {
    if (!this.#message || !this.#isOver) return undefined;
    const content = [...this.#blocks.values()].map(({ block, input }) =>
      input === "" ? block : { ...block, input: parseJson(input) ?? {} },
    );
    return { ...this.#message, ...this.#end, content, usage: this.#usage };
  }
}

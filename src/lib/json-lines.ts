import { type EventCutter, EventTooLongError, maxEventBytes } from "./sse.ts";

const encoder = new TextEncoder();
const lineFeed = 0x0a;

/** A line as a server-sent event: JSON becomes its data, event stream lines are passed through, others are ignored. */
function toEvent(line: string): string {
  if (line === "") return "";
  const text = line.replace(/^data:/, "").trim();
  return text.startsWith("{") || text === "[DONE]" ? `data: ${text}\n\n` : "";
}

/** Splits a stream of JSON lines (https://jsonlines.org) into server-sent events. */
export class JsonLineBlocks implements EventCutter {
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** @throws {EventTooLongError} If a line exceeds `maxEventBytes`. */
  push(chunk: Uint8Array): Uint8Array | undefined {
    const text = this.#decoder.decode(chunk, { stream: true });
    if (!chunk.includes(lineFeed)) {
      this.#rest += text;
      if (this.#rest.length > maxEventBytes) throw new EventTooLongError();
      return undefined;
    }
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    return toBlock(lines);
  }

  takeRest(): Uint8Array | undefined {
    const line = this.#rest;
    this.#rest = "";
    return toBlock([line]);
  }
}

function toBlock(lines: readonly string[]): Uint8Array | undefined {
  const events = lines.map(toEvent).join("");
  return events === "" ? undefined : encoder.encode(events);
}

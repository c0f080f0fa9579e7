import { joinBytes } from "../../lib/bytes.ts";
import type { Stage, StreamObserver } from "./stages.ts";

/** Longest stream that is remembered, in bytes: events take more than what they say. */
const maxBytes = 8 * 1024 * 1024;

const decoder = new TextDecoder();

/** Remembers what a stream sends, before its guardrails see it. */
export class StreamCapture implements Stage {
  readonly #conversion: StreamObserver;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(conversion: StreamObserver) {
    this.#conversion = conversion;
  }

  push(block: Uint8Array): Uint8Array {
    if (this.#bytes > maxBytes) return block;
    this.#bytes += block.length;
    // a copy: the cutter reuses its buffer
    if (this.#bytes <= maxBytes) this.#pieces.push(block.slice());
    else this.#pieces = [];
    return block;
  }

  /** What was sent; undefined where nothing was streamed, or too much. */
  take(): { text: string; usage: unknown } | undefined {
    if (this.#bytes > maxBytes || this.#bytes === 0) return undefined;
    const text = decoder.decode(joinBytes(this.#pieces));
    this.#pieces = [];
    return { text, usage: this.#conversion.usage };
  }
}

/** The cache that a streamed response may be stored in. */
export interface StreamCache {
  /** What remembers a stream that begins. */
  capture(conversion: StreamObserver): StreamCapture;
  /** The stream has ended with this status, and its counts are recorded. */
  streamEnded(status: number): void;
}

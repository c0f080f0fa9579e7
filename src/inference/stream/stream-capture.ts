import { joinBytes } from "../../lib/bytes.ts";
import type { StreamObserver } from "./stream-observer.ts";

/** Longest stream that is remembered, in bytes: events take more than what they say. */
const maxBytes = 8 * 1024 * 1024;

const decoder = new TextDecoder();

/** Remembers what a stream sends, before its guardrails see it. */
export class StreamCapture {
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #observer: StreamObserver | undefined;

  /** Starts to remember what an observer returns from now on. */
  watch(observer: StreamObserver): void {
    this.#observer = observer;
    this.#pieces = [];
    this.#bytes = 0;
    const observe = observer.observe.bind(observer);
    const ending = observer.ending.bind(observer);
    observer.observe = (block) => this.#note(observe(block));
    observer.ending = () => this.#note(ending());
  }

  #note(sent: Uint8Array | undefined): Uint8Array | undefined {
    if (!sent || this.#bytes > maxBytes) return sent;
    this.#bytes += sent.length;
    // whoever cut the block may use its memory again
    if (this.#bytes <= maxBytes) this.#pieces.push(sent.slice());
    else this.#pieces = [];
    return sent;
  }

  /** What was sent; undefined where nothing was streamed, or too much. */
  take(): { text: string; usage: unknown } | undefined {
    if (!this.#observer || this.#bytes > maxBytes || this.#bytes === 0) return undefined;
    const text = decoder.decode(joinBytes(this.#pieces));
    this.#pieces = [];
    return { text, usage: this.#observer.usage() };
  }
}

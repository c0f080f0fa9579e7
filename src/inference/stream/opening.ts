import { UpstreamError } from "../../errors.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { Pace } from "../../lib/pace.ts";
import { type EventCutter, EventTooLongError, isWholeEvent, maxEventBytes, readEvents } from "../../lib/sse.ts";
import { type CheckedStream, checkEvent, readFirstBlock } from "./first-event.ts";
import type { StreamObserver } from "./stream-observer.ts";

/** Longest time that the beginning of a stream is held, in milliseconds: clients and proxies wait for its headers. */
const maxHeldMs = 15_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a read of an upstream's body returned. */
export type Read = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

/** The bytes at the end of a stream as an event that only lacks its blank line; undefined if it was cut. */
export function completeRest(blocks: EventCutter): Uint8Array | undefined {
  const rest = blocks.takeRest();
  const text = rest === undefined ? "" : `${decoder.decode(rest).replace(/[\r\n]+$/, "")}\n\n`;
  return isWholeEvent(text) ? encoder.encode(text) : undefined;
}

/** The error for a stream that ended and said nothing. */
export function unansweredError(provider: string): UpstreamError {
  return new UpstreamError(502, `Cannot use the response of ${provider}: its stream ended without an answer`, {
    provider,
    code: "upstream_empty_stream",
  });
}

/** Parts of a stream whose beginning is read. */
interface OpeningOptions extends CheckedStream {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly blocks: EventCutter;
  readonly observer: StreamObserver;
  /** Called with the first event. */
  onFirst(): void;
}

/**
 * The beginning of a stream: events that name the response, up to the first one that says something. They are held, so
 * that another target can be called where nothing follows.
 */
export class StreamOpening {
  readonly #options: OpeningOptions;
  readonly #expiry = Promise.withResolvers<void>();
  readonly #made: Uint8Array[] = [];
  readonly #pace = new Pace();
  #heldSince: number | undefined;
  #bytes = 0;
  /** A read that runs; whoever reads next waits for it. */
  pending: Promise<Read> | undefined;

  constructor(options: OpeningOptions) {
    this.#options = options;
  }

  /** Ends the wait if it takes too long. */
  tick(now: number): void {
    if (this.#heldSince !== undefined && now - this.#heldSince >= maxHeldMs) this.#expiry.resolve();
  }

  /**
   * What the client gets first; undefined for nothing yet.
   *
   * @throws {UpstreamError} If the stream ends, breaks or reports an error before it says something.
   */
  async read(): Promise<Uint8Array | undefined> {
    const { reader, blocks, context, onFirst } = this.#options;
    let block: Uint8Array | undefined = await readFirstBlock(reader, blocks, this.#options);
    onFirst();
    this.#heldSince = context.services.clock.monotonic();
    for (let isDone = false; !this.#isOpen(block, isDone); ) {
      this.pending = reader.read();
      // an end of the wait leaves it to the next reader
      this.pending.catch(() => {});
      const read = await Promise.race([this.pending, this.#expiry.promise]);
      if (!read) break;
      this.pending = undefined;
      isDone = read.done;
      block = read.done ? completeRest(blocks) : blocks.push(read.value);
      const turn = read.done ? undefined : this.#pace.note(read.value.length);
      if (turn) await turn;
    }
    return this.#made.length === 0 ? undefined : joinBytes(this.#made);
  }

  /** Whether a block of events says something. @throws {UpstreamError} If nothing can follow, or it reports an error. */
  #isOpen(block: Uint8Array | undefined, isDone: boolean): boolean {
    const { observer, context } = this.#options;
    if (block) {
      const made = observer.observe(block);
      if (observer.hasSpoken()) {
        if (made) this.#made.push(made);
        return true;
      }
      for (const { data } of readEvents(decoder.decode(block))) checkEvent(data, this.#options);
      this.#bytes += block.length;
      if (this.#bytes > maxEventBytes) throw new EventTooLongError();
      // whoever cut the block may use its memory again
      if (made) this.#made.push(made.slice());
    }
    if (isDone || observer.isOver()) throw unansweredError(context.log.provider ?? "provider");
    return false;
  }
}

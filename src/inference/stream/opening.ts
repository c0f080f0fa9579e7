import type { CallerContext } from "../../context.ts";
import { UpstreamError } from "../../errors.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { Pace } from "../../lib/pace.ts";
import {
  type EventCutter,
  EventTooLongError,
  isWholeEvent,
  maxEventBytes,
  readEvents,
  readFirstEventOf,
} from "../../lib/sse.ts";
import { statusOfErrorBody } from "../../providers/core/failures.ts";
import { toProviderError } from "../call/provider-response.ts";
import type { StreamStages } from "./stages.ts";

/** Longest time that the beginning of a stream is held, in milliseconds: clients and proxies wait for its headers. */
const maxHeldMs = 15_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a read of an upstream's body returned. */
type Read = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

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

/** A stream whose events are inspected. */
interface CheckedStream {
  readonly upstream: Response;
  readonly context: CallerContext;
}

/** The error in an event of the Responses API (https://platform.openai.com/docs/api-reference/responses-streaming). */
export function typedFailureOf({ type, code, message, param, response }: Record<string, unknown>): unknown {
  if (type === "error") return { code, message, param };
  return type === "response.failed" && isObject(response) ? response.error : undefined;
}

/** Rejects a malformed event. @throws {UpstreamError} Also the failure it reports. */
export function checkEvent(data: string, { context, upstream }: CheckedStream): void {
  if (data === "[DONE]") return;
  const parsed = parseJson(data);
  // Google sends failures as a list of one (https://cloud.google.com/apis/design/errors)
  const value: unknown = Array.isArray(parsed) && isObject(parsed[0]) && parsed[0].error ? parsed[0] : parsed;
  const provider = context.log.provider ?? "provider";
  if (!isObject(value)) {
    throw new UpstreamError(502, `Cannot use the response of ${provider}: its stream does not hold JSON`, {
      provider,
      code: "upstream_bad_answer",
    });
  }
  const error = value.error ?? typedFailureOf(value);
  if (error === undefined || error === null) return;
  const status = statusOfErrorBody(error);
  const text = value === parsed && value.error === error ? data : JSON.stringify({ error });
  throw toProviderError({ status, headers: upstream.headers }, text, context);
}

/** Parts of a stream whose beginning is read. */
interface OpeningOptions extends CheckedStream {
  readonly blocks: EventCutter;
  readonly stages: StreamStages;
}

/**
 * The beginning of a stream: events that name the response, up to the first one that says something. They are held, so
 * that another target can be called where nothing follows.
 */
export class StreamOpening {
  readonly #options: OpeningOptions;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  /** Resolves when the wait takes too long; made when something has to be waited for. */
  #expiry: PromiseWithResolvers<void> | undefined;
  readonly #made: Uint8Array[] = [];
  readonly #pace = new Pace();
  #heldSince: number | undefined;
  #bytes = 0;
  /** Data of the first event, which is checked before the others. */
  #checked: string | undefined;
  /** A read that runs; whoever reads next waits for it. */
  #pending: Promise<Read> | undefined;

  constructor(options: OpeningOptions, reader: ReadableStreamDefaultReader<Uint8Array>) {
    this.#options = options;
    this.#reader = reader;
  }

  /** Ends the wait if it takes too long. */
  tick(now: number): void {
    if (this.#heldSince !== undefined && now - this.#heldSince >= maxHeldMs) this.#expiry?.resolve();
  }

  /** The read that still runs, once. */
  takePending(): Promise<Read> | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    return pending;
  }

  /**
   * Reads up to the first event, so that a failure before it still is a response with a status.
   *
   * @throws {UpstreamError} If the stream ends, breaks or reports an error before its first event.
   * @throws {EventTooLongError} If what comes before it is longer than an event may be.
   */
  async readFirst(): Promise<Uint8Array> {
    const { blocks, context } = this.#options;
    let passedOver = 0;
    for (;;) {
      const { done, value } = await this.#reader.read();
      const bytes = done ? blocks.takeRest() : blocks.push(value);
      const event = bytes && readFirstEventOf(bytes);
      if (bytes && event) {
        checkEvent(event.data, this.#options);
        this.#checked = event.data;
        return bytes;
      }
      // endless blank lines and comments are not a stream
      passedOver += bytes?.length ?? 0;
      if (passedOver > maxEventBytes) throw new EventTooLongError();
      if (done) {
        const provider = context.log.provider ?? "provider";
        const message = `Cannot use the response of ${provider}: its stream ended before the first event`;
        throw new UpstreamError(502, message, { provider, code: "upstream_empty_stream" });
      }
      const turn = this.#pace.note(value.length);
      if (turn) await turn;
    }
  }

  /**
   * What the client gets first; undefined for nothing yet.
   *
   * @param first The first events.
   * @throws {UpstreamError} If the stream ends, breaks or reports an error before it says something.
   */
  async readOn(first: Uint8Array): Promise<Uint8Array | undefined> {
    const { blocks, context } = this.#options;
    this.#heldSince = context.services.clock.monotonic();
    let block: Uint8Array | undefined = first;
    for (let isDone = false; !this.#isOpen(block, isDone); ) {
      this.#pending = this.#reader.read();
      // an end of the wait leaves it to the next reader
      this.#pending.catch(() => {});
      this.#expiry ??= Promise.withResolvers<void>();
      const read = await Promise.race([this.#pending, this.#expiry.promise]);
      if (!read) break;
      this.#pending = undefined;
      isDone = read.done;
      block = read.done ? completeRest(blocks) : blocks.push(read.value);
      const turn = read.done ? undefined : this.#pace.note(read.value.length);
      if (turn) await turn;
    }
    return this.#made.length === 0 ? undefined : joinBytes(this.#made);
  }

  /** Whether a block of events says something. @throws {UpstreamError} If nothing can follow, or it reports an error. */
  #isOpen(block: Uint8Array | undefined, isDone: boolean): boolean {
    const { stages, context } = this.#options;
    if (block) {
      const made = stages.push(block);
      if (stages.conversion.hasSpoken) {
        if (made) this.#made.push(made);
        return true;
      }
      for (const { data } of readEvents(decoder.decode(block))) {
        if (data !== this.#checked) checkEvent(data, this.#options);
      }
      this.#bytes += block.length;
      if (this.#bytes > maxEventBytes) throw new EventTooLongError();
      // a copy: the cutter reuses its buffer
      if (made) this.#made.push(made.slice());
    }
    if (isDone || stages.conversion.isOver()) throw unansweredError(context.log.provider ?? "provider");
    return false;
  }
}

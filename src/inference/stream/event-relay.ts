import type { CallerContext, RunningStream } from "../../context.ts";
import { type GatewayError, GuardrailDeniedError, toErrorBody, toGatewayError, UpstreamError } from "../../errors.ts";
import { DamagedMessageError } from "../../lib/aws-events.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { KeepAlive, type KeepAliveForm } from "../../lib/keep-alive.ts";
import { Pace } from "../../lib/pace.ts";
import { EventBlocks, type EventCutter, EventTooLongError } from "../../lib/sse.ts";
import { BodyPieces } from "../../logs/body.ts";
import { AbortReason } from "../../providers/core/call.ts";
import { type Attempt, endOfTime, toAttemptError } from "../call/attempt.ts";
import { withoutManagedSecrets } from "../target/managed-secrets.ts";
import { toDenialEvents } from "./denial-events.ts";
import { completeRest, type Read, StreamOpening, unansweredError } from "./opening.ts";
import { type StreamHooks, startOfLastEvent } from "./stream-hooks.ts";
import type { StreamObserver } from "./stream-observer.ts";

/** A client that reads nothing for this long is disconnected. */
const clientStallMs = 60_000;

/** Most bytes of a shared stream that wait for its caller. */
const maxAheadBytes = 8 * 1024 * 1024;
/** Others wait for a shared stream, however slowly its caller reads. */
const sharedStrategy = { highWaterMark: maxAheadBytes, size: ({ length }: Uint8Array) => length };

/** Silence of an upstream after which text that can begin no finding is not held back any longer. */
const quietMs = 1_000;

/** Time an upstream gets to close its side after the last event. */
const drainMs = 1_000;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

const dataField = encoder.encode("data:");

/** Whether a block holds more than comments. */
function holdsData(block: Uint8Array): boolean {
  if (dataField.every((byte, index) => block[index] === byte)) return true;
  const text = decoder.decode(block);
  return text.startsWith("data:") || text.includes("\ndata:") || text.includes("\rdata:");
}

/** Bytes of whole events, the last event split off. */
function cutLastEvent(pieces: readonly Uint8Array[]): { before: Uint8Array[]; last: Uint8Array } | undefined {
  const text = pieces.map((piece) => decoder.decode(piece)).join("");
  if (text === "") return undefined;
  const start = startOfLastEvent(text);
  return {
    before: start === 0 ? [] : [encoder.encode(text.slice(0, start))],
    last: encoder.encode(text.slice(start)),
  };
}

/** How a stream ended. */
export interface StreamEnd {
  /** The status for the log: 200, 499 when the client left, else the status of the error. */
  status: number;
  error: unknown;
  /** What was sent, cut at the log's limit. */
  sent: BodyPieces;
  /** Bytes that were sent. */
  sentBytes: number;
}

/** A stream to a client. */
export interface RelayOptions {
  upstream: Response;
  attempt: Attempt;
  observer: StreamObserver;
  context: CallerContext;

  /** Longest idle time inside the stream. */
  idleMs: number;
  /** Splits the upstream's bytes into whole events; by default server-sent ones. */
  blocks?: EventCutter;
  /** What keeps the client's connection open; undefined where nobody waits for bytes. */
  keepAlive: KeepAliveForm | undefined;
  /** Guardrails that check what is sent and add their results. */
  hooks?: StreamHooks | undefined;
  /** Called once. */
  onEnd(end: StreamEnd): void;
}

/** Moves blocks of events from an upstream to a client; however it ends, `onEnd` is called once. */
class EventRelay implements RunningStream {
  readonly #options: RelayOptions;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #blocks: EventCutter;
  readonly #startedAt: number;
  readonly #opening: StreamOpening;
  readonly #keepAlive: KeepAlive;
  /** What was made of the events that the stream begins with. */
  #first: Uint8Array | undefined;
  /** What was sent, cut at the log's limit. */
  readonly #sent = new BodyPieces();
  #sentBytes = 0;
  readonly #pace = new Pace();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #lastReadAt: number;
  #lastAskedAt: number;
  #asking = false;
  #isReading = false;
  /** The whole response is sent; guardrail results may follow. */
  #isWhole = false;
  #hasLeft = false;
  #ended = false;

  constructor(options: RelayOptions, body: ReadableStream<Uint8Array>) {
    this.#options = options;
    this.#blocks = options.blocks ?? new EventBlocks();
    this.#reader = body.getReader();
    const { upstream, context, observer, keepAlive } = options;
    const now = context.services.clock.monotonic();
    const { streamKeepAliveMs } = context.services.limits;
    this.#startedAt = now;
    this.#lastReadAt = now;
    this.#lastAskedAt = now;
    this.#keepAlive = new KeepAlive(keepAlive ? streamKeepAliveMs : 0, now, keepAlive);
    const onFirst = () => this.#begin();
    const parts = { upstream, context, observer, onFirst, reader: this.#reader, blocks: this.#blocks };
    this.#opening = new StreamOpening(parts);
  }

  /** The first event has come. */
  #begin(): void {
    const { attempt, context } = this.#options;
    const { clock, streams } = context.services;
    this.#lastReadAt = clock.monotonic();
    attempt.stopTimer();
    if (attempt.call) attempt.call.firstByteAt = this.#lastReadAt;
    streams.add(this);
  }

  /** Waits until the stream says something; its error until then is the error of the call. */
  async start(): Promise<ReadableStream<Uint8Array>> {
    const { attempt, context } = this.#options;
    try {
      this.#first = await this.#opening.read();
    } catch (error) {
      context.services.streams.delete(this);
      this.#reader.cancel().catch(() => {});
      throw this.#describe(error);
    }
    this.#lastAskedAt = context.services.clock.monotonic();
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pull(),
        cancel: () => this.#leave(),
      },
      attempt.isShared ? sharedStrategy : { highWaterMark: 0 },
    );
    // the end of any other attempt ends its stream
    if (attempt.isShared) {
      const { signal } = context.request;
      if (signal.aborted) this.#leave();
      else signal.addEventListener("abort", this.#leaveOnAbort, { once: true });
    }
    return body;
  }

  readonly #leaveOnAbort = () => this.#leave();

  tick(now: number): void {
    this.#opening.tick(now);
    if (this.#isReading && now - this.#lastReadAt >= quietMs) this.#sendQuiet();
    const { limits } = this.#options.context.services;
    const { attempt } = this.#options;
    if (!this.#asking && now - this.#lastAskedAt > clientStallMs) {
      this.#leave();
      this.#controller?.error(new Error("the client reads nothing"));
    } else if (now - this.#lastReadAt > this.#options.idleMs) {
      attempt.abort(new AbortReason("idle", "Cannot finish the stream: the upstream stopped sending"));
    } else if (now - this.#startedAt > limits.streamTotalTimeoutMs) {
      attempt.abort(new AbortReason("idle", "Cannot finish the stream: it took too long"));
    } else if (this.#asking && !this.#hasLeft) {
      const bytes = this.#keepAlive.take(now);
      if (bytes) this.#controller?.enqueue(bytes);
    }
  }

  #sendQuiet(): void {
    const { hooks } = this.#options;
    if (!hooks?.holds || this.#ended || this.#hasLeft) return;
    try {
      const released = hooks.releaseQuiet();
      if (!released) return;
      hooks.see(released);
      this.#send(hooks.withPrologue(released));
    } catch (denial) {
      this.#fail(denial);
    }
  }

  end(): void {
    this.#options.attempt.abort(new AbortReason("shutdown", "Cannot finish the stream: the gateway is stopping"));
  }

  #send(bytes: Uint8Array): void {
    this.#sent.add(bytes);
    this.#sentBytes += bytes.length;
    if (!this.#hasLeft) this.#controller?.enqueue(bytes);
    this.#keepAlive.note(bytes, this.#options.context.services.clock.monotonic());
  }

  /** Sends the next bytes, or the end. */
  async #pull(): Promise<void> {
    this.#asking = true;
    this.#lastAskedAt = this.#options.context.services.clock.monotonic();
    try {
      while (!this.#ended) {
        if ((await this.#step()) && !this.#hasLeft) return;
      }
    } catch (error) {
      this.#fail(this.#options.hooks?.holds ? await this.#sendHeld(error) : error);
    } finally {
      this.#asking = false;
      this.#lastAskedAt = this.#options.context.services.clock.monotonic();
    }
  }

  /** Reads once; true when something was sent or the stream is over. */
  async #step(): Promise<boolean> {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) return this.#passMade(first);
    this.#isReading = true;
    const { done, value } = await this.#read();
    this.#isReading = false;
    if (this.#ended) return true;
    if (done) {
      await this.#finish();
      return true;
    }
    const turn = this.#pace.note(value.length);
    if (turn) await turn;
    if (this.#ended) return true;
    const block = this.#blocks.push(value);
    if (block === undefined) return false;
    if (holdsData(block)) this.#lastReadAt = this.#options.context.services.clock.monotonic();
    return this.#passMade(this.#options.observer.observe(block));
  }

  #read(): Promise<Read> {
    const { pending } = this.#opening;
    this.#opening.pending = undefined;
    return pending ?? this.#reader.read();
  }

  /** Sends what the observer returned for a block; true when something was sent or the stream is over. */
  #passMade(made: Uint8Array | undefined): boolean | Promise<boolean> {
    const { hooks } = this.#options;
    if (!hooks?.holds || made === undefined) return this.#forward(made);
    const released = hooks.release(made);
    return released instanceof Promise ? released.then((sent) => this.#forward(sent)) : this.#forward(released);
  }

  /** Sends events that no guardrail holds back. */
  #forward(seen: Uint8Array | undefined): boolean | Promise<boolean> {
    if (this.#ended) return true;
    const { observer, hooks } = this.#options;
    this.#requireAnswer();
    if (hooks && seen !== undefined) hooks.see(seen);
    const output = hooks && seen !== undefined ? hooks.withPrologue(seen) : seen;
    if (hooks && this.#isOver(output)) return this.#concludeHooked(hooks, output);
    if (output !== undefined) this.#send(output);
    if (observer.isOver()) this.#conclude();
    return output !== undefined || this.#ended;
  }

  /** @throws {UpstreamError} For a stream that ends and said nothing, though it was begun because that took long. */
  #requireAnswer(): void {
    const { observer, context } = this.#options;
    if (observer.hasSpoken() || observer.state() === "failed" || !observer.isOver()) return;
    throw unansweredError(context.log.provider ?? "provider");
  }

  /** Whether the response is complete; where it breaks, what came before that is sent. */
  #isOver(output: Uint8Array | undefined): boolean {
    try {
      return this.#options.observer.isOver();
    } catch (error) {
      if (output !== undefined) this.#send(output);
      throw error;
    }
  }

  /** The upstream closed its side. */
  async #finish(): Promise<void> {
    const { observer, context } = this.#options;
    const rest = completeRest(this.#blocks);
    if (rest) await this.#passMade(observer.observe(rest));
    if (this.#ended) return;
    const provider = context.log.provider ?? "provider";
    if (!observer.hasSpoken() && observer.state() !== "failed") throw unansweredError(provider);
    if (observer.state() === "open") {
      const message = `Cannot finish the stream: ${provider} closed it before its end`;
      this.#fail(new UpstreamError(502, message, { provider, code: "upstream_incomplete_stream" }));
      return;
    }
    const { hooks } = this.#options;
    if (hooks) await this.#concludeHooked(hooks, undefined);
    else this.#conclude();
  }

  /** Ends the stream as `#conclude`, with the guardrail results. */
  async #concludeHooked(hooks: StreamHooks, last: Uint8Array | undefined): Promise<boolean> {
    const { observer } = this.#options;
    const isFailed = observer.state() === "failed";
    const made = isFailed ? undefined : observer.ending();
    const ending = hooks.holds ? await hooks.releaseRest(made) : made;
    if (this.#ended) return true;
    if (isFailed) {
      for (const bytes of [last, ending]) if (bytes) this.#send(bytes);
      this.#conclude();
      return true;
    }
    if (ending) hooks.see(ending);
    const owed = [last, ending].filter((bytes) => bytes !== undefined);
    const held = hooks.holdsLast ? cutLastEvent(owed) : undefined;
    for (const bytes of held?.before ?? owed) this.#send(bytes);
    this.#isWhole = held === undefined;
    const said = await Promise.race([hooks.finish(), endOfTime(this.#options.attempt)]);
    if (this.#ended) return true;
    if (said && !this.#hasLeft) this.#send(said);
    if (held) this.#send(held.last);
    this.#close(200, undefined);
    void this.#drain();
    return true;
  }

  /** Ends the stream: whatever still comes is not part of it. */
  #conclude(): void {
    const { observer } = this.#options;
    const failed = observer.state() === "failed";
    const ending = failed ? undefined : observer.ending();
    if (ending !== undefined) this.#send(ending);
    this.#close(failed ? 502 : 200, undefined);
    void this.#drain();
  }

  /** Reads what is left, briefly: a connection that is read to its end can be reused. */
  async #drain(): Promise<void> {
    const cancelTimer = this.#options.context.services.timers.start(drainMs, () =>
      this.#reader.cancel().catch(() => {}),
    );
    try {
      while (!(await this.#reader.read()).done);
    } catch {
      // it was over already
    } finally {
      cancelTimer();
    }
  }

  /** Sends what guardrails still hold of a response that failed; returns the error to report. */
  async #sendHeld(error: unknown): Promise<unknown> {
    const { hooks } = this.#options;
    if (this.#ended || error instanceof GuardrailDeniedError) return error;
    try {
      const rest = await hooks?.releaseRest();
      if (rest && !this.#hasLeft) this.#send(rest);
      return hooks ? await hooks.readFailure(error) : error;
    } catch (denial) {
      return denial;
    }
  }

  /** A failure after the response started: one error event, then the end. */
  #fail(cause: unknown): void {
    if (this.#ended) return;
    const { attempt, observer } = this.#options;
    const error = this.#describe(cause);
    const shownError = toGatewayError(error);
    shownError.message = withoutManagedSecrets(shownError.message, this.#options.context);
    this.#reader.cancel().catch(() => {});
    if (!(attempt.signal.reason instanceof AbortReason) || attempt.signal.reason.kind !== "client") {
      const ending = observer.failure(this.#shownBody(shownError), shownError.status);
      this.#send(cause instanceof GuardrailDeniedError ? toDenialEvents(ending) : ending);
    }
    attempt.abort(new AbortReason("client", "the stream is over"));
    this.#close(shownError.status, error);
  }

  /** The body of an error; what the upstream said of it may repeat a credential. */
  #shownBody(error: GatewayError): object {
    const body = toErrorBody(error);
    const shown = parseJson(withoutManagedSecrets(JSON.stringify(body), this.#options.context));
    return isObject(shown) ? shown : body;
  }

  #describe(cause: unknown): Error {
    const { attempt, context } = this.#options;
    const provider = context.log.provider ?? "provider";
    if (cause instanceof UpstreamError || cause instanceof GuardrailDeniedError) return cause;
    if (cause instanceof DamagedMessageError) {
      return new UpstreamError(502, cause.message, { cause, provider, code: "upstream_bad_answer" });
    }
    if (cause instanceof EventTooLongError) {
      return new UpstreamError(502, cause.message, { cause, provider, code: "upstream_event_too_long" });
    }
    return toAttemptError(cause, attempt, provider);
  }

  /** The client disconnected. */
  #leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    // many clients close as soon as the response is complete
    if (this.#isWhole || this.#ended) return;
    const { attempt } = this.#options;
    if (attempt.isShared) {
      // a read that runs goes on to the end
      if (!this.#asking) void this.#pull();
      return;
    }
    attempt.abort(new AbortReason("client", "the caller disconnected"));
    this.#reader.cancel().catch(() => {});
    this.#over(499, toAttemptError(undefined, attempt, this.#options.context.log.provider ?? "provider"));
  }

  #close(status: number, error: unknown): void {
    this.#over(status, error);
    // the request is settled before its response ends: a client that saw the end was counted
    queueMicrotask(() => this.#end());
  }

  #end(): void {
    try {
      this.#controller?.close();
    } catch {
      // the client cancelled in the same turn
    }
  }

  #over(status: number, error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.context.services.streams.delete(this);
    const { attempt, context } = this.#options;
    attempt.release();
    // the runtime makes the signal when it is first asked for
    if (attempt.isShared) context.request.signal.removeEventListener("abort", this.#leaveOnAbort);
    this.#options.onEnd({ status, error, sent: this.#sent, sentBytes: this.#sentBytes });
  }
}

/**
 * A stream for the client from an upstream's stream of events, started once its first event arrived.
 *
 * @throws {GatewayError} If there is no usable first event.
 */
export function relayEvents(options: RelayOptions): Promise<ReadableStream<Uint8Array>> {
  const { upstream, context } = options;
  const provider = context.log.provider ?? "provider";
  if (upstream.body === null) {
    throw new UpstreamError(502, `Cannot use the response of ${provider}: it has no body`, { provider });
  }
  return new EventRelay(options, upstream.body).start();
}

import type { CallerContext } from "../../context.ts";
import { type GatewayError, GuardrailDeniedError, toErrorBody, toGatewayError, UpstreamError } from "../../errors.ts";
import { DamagedMessageError } from "../../lib/aws-events.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { KeepAliveForm } from "../../lib/keep-alive.ts";
import { Pace } from "../../lib/pace.ts";
import { type EventCutter, EventTooLongError } from "../../lib/sse.ts";
import type { BodyPieces } from "../../logs/body.ts";
import { AbortReason } from "../../providers/core/call.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { PulledStream } from "../../upstream/client-stream.ts";
import { endOfTime, toAttemptError } from "../call/attempt.ts";
import { withoutManagedSecrets } from "../target/managed-secrets.ts";
import { type GuardStages, startOfLastEvent, toDenialEvents } from "./guard-stages.ts";
import { completeRest, StreamOpening, unansweredError } from "./opening.ts";
import type { StreamObserver, StreamStages } from "./stages.ts";

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
const lineFeed = 0x0a;

const dataField = encoder.encode("data:");

function isDataAt(block: Uint8Array, start: number): boolean {
  for (let index = 0; index < dataField.length; index++) if (block[start + index] !== dataField[index]) return false;
  return true;
}

/** Whether a block holds more than comments. */
function holdsData(block: Uint8Array): boolean {
  // most events begin with their data, or have them below their name
  if (isDataAt(block, 0) || isDataAt(block, block.indexOf(lineFeed) + 1)) return true;
  const text = decoder.decode(block);
  return text.includes("\ndata:") || text.includes("\rdata:");
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
  stages: StreamStages;
  /** The stages of its guardrails, which are behind the others. */
  guardStages?: GuardStages | undefined;
  context: CallerContext;

  /** Longest idle time inside the stream. */
  idleMs: number;
  /** Splits the upstream's bytes into whole events. */
  blocks: EventCutter;
  /** What keeps the client's connection open; undefined where nobody waits for bytes. */
  keepAlive: KeepAliveForm | undefined;
  /** Called once. */
  onEnd(end: StreamEnd): void;
}

/** Moves blocks of events from an upstream to a client; however it ends, `onEnd` is called once. */
export class EventRelay extends PulledStream {
  readonly #options: RelayOptions;
  readonly #conversion: StreamObserver;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #opening: StreamOpening;
  /** What was made of the events that the stream begins with. */
  #first: Uint8Array | undefined;
  readonly #pace = new Pace();
  #isReading = false;
  /** The whole response is sent; guardrail results may follow. */
  #isWhole = false;

  /** @throws {UpstreamError} For a response without a body. */
  constructor(options: RelayOptions) {
    const { context, upstream, keepAlive, stages } = options;
    super(context.services, keepAlive);
    if (upstream.body === null) {
      const provider = context.log.provider ?? "provider";
      throw new UpstreamError(502, `Cannot use the response of ${provider}: it has no body`, { provider });
    }
    this.#options = options;
    this.#conversion = stages.conversion;
    this.#reader = upstream.body.getReader();
    this.#opening = new StreamOpening(options, this.#reader);
  }

  /**
   * The stream for the client, once it says something.
   *
   * @throws {GatewayError} If there is no usable first event: the error of the call.
   */
  async start(): Promise<ReadableStream<Uint8Array>> {
    const { attempt, context } = this.#options;
    try {
      const first = await this.#opening.readFirst();
      this.lastReadAt = this.now();
      attempt.stopTimer();
      if (attempt.call) attempt.call.firstByteAt = this.lastReadAt;
      this.register();
      this.#first = await this.#opening.readOn(first);
    } catch (error) {
      this.unregister();
      this.#reader.cancel().catch(() => {});
      throw this.#describe(error);
    }
    const body = this.open(attempt.isShared ? sharedStrategy : undefined);
    // the end of any other attempt ends its stream
    if (attempt.isShared) {
      const { signal } = context.request;
      if (signal.aborted) this.leave();
      else signal.addEventListener("abort", this.#leaveOnAbort, { once: true });
    }
    return body;
  }

  readonly #leaveOnAbort = () => this.leave();

  override tick(now: number): void {
    this.#opening.tick(now);
    if (this.#isReading && now - this.lastReadAt >= quietMs) this.#sendQuiet();
    super.tick(now);
  }

  protected override expire(now: number): boolean {
    const { attempt, idleMs, context } = this.#options;
    const isIdle = now - this.lastReadAt > idleMs;
    if (!isIdle && now - this.startedAt <= context.services.limits.streamTotalTimeoutMs) return false;
    const problem = isIdle ? "the upstream stopped sending" : "it took too long";
    attempt.abort(new AbortReason("idle", `Cannot finish the stream: ${problem}`));
    return true;
  }

  #sendQuiet(): void {
    if (this.isOver || this.hasLeft) return;
    try {
      const released = this.#options.guardStages?.releaseQuiet();
      if (released) this.send(released);
    } catch (denial) {
      this.#fail(denial);
    }
  }

  override end(): void {
    this.#options.attempt.abort(new AbortReason("shutdown", "Cannot finish the stream: the gateway is stopping"));
  }

  /** Reads once; true when something was sent or the stream is over. */
  protected override async step(): Promise<boolean> {
    const { stages, blocks } = this.#options;
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) return this.#pass(first);
    this.#isReading = true;
    const { done, value } = await (this.#opening.takePending() ?? this.#reader.read());
    this.#isReading = false;
    if (this.isOver) return true;
    if (done) return this.#finish();
    const turn = this.#pace.note(value.length);
    if (turn) await turn;
    if (this.isOver) return true;
    const block = blocks.push(value);
    if (block === undefined) return false;
    if (holdsData(block)) this.lastReadAt = this.now();
    return this.#pass(stages.push(block));
  }

  /** Sends what a block became; true when something was sent or the stream is over. */
  #pass(made: Uint8Array | undefined): boolean | Promise<boolean> {
    const { guardStages: guard } = this.#options;
    if (guard) return this.#passGuarded(guard, made);
    this.#requireAnswer();
    if (made !== undefined) this.send(made);
    if (this.#conversion.isOver()) this.#conclude();
    return made !== undefined || this.isOver;
  }

  /** Sends what guardrails let pass. */
  async #passGuarded(guard: GuardStages, made: Uint8Array | undefined): Promise<boolean> {
    const released = made && (await guard.push(made));
    if (this.isOver) return true;
    this.#requireAnswer();
    if (this.#endsWith(released)) return this.#concludeGuarded(guard, released);
    if (released) this.send(released);
    return released !== undefined;
  }

  /** @throws {UpstreamError} For a stream that ends and said nothing, though it was begun because that took long. */
  #requireAnswer(): void {
    const { context } = this.#options;
    const conversion = this.#conversion;
    if (conversion.hasSpoken || conversion.state === "failed" || !conversion.isOver()) return;
    throw unansweredError(context.log.provider ?? "provider");
  }

  /** Whether the response is complete; where it breaks, what came before that is sent. */
  #endsWith(last: Uint8Array | undefined): boolean {
    try {
      return this.#conversion.isOver();
    } catch (error) {
      if (last !== undefined) this.send(last);
      throw error;
    }
  }

  /** The upstream closed its side. */
  async #finish(): Promise<boolean> {
    const { stages, blocks, guardStages: guard, context } = this.#options;
    const rest = completeRest(blocks);
    if (rest) await this.#pass(stages.push(rest));
    if (this.isOver) return true;
    const provider = context.log.provider ?? "provider";
    const state = this.#conversion.state;
    if (!this.#conversion.hasSpoken && state !== "failed") throw unansweredError(provider);
    if (state === "open") {
      const message = `Cannot finish the stream: ${provider} closed it before its end`;
      this.#fail(new UpstreamError(502, message, { provider, code: "upstream_incomplete_stream" }));
    } else if (guard) await this.#concludeGuarded(guard, undefined);
    else this.#conclude();
    return true;
  }

  /** Ends the stream as `#conclude`, with the guardrail results. */
  async #concludeGuarded(guard: GuardStages, last: Uint8Array | undefined): Promise<boolean> {
    const { attempt, stages } = this.#options;
    const isFailed = this.#conversion.state === "failed";
    const rest = await guard.finish(isFailed ? undefined : stages.end());
    if (this.isOver) return true;
    const owed = [last, rest].filter((bytes) => bytes !== undefined);
    const held = guard.holdsLast && !isFailed ? cutLastEvent(owed) : undefined;
    for (const bytes of held?.before ?? owed) this.send(bytes);
    if (!isFailed) {
      this.#isWhole = held === undefined;
      const said = await Promise.race([guard.conclude(), endOfTime(attempt)]);
      if (this.isOver) return true;
      if (said && !this.hasLeft) this.send(said);
      if (held) this.send(held.last);
    }
    this.#close(isFailed ? 502 : 200, undefined);
    void this.#drain();
    return true;
  }

  /** Ends the stream: whatever still comes is not part of it. */
  #conclude(): void {
    const isFailed = this.#conversion.state === "failed";
    const rest = isFailed ? undefined : this.#options.stages.end();
    if (rest !== undefined) this.send(rest);
    this.#close(isFailed ? 502 : 200, undefined);
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

  protected override async fail(cause: unknown): Promise<void> {
    const { guardStages: guard } = this.#options;
    this.#fail(guard?.holds ? await this.#sendHeld(guard, cause) : cause);
  }

  /** Sends what guardrails still hold of a response that failed; returns the error to report. */
  async #sendHeld(guard: GuardStages, error: unknown): Promise<unknown> {
    if (this.isOver || error instanceof GuardrailDeniedError) return error;
    try {
      const rest = await guard.finish();
      if (rest && !this.hasLeft) this.send(rest);
      return await guard.readFailure(error);
    } catch (denial) {
      return denial;
    }
  }

  /** A failure after the response started: one error event, then the end. */
  #fail(cause: unknown): void {
    if (this.isOver) return;
    const { attempt } = this.#options;
    const error = this.#describe(cause);
    const shownError = toGatewayError(error);
    shownError.message = withoutManagedSecrets(shownError.message, this.#options.context);
    this.#reader.cancel().catch(() => {});
    if (!(attempt.signal.reason instanceof AbortReason) || attempt.signal.reason.kind !== "client") {
      const ending = this.#conversion.failure(this.#shownBody(shownError), shownError.status);
      this.send(cause instanceof GuardrailDeniedError ? toDenialEvents(ending) : ending);
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

  protected override leave(): void {
    if (this.hasLeft) return;
    this.hasLeft = true;
    // many clients close as soon as the response is complete
    if (this.#isWhole || this.isOver) return;
    const { attempt } = this.#options;
    if (attempt.isShared) {
      // a read that runs goes on to the end
      if (!this.isAsking) void this.pull();
      return;
    }
    attempt.abort(new AbortReason("client", "the caller disconnected"));
    this.#reader.cancel().catch(() => {});
    this.#over(499, toAttemptError(undefined, attempt, this.#options.context.log.provider ?? "provider"));
  }

  #close(status: number, error: unknown): void {
    this.#over(status, error);
    // the request is settled before its response ends: a client that saw the end was counted
    queueMicrotask(() => this.close());
  }

  #over(status: number, error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.unregister();
    const { attempt, context } = this.#options;
    attempt.release();
    // the runtime makes the signal when it is first asked for
    if (attempt.isShared) context.request.signal.removeEventListener("abort", this.#leaveOnAbort);
    this.#options.onEnd({ status, error, sent: this.sent, sentBytes: this.sentBytes });
  }
}

import { RpcError, toErrorBody } from "../errors.ts";
import type { Budget } from "../lib/budget.ts";
import type { ExactValue } from "../lib/exact-numbers.ts";
import { isObject } from "../lib/json.ts";
import type { Ending } from "../lib/reply.ts";
import { EventBlocks, eventsWithin } from "../lib/sse.ts";
import type { Attempt } from "../upstream/attempt.ts";
import { PulledStream } from "../upstream/client-stream.ts";
import { isAnswerTo, readAnswerMessage, resultLimit, toJudgedAnswer } from "./answer.ts";
import { mayPass } from "./capabilities.ts";
import { countResult } from "./limits.ts";
import { ListeningWatch } from "./listening-watch.ts";
import { answering, type McpCall } from "./mcp-call.ts";
import { createMessageBudget } from "./message-budget.ts";
import { meta } from "./protocol.ts";
import { withClientSubscription } from "./request-ids.ts";
import { readStreamEvents, type StreamEvent, writeStreamEvent } from "./sse-fields.ts";
import { describeFailure, endBy, upstreamError } from "./upstream.ts";

/** Most times a stream is taken up again, and the wait before it. */
const maxResumes = 5;
const defaultRetryMs = 1_000;
const maxRetryMs = 10_000;
/** Room of an event around its result. */
const eventOverhead = 4_096;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What becomes of the messages of a stream, where client and server speak different revisions. */
export interface StreamRules {
  /** Changes an answer of the upstream before it is shown. */
  convert?(value: Record<string, unknown>): Record<string, unknown>;
  /** A notification as the caller gets it; undefined for one that it does not get. */
  toNotification?(value: Record<string, unknown>): Record<string, unknown> | undefined;
  /** Called with a request of the upstream that the caller does not get. */
  onRequest?(value: Readonly<Record<string, unknown>>): void;
  /** Nothing may come for any time. */
  isQuiet?: boolean;
  /** Called if the caller left before the answer. */
  onLeave?(): void;
}

/** Parts of a stream to a caller. */
interface RelayOptions {
  readonly call: McpCall;
  readonly attempt: Attempt;
  readonly response: Response;
  /** Takes the stream up again after the event with this id; undefined where that is impossible. */
  resume?(lastEventId: string): Promise<Response>;
  readonly rules: StreamRules;
  /** Called once, however the stream ends. */
  onOver(): void;
}

/** Moves the events of an upstream to a caller, up to the answer to the request. */
class McpStream extends PulledStream {
  readonly #options: RelayOptions;
  readonly #blocks: EventBlocks;
  readonly #budget: Budget;
  readonly #resolve: (ending: Ending) => void;
  #reader: ReadableStreamDefaultReader<Uint8Array>;
  #lastEventId: string | undefined;
  #retryMs = defaultRetryMs;
  #resumes = 0;
  /** Absent for calls, which end in time. */
  readonly #watch: ListeningWatch | undefined;

  constructor(options: RelayOptions, body: ReadableStream<Uint8Array>, resolve: (ending: Ending) => void) {
    super(options.call.context.services, "comment");
    this.#options = options;
    this.#resolve = resolve;
    this.#reader = body.getReader();
    this.#blocks = new EventBlocks(resultLimit(options.call) + eventOverhead);
    this.#budget = createMessageBudget(options.call, options.rules.isQuiet);
    const isListening = options.call.message.method === "subscriptions/listen";
    this.#watch = isListening ? new ListeningWatch(options.call, () => this.#endListening("shutdown")) : undefined;
  }

  /** The stream for the caller. */
  start(): ReadableStream<Uint8Array> {
    this.register();
    return this.open();
  }

  override tick(now: number): void {
    this.#watch?.tick(now);
    super.tick(now);
  }

  protected override expire(now: number): boolean {
    const { call, attempt, rules } = this.#options;
    const isSilent = now - this.lastReadAt > call.context.services.mcp.settings.streamIdleTimeoutMs;
    if (isSilent && !rules.isQuiet) endBy(attempt, "idle");
    return isSilent && !rules.isQuiet;
  }

  override end(): void {
    const { call, attempt } = this.#options;
    if (call.message.method === "subscriptions/listen") this.#endListening("shutdown");
    else endBy(attempt, "shutdown");
  }

  /** Ends a stream on which a client listens as its server would: the client listens again. */
  #endListening(reason: "client" | "shutdown"): void {
    const { call, attempt } = this.#options;
    if (this.isOver) return;
    const { id } = call.message;
    const result = { resultType: "complete", _meta: { [meta.subscriptionId]: id } };
    if (reason === "shutdown") this.#sendMessage({ jsonrpc: "2.0", id, result }, undefined);
    endBy(attempt, reason);
    this.#reader.cancel().catch(() => {});
    this.#close(200, undefined);
  }

  /** Whether events may have ids: clients of the newest revisions take up no streams. */
  get #hasEventIds(): boolean {
    return this.#options.call.era === "legacy";
  }

  #sendMessage(
    value: unknown,
    from: StreamEvent | undefined,
    write: (value: unknown) => string = JSON.stringify,
  ): void {
    const { event, id, retry } = (this.#hasEventIds ? from : undefined) ?? {};
    this.send(encoder.encode(writeStreamEvent({ event, id, retry, data: write(value) })));
  }

  protected override async step(): Promise<boolean> {
    const { done, value } = await this.#reader.read();
    if (this.isOver) return true;
    if (done) return this.#finish();
    this.lastReadAt = this.now();
    const block = this.#blocks.push(value);
    return block === undefined ? this.isOver : this.#pass(decoder.decode(block));
  }

  /** Sends what a block of events holds; true when something was sent or the stream is over. */
  async #pass(text: string): Promise<boolean> {
    let isSent = false;
    for await (const event of eventsWithin(text, this.#budget, readStreamEvents)) {
      if (this.isOver) return true;
      if (event.id !== undefined) this.#lastEventId = event.id;
      if (event.retry !== undefined) this.#retryMs = Math.min(Number(event.retry), maxRetryMs);
      if (event.data === undefined || event.data.trim() === "") {
        if (this.#hasEventIds) this.send(encoder.encode(writeStreamEvent(event)));
        isSent ||= this.#hasEventIds;
      } else isSent = (await this.#passMessage(event, event.data)) || isSent;
      if (this.isOver) return true;
    }
    return isSent;
  }

  /** Sends a message if the caller may have it. */
  #passMessage(event: StreamEvent, data: string): boolean | Promise<boolean> {
    const { call, rules } = this.#options;
    const read = readAnswerMessage(encoder.encode(data));
    if (!read) throw upstreamError(502, "Cannot use the answer of the server: an event is not a message");
    const { value, json } = read;
    if (typeof value.method === "string") {
      const shown = this.#toShown(value.method, value);
      if (shown && call.judgeMessage) return this.#sendJudged(shown, event, json);
      if (shown) this.#sendMessage(shown, event, json.write);
      return shown !== undefined;
    }
    // it answers another request, which is no business of this caller
    if (!isAnswerTo(call, value)) return false;
    countResult(call, data.length);
    return this.#sendAnswer(rules.convert?.(value) ?? value, event, json);
  }

  /** Sends a message before the answer, as the guardrails of the call leave it; false for one that they withhold. */
  async #sendJudged(shown: Record<string, unknown>, event: StreamEvent, json: ExactValue): Promise<boolean> {
    const judged = await this.#options.call.judgeMessage?.(shown, json.numbers);
    if (this.isOver) return true;
    if (judged) this.#sendMessage(judged, event, json.write);
    return judged !== undefined;
  }

  /** Sends the answer, once the guardrails of the call have seen it, and ends the stream. */
  async #sendAnswer(value: Record<string, unknown>, event: StreamEvent, json: ExactValue): Promise<boolean> {
    const answer = await toJudgedAnswer(this.#options.call, value, json);
    if (this.isOver) return true;
    this.#sendMessage(answer, event, json.write);
    this.#conclude();
    return true;
  }

  /** A notification or a request of the upstream as the caller gets it; undefined where it does not. */
  #toShown(method: string, value: Record<string, unknown>): Record<string, unknown> | undefined {
    const { call, rules } = this.#options;
    const params = isObject(value.params) ? value.params : {};
    if (value.id !== undefined) {
      if (call.era === "legacy" && !rules.toNotification) return value;
      rules.onRequest?.(value);
      return undefined;
    }
    if (!mayPass({ method, params }, call.server)) return undefined;
    const shown = isObject(value.params) ? { ...value, params: withClientSubscription(value.params) } : value;
    return rules.toNotification ? rules.toNotification(shown) : shown;
  }

  #conclude(): void {
    this.#reader.cancel().catch(() => {});
    this.#close(200, undefined);
  }

  /** The upstream closed its side. */
  async #finish(): Promise<boolean> {
    const rest = this.#blocks.takeRest();
    const last = rest === undefined ? undefined : `${decoder.decode(rest).replace(/[\r\n]+$/, "")}\n\n`;
    if (last !== undefined && (await this.#pass(last)) && this.isOver) return true;
    const { call, resume, attempt } = this.#options;
    if (call.message.method === "subscriptions/listen") {
      this.#endListening("client");
      return true;
    }
    if (!resume || this.#lastEventId === undefined || this.#resumes >= maxResumes) {
      throw upstreamError(502, "Cannot finish the call: the server closed the stream before its answer");
    }
    this.#resumes++;
    await wait(this.#retryMs, attempt.signal);
    if (attempt.endedBy !== undefined) throw upstreamError(504, "Cannot finish the call: it took too long");
    const { body } = await resume(this.#lastEventId);
    if (body === null)
      throw upstreamError(502, "Cannot finish the call: the server closed the stream before its answer");
    this.#reader = body.getReader();
    return false;
  }

  /** A failure after the stream began: one error as the answer, then the end. */
  protected override fail(cause: unknown): void {
    if (this.isOver) return;
    const { call, attempt } = this.#options;
    const error = describeFailure(cause, attempt);
    this.#reader.cancel().catch(() => {});
    const shown = answering(error, call.message.id);
    if (attempt.endedBy !== "client") this.#sendMessage(toErrorBody(shown, "mcp"), undefined);
    if (call.context.log.mcp && error instanceof RpcError) call.context.log.mcp.rpc_code = error.rpcCode;
    endBy(attempt, "client");
    this.#close(error.status, error);
  }

  /** The caller disconnected. */
  protected override leave(): void {
    if (this.isOver) return;
    this.hasLeft = true;
    const { attempt, call, rules } = this.#options;
    endBy(attempt, "client");
    rules.onLeave?.();
    this.#reader.cancel().catch(() => {});
    // for those who listen it is how listening ends
    const isListening = call.message.method === "subscriptions/listen";
    this.#over(isListening ? 200 : 499, isListening ? undefined : describeFailure(undefined, attempt));
  }

  #close(status: number, error: unknown): void {
    this.close();
    this.#over(status, error);
  }

  #over(status: number, error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    const { call, attempt, onOver } = this.#options;
    const { services, log } = call.context;
    this.unregister();
    attempt.release();
    onOver();
    log.responseBody = this.sent;
    const last = log.calls.at(-1);
    if (last) last.endedAt = services.clock.monotonic();
    this.#resolve({ status, error });
  }
}

/** Waits, but not longer than a call may last. */
function wait(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The stream for a caller from the event stream of an upstream, and how it ends. */
export function relayStream(options: RelayOptions): { body: ReadableStream<Uint8Array>; finished: Promise<Ending> } {
  const { promise: finished, resolve } = Promise.withResolvers<Ending>();
  const { body } = options.response;
  if (body === null) throw upstreamError(502, "Cannot use the answer of the server: it has no body");
  return { body: new McpStream(options, body, resolve).start(), finished };
}

import { beginTarget } from "../../context/call-record.ts";
import type { CallerContext, Services } from "../../context.ts";
import {
  BudgetError,
  ClientClosedError,
  type GatewayError,
  InternalError,
  LimitsUnavailableError,
  LogBusyError,
  OutOfFilesError,
  RateLimitError,
  TimeoutError,
  toGatewayError,
  UpstreamError,
} from "../../errors.ts";
import { errorCodeOf } from "../../providers/core/failure-codes.ts";
import type { Admission, CallOutcome } from "../../routing/breaker.ts";
import type { FallbackRules } from "../../routing/config.ts";
import type { PlanNode, PlannedAttempt } from "../../routing/plan.ts";
import { decideRetry } from "../../routing/retry.ts";
import type { AttemptLog } from "../../schemas/logs.ts";
import type { ErrorCode } from "../../schemas/routing-choice.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { noteMeasured, startMeasure } from "./balancing.ts";
import { breakerKey } from "./breaker-key.ts";

/** Most retries of one request, over all its targets. */
const maxRetriesInAll = 20;
/** Timers may fire this much early. */
const timerSlackMs = 2;

/** How long a call may take. */
interface CallTiming {
  /** Monotonic time in milliseconds at which the whole request ends; undefined without a total timeout. */
  deadline: number | undefined;
}

/** A response, whole again, and why it counts as failed; no code where it does not. */
export interface Inspected<Value> {
  value: Value;
  code: ErrorCode | undefined;
}

/** What makes the calls of a plan. */
export interface Caller<Value> {
  /**
   * Makes one call.
   *
   * @throws {GatewayError} If it fails; its status decides what comes next.
   */
  call(attempt: PlannedAttempt, timing: CallTiming): Promise<Value>;
  /** Status and headers of a response. Absent: 200, without headers. */
  responseOf?(value: Value): { readonly status: number; readonly headers?: Headers | undefined };
  /** Reads what is wrong with a response that is no error. Absent: nothing can be. */
  inspect?(value: Value): Promise<Inspected<Value>>;
  /** Releases a response that is not delivered. The next call waits for it. */
  discard(value: Value): void | Promise<void>;
  /** False when the body can be sent only once. */
  canRepeat: boolean;
}

/** How a call ended. */
type Ended<Value> = {
  status: number;
  headers: Headers | undefined;
  /** `final`: no further attempt. `left-out`: the circuit breaker did not admit the target. */
  kind: "tried" | "final" | "left-out";
  /** Why it failed. */
  code?: ErrorCode | undefined;
} & ({ value: Value; error?: never } | { error: GatewayError; value?: never });

/** One execution of a plan. */
class Execution<Value> {
  readonly #caller: Caller<Value>;
  readonly #context: CallerContext;
  readonly #services: Services;
  readonly #config: RequestConfig;
  #retries = 0;
  /** The last response, released when another call is made. */
  #answer: Value | undefined;
  /** Whether a fallback of the plan looks at what is wrong with responses. */
  readonly #readsAnswers: boolean;

  constructor(caller: Caller<Value>, { context, config, root }: ExecutionParts) {
    this.#caller = caller;
    this.#readsAnswers = hasErrorCodes(root);
    this.#context = context;
    this.#services = context.services;
    this.#config = config;
  }

  async run(node: PlanNode, isLast: boolean): Promise<Ended<Value>> {
    if (node.kind === "attempt") return this.#runAttempt(node.attempt, isLast);
    let ended: Ended<Value> | undefined;
    for (const [index, child] of node.children.entries()) {
      const isLastChild = index === node.children.length - 1;
      const next = await this.run(child, isLast && isLastChild);
      // the error of a target that was left out does not replace that of one that was called
      if (!ended || next.kind !== "left-out") ended = next;
      const isSent = !this.#caller.canRepeat && ended.kind !== "left-out";
      if (isLastChild || isSent || !continues(ended, node)) break;
    }
    return ended ?? this.#fail(new InternalError("Cannot respond: the plan is empty"));
  }

  #fail(error: GatewayError, kind: Ended<Value>["kind"] = "tried"): Ended<Value> {
    const headers = error instanceof UpstreamError ? error.upstreamHeaders : undefined;
    return { status: error.status, headers, kind, error };
  }

  async #runAttempt(attempt: PlannedAttempt, isLast: boolean): Promise<Ended<Value>> {
    const { clock } = this.#services;
    const { log } = this.#context;
    const { totalTimeoutMs } = attempt.settings;
    const startedAt = clock.monotonic();
    const admission = this.#admit(attempt);
    if (admission === "refused" && !(isLast && log.attempts.length === 0)) {
      log.skipped = [...log.skipped, attempt.node.path];
      return this.#fail(brokenTarget(attempt), "left-out");
    }
    await this.#discard(this.#answer);
    beginTarget(log, attempt.node.path, attempt.settings.metadata);
    const deadline = totalTimeoutMs === undefined ? undefined : this.#context.startedAt + totalTimeoutMs;
    const ended = await this.#inspect(await this.#tryUntilDone(attempt, { deadline }, admission));
    this.#answer = ended.value;
    const entry: AttemptLog = {
      label: attempt.node.path,
      ...(attempt.node.name && { name: attempt.node.name }),
      provider: log.provider,
      model: log.model,
      status: ended.status,
      duration_ms: Math.round((clock.monotonic() - startedAt) * 100) / 100,
      retries: log.retriesMade,
      ...(ended.code && { error_code: ended.code }),
    };
    log.attempts.push(entry);
    return ended;
  }

  /** Finds out why a call failed. A response is only looked at where a fallback of the plan asks for it. */
  async #inspect(ended: Ended<Value>): Promise<Ended<Value>> {
    if (ended.error !== undefined) return { ...ended, code: errorCodeOf(ended.error) };
    if (!this.#readsAnswers || !this.#caller.inspect) return ended;
    try {
      return { ...ended, ...(await this.#caller.inspect(ended.value)) };
    } catch (thrown) {
      const error = toGatewayError(thrown);
      return { ...this.#fail(error), code: errorCodeOf(error) };
    }
  }

  async #discard(answer: Value | undefined): Promise<void> {
    if (answer !== undefined) await this.#caller.discard(answer);
  }

  /** Asks the circuit breaker; a target without one is always admitted. */
  #admit({ node, breaker }: PlannedAttempt): Admission | "refused" | undefined {
    if (!breaker) return undefined;
    const key = breakerKey(node, this.#config, this.#context);
    return this.#services.routing.breakers.admit(key, breaker) ?? "refused";
  }

  async #tryUntilDone(
    attempt: PlannedAttempt,
    timing: CallTiming,
    first: Admission | "refused" | undefined,
  ): Promise<Ended<Value>> {
    const { routing, clock } = this.#services;
    const { settings } = attempt;
    let waitedMs = 0;
    let admission = first;
    for (let retries = 0; ; retries++) {
      const measured = attempt.measured && startMeasure(attempt.measured, this.#context);
      const ended = await this.#tryOnce(attempt, timing);
      // a response from the cache says nothing about the provider
      const isCached = this.#context.log.cacheHit !== null;
      const isVerdict = !isCached && !(ended.error instanceof ClientClosedError) && !isOwnRefusal(ended.error);
      const outcome: CallOutcome = isVerdict ? { status: ended.status } : "abandoned";
      report(admission, outcome);
      if (measured) noteMeasured(measured, { outcome, error: ended.error }, this.#context);
      if (retries === 0) routing.budget.noteCall(this.#host());
      if (ended.kind === "final" || !this.#caller.canRepeat || isOwnRefusal(ended.error)) return ended;
      const input = { settings: settings.retry, status: ended.status, headers: ended.headers, retries, waitedMs };
      const decision = decideRetry({ ...input, random: routing.random, now: clock.now() });
      if (decision === "done") return ended;
      admission = typeof decision === "string" ? "refused" : this.#admitRetry(attempt, timing, decision.waitMs);
      if (typeof decision === "string" || admission === "refused") {
        this.#context.log.retries = -1;
        return ended;
      }
      await this.#discard(ended.value);
      waitedMs += decision.waitMs;
      await this.#pause(decision.waitMs);
      if (this.#context.request.signal.aborted) {
        report(admission, "abandoned");
        return this.#fail(clientLeft(), "final");
      }
      this.#retries++;
      this.#context.log.retries = retries + 1;
      this.#context.log.retriesMade = retries + 1;
    }
  }

  /** Whether there may be a retry: depends on the time left, the retries made, and the circuit breaker. */
  #admitRetry(attempt: PlannedAttempt, { deadline }: CallTiming, waitMs: number): Admission | "refused" | undefined {
    const { routing, clock } = this.#services;
    const isLate = deadline !== undefined && clock.monotonic() + waitMs >= deadline;
    if (isLate || this.#retries >= maxRetriesInAll) return "refused";
    const admission = this.#admit(attempt);
    if (admission === "refused" || routing.budget.book(this.#host())) return admission;
    report(admission, "abandoned");
    return "refused";
  }

  async #tryOnce(attempt: PlannedAttempt, timing: CallTiming): Promise<Ended<Value>> {
    const { clock } = this.#services;
    const { deadline = Number.POSITIVE_INFINITY } = timing;
    if (clock.monotonic() >= deadline) return this.#fail(outOfTime(attempt), "final");
    try {
      const value = await this.#caller.call(attempt, timing);
      const { status, headers } = this.#caller.responseOf?.(value) ?? opened;
      return { status, headers, kind: "tried", value };
    } catch (thrown) {
      const error = toGatewayError(thrown);
      const isOver = clock.monotonic() >= deadline - timerSlackMs;
      if (isOver && error instanceof TimeoutError) return this.#fail(outOfTime(attempt), "final");
      // no retry helps: the caller left, the time is over, the gateway stops, or the gateway itself failed
      const isStopping = error.code === "upstream_shutdown";
      const isFinal = isOver || isStopping || error instanceof ClientClosedError || error instanceof InternalError;
      return this.#fail(error, isFinal ? "final" : "tried");
    }
  }

  /** The host that was called last: retry budgets are counted per host and tenant. */
  #host(): string {
    const { log, principal } = this.#context;
    const [origin = ""] = /^[^:]*:\/\/[^/]*/.exec(log.calls.at(-1)?.url ?? "") ?? [];
    return `${principal.organisationId} ${origin}`;
  }

  /** Waits; ends early when the caller leaves. */
  #pause(delayMs: number): Promise<void> {
    const { signal } = this.#context.request;
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const cancel = this.#services.timers.start(delayMs, end);
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
    });
  }
}

const opened = { status: 200, headers: undefined };

const ownRefusals = [BudgetError, RateLimitError, LimitsUnavailableError, LogBusyError, OutOfFilesError];

/** Whether the gateway refused a call for want of room. A retry would meet it again, other targets may have room. */
function isOwnRefusal(error: GatewayError | undefined): boolean {
  return error !== undefined && ownRefusals.some((kind) => error instanceof kind);
}

function clientLeft(): ClientClosedError {
  return new ClientClosedError("Cannot respond: the caller disconnected", { code: "client_closed" });
}

function outOfTime({ settings }: PlannedAttempt): TimeoutError {
  const message = `Request exceeded the timeout of the whole request: ${settings.totalTimeoutMs}ms`;
  return new TimeoutError(message, { code: "request_timeout" });
}

function brokenTarget({ node }: PlannedAttempt): UpstreamError {
  return new UpstreamError(503, `Cannot call ${node.path}: its circuit breaker is open`, { code: "circuit_open" });
}

/** Reports to a circuit breaker how the call it admitted ended. */
function report(admission: Admission | "refused" | undefined, outcome: CallOutcome): void {
  if (admission !== undefined && admission !== "refused") admission(outcome);
}

/** Whether a fallback continues with the next target. */
function continues({ status, kind, code }: Ended<unknown>, { onStatusCodes, onErrorCodes }: FallbackRules): boolean {
  if (kind !== "tried") return kind === "left-out";
  if (!onStatusCodes && !onErrorCodes) return status < 200 || status > 299;
  return onStatusCodes?.includes(status) === true || (code !== undefined && onErrorCodes?.includes(code) === true);
}

/** Whether a fallback of a plan continues after kinds of failures. */
function hasErrorCodes(node: PlanNode): boolean {
  return node.kind === "fallback" && (node.onErrorCodes !== undefined || node.children.some(hasErrorCodes));
}

/** What an execution belongs to. */
interface ExecutionParts {
  context: CallerContext;
  config: RequestConfig;
  root: PlanNode;
}

/**
 * Makes the calls of a plan until one succeeds or none is left.
 *
 * @returns The response of the last call.
 * @throws {GatewayError} The error of the last call.
 */
export async function executePlan<Value>(caller: Caller<Value>, parts: ExecutionParts): Promise<Value> {
  const ended = await new Execution(caller, parts).run(parts.root, true);
  if (ended.error !== undefined) throw ended.error;
  return ended.value;
}

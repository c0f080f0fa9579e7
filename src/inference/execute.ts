import type { CallerContext, Services } from "../context.ts";
import {
  ClientClosedError,
  type GatewayError,
  InternalError,
  TimeoutError,
  toGatewayError,
  UpstreamError,
} from "../errors.ts";
import { crc32 } from "../lib/hash.ts";
import type { Admission } from "../routing/breaker.ts";
import type { PlanNode, PlannedAttempt } from "../routing/plan.ts";
import { decideRetry } from "../routing/retry.ts";
import type { AttemptLog } from "../schemas/logs.ts";
import type { RequestConfig } from "./config-source.ts";

/** Most retries of one request, over all its targets. */
const maxRetriesInAll = 20;

/** Whether a call is the last that can be made, and how long it may take. */
export interface CallTiming {
  /** Milliseconds of the monotonic clock at which the whole request ends; infinite without a total timeout. */
  deadline: number;
}

/** What makes the calls of a plan. */
export interface Caller<Value> {
  /**
   * Makes one call.
   *
   * @throws {GatewayError} If it fails; its status decides what comes next.
   */
  call(attempt: PlannedAttempt, timing: CallTiming): Promise<Value>;
  statusOf(value: Value): number;
  headersOf(value: Value): Headers | undefined;
  /** Lets go of an answer nobody gets. */
  discard(value: Value): void;
  /** False when the body can be sent once only. */
  canRepeat: boolean;
}

/** How a call ended. */
type Ended<Value> = {
  status: number;
  headers: Headers | undefined;
  /** Nothing else is tried. */
  isFinal: boolean;
} & ({ value: Value; error?: never } | { error: GatewayError; value?: never });

/** One execution of a plan. */
class Execution<Value> {
  readonly #caller: Caller<Value>;
  readonly #context: CallerContext;
  readonly #services: Services;
  readonly #config: RequestConfig;
  #retries = 0;

  constructor(caller: Caller<Value>, context: CallerContext, services: Services, config: RequestConfig) {
    this.#caller = caller;
    this.#context = context;
    this.#services = services;
    this.#config = config;
  }

  async run(node: PlanNode, isLast: boolean): Promise<Ended<Value>> {
    if (node.kind === "attempt") return this.#runAttempt(node.attempt, isLast);
    let ended: Ended<Value> | undefined;
    for (const [index, child] of node.children.entries()) {
      const isLastChild = index === node.children.length - 1;
      if (ended?.value !== undefined) this.#caller.discard(ended.value);
      ended = await this.run(child, isLast && isLastChild);
      if (isLastChild || !continues(ended, node.onStatusCodes) || !this.#caller.canRepeat) break;
    }
    return ended ?? this.#fail(new InternalError("Cannot answer: the plan is empty"));
  }

  #fail(error: GatewayError, isFinal = false): Ended<Value> {
    const headers = error instanceof UpstreamError ? error.upstreamHeaders : undefined;
    return { status: error.status, headers, isFinal, error };
  }

  async #runAttempt(attempt: PlannedAttempt, isLast: boolean): Promise<Ended<Value>> {
    const { clock } = this.#services;
    const { log } = this.#context;
    const { totalTimeoutMs } = attempt.settings;
    const startedAt = clock.monotonic();
    log.label = attempt.node.path;
    log.retries = 0;
    const admission = this.#admit(attempt);
    if (admission === "refused" && !isLast) return this.#fail(brokenTarget(attempt));
    const deadline = totalTimeoutMs === undefined ? Number.POSITIVE_INFINITY : this.#context.startedAt + totalTimeoutMs;
    const ended = await this.#tryUntilDone(attempt, { deadline }, admission);
    const entry: AttemptLog = {
      label: attempt.node.path,
      provider: log.provider,
      model: log.model,
      status: ended.status,
      duration_ms: Math.round((clock.monotonic() - startedAt) * 100) / 100,
      retries: log.retries,
    };
    log.attempts.push(entry);
    return ended;
  }

  /** Asks the breaker; a target nothing watches is always admitted. */
  #admit({ node, breaker }: PlannedAttempt): Admission | "refused" | undefined {
    if (!breaker) return undefined;
    const key = breakerKey(node.path, this.#config, this.#context, node);
    return this.#services.routing.breakers.admit(key, breaker) ?? "refused";
  }

  async #tryUntilDone(
    attempt: PlannedAttempt,
    timing: CallTiming,
    first: Admission | "refused" | undefined,
  ): Promise<Ended<Value>> {
    const { routing, clock } = this.#services;
    const host = this.#hostOf(attempt);
    routing.budget.noteCall(host);
    let waitedMs = 0;
    let admission = first;
    for (let retries = 0; ; retries++) {
      const ended = await this.#tryOnce(attempt, timing);
      if (admission !== undefined && admission !== "refused") {
        admission(ended.error instanceof ClientClosedError ? "abandoned" : { status: ended.status });
      }
      if (ended.isFinal || !this.#caller.canRepeat) return ended;
      const { settings } = attempt;
      const input = { settings: settings.retry, status: ended.status, headers: ended.headers, retries, waitedMs };
      const decision = decideRetry({ ...input, random: routing.random, now: clock.now() });
      if (decision === "done") return ended;
      const isSpent = typeof decision === "string" || this.#retries >= maxRetriesInAll || !routing.budget.book(host);
      admission = isSpent ? undefined : this.#admit(attempt);
      if (isSpent || admission === "refused" || clock.monotonic() + decision.waitMs >= timing.deadline) {
        this.#context.log.retries = -1;
        return ended;
      }
      if (ended.value !== undefined) this.#caller.discard(ended.value);
      this.#retries++;
      this.#context.log.retries = retries + 1;
      waitedMs += decision.waitMs;
      await this.#pause(decision.waitMs);
      if (this.#context.request.signal.aborted) return this.#fail(clientLeft(), true);
    }
  }

  async #tryOnce(attempt: PlannedAttempt, timing: CallTiming): Promise<Ended<Value>> {
    const { clock } = this.#services;
    if (clock.monotonic() >= timing.deadline) return this.#fail(outOfTime(attempt), true);
    try {
      const value = await this.#caller.call(attempt, timing);
      return { status: this.#caller.statusOf(value), headers: this.#caller.headersOf(value), isFinal: false, value };
    } catch (thrown) {
      const error = toGatewayError(thrown);
      // the caller is gone, the time is over, or something of ours broke: nothing else is tried
      const isOver = clock.monotonic() >= timing.deadline;
      const isFinal = error instanceof ClientClosedError || error instanceof InternalError || isOver;
      return this.#fail(error, isFinal);
    }
  }

  /** Retries are counted for each host of a tenant. */
  #hostOf({ node, settings }: PlannedAttempt): string {
    const { organisationId } = this.#context.principal;
    return JSON.stringify([organisationId, node.provider ?? node.virtualKey ?? "", settings.customHost ?? ""]);
  }

  /** Waits, unless the caller leaves first. */
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

function clientLeft(): ClientClosedError {
  return new ClientClosedError("Cannot answer: the caller went away", { code: "client_closed" });
}

function outOfTime({ settings }: PlannedAttempt): TimeoutError {
  const message = `Request exceeded the timeout of the whole request: ${settings.totalTimeoutMs}ms`;
  return new TimeoutError(message, { code: "request_timeout" });
}

function brokenTarget({ node }: PlannedAttempt): UpstreamError {
  return new UpstreamError(503, `Cannot call ${node.path}: its circuit breaker is open`, { code: "circuit_open" });
}

/** Whether a fallback goes on to the next target. */
function continues({ status, isFinal, error }: Ended<unknown>, codes: readonly number[] | undefined): boolean {
  if (isFinal) return false;
  // a target that was left out was not tried
  if (error?.code === "circuit_open") return true;
  return codes ? codes.includes(status) : status < 200 || status > 299;
}

/** What a breaker's state belongs to: a place in a saved config, or a provider, host and credential of an inline one. */
export function breakerKey(
  path: string,
  { slug, id }: Pick<RequestConfig, "slug" | "id">,
  { principal }: CallerContext,
  node: PlannedAttempt["node"],
): string {
  const tenant = [principal.organisationId, principal.workspaceId];
  if (slug !== null) return JSON.stringify([...tenant, "saved", slug, id, path]);
  const credential = node.apiKey === undefined ? "" : `${crc32(node.apiKey)}.${node.apiKey.length}`;
  return JSON.stringify([...tenant, "inline", node.provider, node.virtualKey, node.customHost, credential]);
}

/**
 * Makes the calls of a plan until one answers or none is left.
 *
 * @returns What the last call gave.
 * @throws {GatewayError} The error of the last call.
 */
export async function executePlan<Value>(
  root: PlanNode,
  caller: Caller<Value>,
  { context, services, config }: { context: CallerContext; services: Services; config: RequestConfig },
): Promise<Value> {
  const ended = await new Execution(caller, context, services, config).run(root, true);
  if (ended.error !== undefined) throw ended.error;
  return ended.value;
}

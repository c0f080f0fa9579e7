import type { UpstreamCall } from "../../context/call-record.ts";
import type { CallerContext, RunningCall, Services } from "../../context.ts";
import { ClientClosedError, GatewayError } from "../../errors.ts";
import type { Reply } from "../../lib/reply.ts";
import { AbortReason, toCallError } from "../../providers/core/call.ts";
import type { InheritedSettings } from "../../routing/config.ts";
import { readTimeout } from "../target/target.ts";

/** One call to a provider while it runs: its timer, and the link to the caller's connection. */
export interface Attempt extends RunningCall {
  readonly signal: AbortSignal;
  /** The call goes on when its caller leaves: others wait for its response. */
  readonly isShared: boolean;
  /** The call in the request's record; undefined until it is sent. Of a repeated call, the last one. */
  call: UpstreamCall | undefined;
  /** Ends the wait for the first byte. */
  stopTimer(): void;
  /** Begins the wait for the first byte anew: the request waited for its turn. */
  restartTimer(): void;
  /** Unlinks the call from the caller: it is over. */
  release(): void;
}

/** Time limits of a call, in milliseconds. */
export interface AttemptTimes {
  /** To the first byte, or to the end of a response that is read whole. */
  timeoutMs: number;
  /** Left for the whole request, its stream included; absent without a limit. */
  wholeMs?: number | undefined;
  /** The call goes on when the caller leaves: others wait for it. */
  isShared?: boolean | undefined;
}

/** The settings of a target that limit its calls. */
interface TimedTarget {
  settings?: Pick<InheritedSettings, "requestTimeoutMs"> | undefined;
  /** Monotonic time in milliseconds at which the whole request ends. */
  deadline?: number | undefined;
  /** Others wait for its response. */
  isShared?: boolean | undefined;
}

/** The time limits of a call, from its target and what is left of the whole request. */
export function timesOf({ settings, deadline, isShared }: TimedTarget, context: CallerContext): AttemptTimes {
  return {
    isShared,
    timeoutMs: readTimeout(context, settings?.requestTimeoutMs),
    wholeMs: deadline === undefined ? undefined : deadline - context.services.clock.monotonic(),
  };
}

/** Starts the timers of a call and links it to the caller's connection. */
export function startAttempt(
  request: Request,
  { timeoutMs, wholeMs, isShared = false }: AttemptTimes,
  { timers, calls }: Pick<Services, "timers" | "calls">,
): Attempt {
  const controller = new AbortController();
  const abort = (reason: AbortReason) => controller.abort(reason);
  const leave = () => abort(new AbortReason("client", "the caller disconnected"));
  const startTimer = () =>
    timers.start(timeoutMs, () => {
      abort(new AbortReason("timeout", `Request exceeded the timeout sent in the request: ${timeoutMs}ms`));
    });
  let stopTimer = startTimer();
  const stopWhole =
    wholeMs === undefined
      ? undefined
      : timers.start(wholeMs, () => {
          abort(new AbortReason("timeout", "Request exceeded the timeout of the whole request"));
        });
  const { signal } = request;
  if (signal.aborted) leave();
  else if (!isShared) signal.addEventListener("abort", leave, { once: true });
  const attempt: Attempt = {
    signal: controller.signal,
    isShared,
    call: undefined,
    abort,
    stopTimer: () => stopTimer(),
    restartTimer() {
      stopTimer();
      stopTimer = startTimer();
    },
    release() {
      stopTimer();
      stopWhole?.();
      signal.removeEventListener("abort", leave);
      calls.delete(attempt);
    },
  };
  calls.add(attempt);
  return attempt;
}

/** Resolves once a call must end because its time is over or the gateway stops. */
export function endOfTime({ signal }: Attempt): Promise<undefined> {
  return new Promise((resolve) => {
    const end = () => {
      const { reason } = signal;
      if (reason instanceof AbortReason && (reason.kind === "timeout" || reason.kind === "shutdown"))
        resolve(undefined);
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

/** The reply made from a response. The attempt ends with it, or with the stream it holds. */
export async function replyWithin(attempt: Attempt, work: Promise<Reply>): Promise<Reply> {
  let isOpen = false;
  try {
    const reply = await work;
    isOpen = reply.finished !== undefined;
    return reply;
  } finally {
    if (!isOpen) attempt.release();
  }
}

/** Notes that a call is over: its response was read, or broke off. */
export function endCall({ call }: Attempt, { services }: CallerContext): void {
  if (call) call.endedAt = services.clock.monotonic();
}

/** The error of a call that failed, also while its body was read. */
export function toAttemptError(error: unknown, attempt: Attempt, provider: string): Error {
  const failure = describe(error, attempt, provider);
  if (attempt.call)
    attempt.call.error ??= failure instanceof GatewayError ? (failure.code ?? failure.type) : "internal";
  return failure;
}

function describe(error: unknown, { signal }: Attempt, provider: string): Error {
  const reason: unknown = signal.aborted ? signal.reason : error;
  if (reason instanceof AbortReason && reason.kind === "client") {
    return new ClientClosedError("Cannot respond: the caller disconnected", { cause: error, code: "client_closed" });
  }
  return toCallError(reason, provider);
}

import type { CallerContext } from "../../context.ts";
import { ClientClosedError, GatewayError } from "../../errors.ts";
import type { Reply } from "../../lib/reply.ts";
import { AbortReason, toCallError } from "../../providers/core/call.ts";
import type { InheritedSettings } from "../../routing/config.ts";
import type { Attempt, AttemptTimes } from "../../upstream/attempt.ts";
import { readTimeout } from "../target/target.ts";

/** The settings of a target that limit its calls. */
interface TimedTarget {
  settings?: Pick<InheritedSettings, "requestTimeoutMs"> | undefined;
  /** Monotonic time in milliseconds at which the whole request ends. */
  deadline?: number | undefined;
  /** Others wait for its response. */
  isShared?: boolean | undefined;
}

/** The time limits of a call, from its target and what is left of the whole request. */
export function timesOf(
  { settings, deadline, isShared }: TimedTarget,
  context: CallerContext,
): AttemptTimes & { timeoutMs: number } {
  return {
    isShared,
    timeoutMs: readTimeout(context, settings?.requestTimeoutMs),
    wholeMs: deadline === undefined ? undefined : deadline - context.services.clock.monotonic(),
  };
}

/** Resolves once a call must end because its time is over or the gateway stops. */
export function endOfTime(attempt: Attempt): Promise<undefined> {
  return new Promise((resolve) => {
    const end = () => {
      if (attempt.endedBy === "timeout" || attempt.endedBy === "shutdown") resolve(undefined);
    };
    if (attempt.signal.aborted) end();
    else attempt.signal.addEventListener("abort", end, { once: true });
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

/** The error of a call that failed, also while its body was read. */
export function toAttemptError(error: unknown, attempt: Attempt, provider: string): Error {
  const failure = describe(error, attempt, provider);
  attempt.fail(failure instanceof GatewayError ? (failure.code ?? failure.type) : "internal");
  return failure;
}

function describe(error: unknown, { signal }: Attempt, provider: string): Error {
  const reason: unknown = signal.aborted ? signal.reason : error;
  if (reason instanceof AbortReason && reason.kind === "client") {
    return new ClientClosedError("Cannot respond: the caller disconnected", { cause: error, code: "client_closed" });
  }
  return toCallError(reason, provider);
}

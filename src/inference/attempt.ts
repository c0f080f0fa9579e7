import type { CallerContext, Services } from "../context.ts";
import { ClientClosedError } from "../errors.ts";
import type { Timers } from "../lib/timers.ts";
import { AbortReason, addressOf, type ProviderCall, sendCall, toCallError } from "../providers/call.ts";
import type { AuthTools } from "../providers/types.ts";

/** One call to a provider while it runs: its timer and its ties to the caller. */
export interface Attempt {
  readonly signal: AbortSignal;
  /** Ends the call from our side. */
  abort(reason: AbortReason): void;
  /** Ends the wait for the first byte. */
  stopTimer(): void;
  /** Unties the call from the caller: it is over. */
  release(): void;
}

/** Milliseconds a call may take. */
export interface AttemptTimes {
  /** To the first byte, or to the end of an answer that is read whole. */
  timeoutMs: number;
  /** Left for the whole request, its stream included; absent where nothing bounds it. */
  wholeMs?: number | undefined;
}

/** Starts the timers of a call and ties it to the caller's connection. */
export function startAttempt(request: Request, { timeoutMs, wholeMs }: AttemptTimes, timers: Timers): Attempt {
  const controller = new AbortController();
  const abort = (reason: AbortReason) => controller.abort(reason);
  const leave = () => abort(new AbortReason("client", "the caller went away"));
  const stopTimer = timers.start(timeoutMs, () => {
    abort(new AbortReason("timeout", `Request exceeded the timeout sent in the request: ${timeoutMs}ms`));
  });
  const stopWhole =
    wholeMs === undefined
      ? undefined
      : timers.start(wholeMs, () => {
          abort(new AbortReason("timeout", "Request exceeded the timeout of the whole request"));
        });
  const { signal } = request;
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  return {
    signal: controller.signal,
    abort,
    stopTimer,
    release() {
      stopTimer();
      stopWhole?.();
      signal.removeEventListener("abort", leave);
    },
  };
}

/** Resolves once a call is to end because its time is over or the gateway stops. */
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

/** Longer bodies are let go of as soon as they are sent. */
const longBody = 64 * 1024;

/** What a call needs besides the parts that belong to its attempt. */
export type PreparedCall = Omit<ProviderCall, "signal" | "url">;

/** Notes a call in the log draft; gives what its authentication may use. */
export function beginCall(url: string, { log, principal, metadata }: CallerContext, services: Services): AuthTools {
  log.upstreamStartedAt = services.clock.monotonic();
  log.upstreamUrl = url.replace(/\?.*$/, "");
  log.upstreamCalls++;
  const { organisationId, workspaceId } = principal;
  return { ...services.authTools, tenant: [organisationId, workspaceId ?? ""], metadata, secrets: log.secrets };
}

/**
 * Sends a prepared call and notes it in the log draft.
 *
 * @throws {GatewayError} As `sendCall`; 499 when the caller left.
 */
export function send(
  call: PreparedCall,
  attempt: Attempt,
  context: CallerContext,
  services: Services,
): Promise<Response> {
  const { log } = context;
  const url = addressOf(call, services.authTools.environment);
  const tools = beginCall(url, context, services);
  if (context.numbers && typeof call.body === "string") call.body = context.numbers.restore(call.body);
  const sent = sendCall(Object.assign(call, { signal: attempt.signal, url }), tools);
  // it is on its way; what waits for the answer need not hold it too
  if (typeof call.body === "string" && call.body.length > longBody) call.body = "";
  return sent.then(
    (response) => {
      log.firstByteAt = services.clock.monotonic();
      return response;
    },
    (error) => {
      throw toAttemptError(error, attempt, call.provider.slug);
    },
  );
}

/** The error of a call that failed, also while its body was read. */
export function toAttemptError(error: unknown, attempt: Attempt, provider: string): Error {
  const reason: unknown = attempt.signal.aborted ? attempt.signal.reason : error;
  if (reason instanceof AbortReason && reason.kind === "client") {
    return new ClientClosedError("Cannot answer: the caller went away", { cause: error, code: "client_closed" });
  }
  return toCallError(reason, provider);
}

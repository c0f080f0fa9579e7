import { readLookupId } from "../auth/api-key.ts";
import type { CallerContext, Services } from "../context.ts";
import { ClientClosedError, InvalidRequestError } from "../errors.ts";
import { hopHeader } from "../lib/headers.ts";
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

type LeavingCall = Pick<ProviderCall, "provider" | "customHost" | "credential" | "headers">;

/** Whether data named the address of a call. */
function isInfluenced({ customHost, provider }: LeavingCall): boolean {
  return customHost !== undefined || provider.isBaseInfluenced;
}

/** A key of this gateway's form among what a call sends; undefined for nearly all. */
function findKeyOfOwnForm({ credential, headers }: LeavingCall, keyPrefix: string): string | undefined {
  const start = `${keyPrefix}_`;
  const find = (text: string | undefined) =>
    text?.includes(start)
      ? text.split(/[\s,;"'=]+/).find((part) => readLookupId(part, keyPrefix) !== undefined)
      : undefined;
  const found = find(credential);
  if (found !== undefined) return found;
  for (const name in headers) {
    const key = find(headers[name]);
    if (key !== undefined) return key;
  }
  return undefined;
}

/**
 * Refuses to send a key of this gateway as a credential: it would leave the gateway, or lead a request back to it. Keys of
 * other gateways pass.
 *
 * @throws {InvalidRequestError}
 */
async function requireForeignKey(key: string, { authenticator }: Pick<Services, "authenticator">): Promise<void> {
  if (!(await authenticator.isOwnKey(key))) return;
  throw new InvalidRequestError("Cannot make this call: its provider credential is a key of this gateway", {
    code: "gateway_key_as_credential",
    param: "authorization",
  });
}

/**
 * Makes a call fit to leave: it says which gateways it came through and holds no key of this one.
 *
 * @returns A promise only where a key must be looked up.
 */
export function prepareToLeave(call: LeavingCall, { headers, services }: CallerContext): Promise<void> | undefined {
  if (isInfluenced(call)) call.headers[hopHeader] = services.hops.next(headers);
  const key = findKeyOfOwnForm(call, services.keyPrefix);
  return key === undefined ? undefined : requireForeignKey(key, services);
}

/** Longer bodies are let go of as soon as they are sent. */
const longBody = 64 * 1024;

/** What a call needs besides the parts that belong to its attempt. */
export type PreparedCall = Omit<ProviderCall, "signal" | "url">;

/** Metadata as clouds are told it: whose request it is, is the gateway's own note. */
function attachedOf(metadata: CallerContext["metadata"]): CallerContext["metadata"] {
  if (!Object.hasOwn(metadata, "_user")) return metadata;
  const { _user, ...attached } = metadata;
  return attached;
}

/** Notes a call in the log draft; gives what its authentication may use. */
export function beginCall(url: string, { log, principal, metadata, services }: CallerContext): AuthTools {
  log.upstreamStartedAt = services.clock.monotonic();
  log.upstreamUrl = url.replace(/\?.*$/, "");
  log.upstreamCalls++;
  const { organisationId, workspaceId } = principal;
  const tenant = [organisationId, workspaceId ?? ""];
  return { ...services.authTools, tenant, metadata: attachedOf(metadata), secrets: log.secrets };
}

/**
 * Sends a prepared call and notes it in the log draft.
 *
 * @throws {GatewayError} As `sendCall`; 499 when the caller left.
 */
export function send(call: PreparedCall, attempt: Attempt, context: CallerContext): Promise<Response> {
  const looking = prepareToLeave(call, context);
  return looking ? looking.then(() => sendPrepared(call, attempt, context)) : sendPrepared(call, attempt, context);
}

function sendPrepared(call: PreparedCall, attempt: Attempt, context: CallerContext): Promise<Response> {
  const { log } = context;
  const url = addressOf(call, context.services.authTools.environment);
  const tools = beginCall(url, context);
  if (context.numbers && typeof call.body === "string") call.body = context.numbers.restore(call.body);
  const sent = sendCall(Object.assign(call, { signal: attempt.signal, url }), tools);
  // it is on its way; what waits for the answer need not hold it too
  if (typeof call.body === "string" && call.body.length > longBody) call.body = "";
  return sent.then(
    (response) => {
      log.firstByteAt = context.services.clock.monotonic();
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

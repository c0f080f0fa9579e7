import { keyLength, readLookupId } from "../../auth/api-key.ts";
import type { UpstreamCall } from "../../context/call-record.ts";
import type { CallerContext, Services } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import { hopHeader } from "../../lib/headers.ts";
import type { SocketAnswer, SocketOutbound } from "../../lib/outbound.ts";
import { addressOf, type ProviderCall, sendCall } from "../../providers/core/call.ts";
import { openCall, type SocketCall } from "../../providers/core/connect.ts";
import type { AuthTools } from "../../providers/core/types.ts";
import { type Attempt, type AttemptTimes, endCall, startAttempt, toAttemptError } from "./attempt.ts";

type LeavingCall = Pick<ProviderCall, "provider" | "customHost" | "headers">;

/** Whether data named the address of a call. */
function isInfluenced({ customHost, provider }: LeavingCall): boolean {
  return customHost !== undefined || provider.isBaseInfluenced;
}

/** Says which gateways a call came through, where its address may lead back to this one. */
function prepareToLeave(call: LeavingCall, { headers, services }: CallerContext): void {
  if (isInfluenced(call)) call.headers[hopHeader] = services.hops.next(headers);
}

/** An address as whoever serves it may read it: letters in plain that it writes as escapes. */
function withoutEscapes(url: string): string {
  if (!url.includes("%")) return url;
  return url.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Most keys of this gateway's form that one call may hold: each is looked up. */
const maxKeys = 8;

/** Keys of this gateway's form in a text. */
function findKeys(text: string, prefix: string): string[] {
  const start = `${prefix}_`;
  const keys: string[] = [];
  for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, at + 1)) {
    const key = text.slice(at, at + start.length + keyLength);
    if (readLookupId(key, prefix) !== undefined) keys.push(key);
  }
  return keys;
}

/** @throws {InvalidRequestError} Always. */
function refuseKey(): never {
  throw new InvalidRequestError("Cannot make this call: its address or a header of it holds a key of this gateway", {
    code: "gateway_key_as_credential",
  });
}

/** Refuses keys of this installation. Keys of other gateways pass. @throws {InvalidRequestError} */
async function requireForeign(keys: readonly string[], { authenticator }: Pick<Services, "authenticator">) {
  for (const key of keys) if (await authenticator.isOwnKey(key)) refuseKey();
}

/**
 * Refuses to send a key of this gateway to a provider, in the address or in a header: it would leave the gateway, or lead a
 * request back to it.
 *
 * @returns A promise only where a key must be looked up.
 * @throws {InvalidRequestError}
 */
function requireNoKey(
  { url, headers }: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  { gatewayKey, services }: CallerContext,
): Promise<void> | undefined {
  const found: string[] = [];
  const look = (text: string) => {
    if (text.includes(gatewayKey)) refuseKey();
    found.push(...findKeys(text, services.keyPrefix));
  };
  look(withoutEscapes(url));
  for (const name in headers) look(headers[name] ?? "");
  if (found.length === 0) return undefined;
  if (found.length > maxKeys) refuseKey();
  return requireForeign(found, services);
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

/** Notes a call that leaves in the record of its request; returns what its authentication may use. */
function beginCall(
  { provider, url }: { provider: { slug: string }; url: string },
  attempt: Attempt,
  context: CallerContext,
): AuthTools {
  const { log, principal, metadata, services } = context;
  const call: UpstreamCall = {
    provider: provider.slug,
    model: log.model,
    url: url.replace(/\?.*$/, ""),
    startedAt: services.clock.monotonic(),
    firstByteAt: null,
    endedAt: null,
    status: null,
    error: null,
  };
  log.calls.push(call);
  attempt.call = call;
  const { organisationId, workspaceId } = principal;
  const tenant = [organisationId, workspaceId ?? ""];
  const beforeLeaving: AuthTools["beforeLeaving"] = (leaving) => requireNoKey(leaving, context);
  return { ...services.authTools, tenant, metadata: attachedOf(metadata), secrets: log.secrets, beforeLeaving };
}

/** A response that came, or a socket, and the attempt it belongs to: whoever takes it releases that. */
export interface UpstreamAnswer<Upstream> {
  readonly upstream: Upstream;
  readonly attempt: Attempt;
}

/** Sends a request within an attempt. */
async function send(call: PreparedCall, attempt: Attempt, context: CallerContext): Promise<Response> {
  const { authTools, clock } = context.services;
  prepareToLeave(call, context);
  const url = addressOf(call, authTools.environment);
  const tools = beginCall({ provider: call.provider, url }, attempt, context);
  if (context.numbers && typeof call.body === "string") call.body = context.numbers.restore(call.body);
  const sent = sendCall(Object.assign(call, { signal: attempt.signal, url }), tools);
  // it is on its way; what waits for the response need not hold it too
  if (typeof call.body === "string" && call.body.length > longBody) call.body = "";
  const upstream = await sent;
  if (attempt.call) {
    attempt.call.firstByteAt = clock.monotonic();
    attempt.call.status = upstream.status;
  }
  return upstream;
}

/** What is done within an attempt; where it fails, the attempt is over. */
async function within<Upstream>(
  attempt: Attempt,
  work: Promise<Upstream>,
  provider: string,
  context: CallerContext,
): Promise<UpstreamAnswer<Upstream>> {
  try {
    return { upstream: await work, attempt };
  } catch (error) {
    attempt.release();
    const failure = toAttemptError(error, attempt, provider);
    endCall(attempt, context);
    throw failure;
  }
}

/**
 * Sends a request to a provider. Every request to a provider leaves here: it is noted with its times and outcome, says which
 * gateways it came through, and holds no key of this one.
 *
 * @param repeat Makes another request of a response that refuses the first one, once; undefined where there is none.
 * @returns Its response, and the attempt, which whoever reads the response releases.
 * @throws {GatewayError} As `sendCall`; 499 when the caller left.
 */
export function callUpstream(
  call: PreparedCall,
  times: AttemptTimes,
  context: CallerContext,
  repeat?: (upstream: Response, attempt: Attempt) => Promise<PreparedCall | Response>,
): Promise<UpstreamAnswer<Response>> {
  const attempt = startAttempt(context.request, times, context.services.timers);
  const sendBoth = async () => {
    const upstream = await send(call, attempt, context);
    const next = await repeat?.(upstream, attempt);
    if (next === undefined || next instanceof Response) return next ?? upstream;
    return send(next, attempt, context);
  };
  const work = repeat ? sendBoth() : send(call, attempt, context);
  return within(attempt, work, call.provider.slug, context);
}

/**
 * Opens a WebSocket at a provider, as `callUpstream` sends a request.
 *
 * @returns The open socket, or what the provider answered instead.
 */
export function openUpstream(
  call: Omit<SocketCall, "signal">,
  times: AttemptTimes,
  context: CallerContext,
  open: SocketOutbound,
): Promise<UpstreamAnswer<SocketAnswer>> {
  const { clock, timers } = context.services;
  const attempt = startAttempt(context.request, times, timers);
  const connect = async () => {
    prepareToLeave(call, context);
    const tools = beginCall(call, attempt, context);
    const upstream = await openCall({ ...call, signal: attempt.signal }, tools, open);
    if (attempt.call) {
      attempt.call.firstByteAt = clock.monotonic();
      attempt.call.status = upstream.end ? 101 : upstream.status;
    }
    return upstream;
  };
  return within(attempt, connect(), call.provider.slug, context);
}

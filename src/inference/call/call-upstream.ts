import { addOrigin, requireNoKey } from "../../context/leaving.ts";
import type { CallerContext } from "../../context.ts";
import type { SocketAnswer, SocketOutbound } from "../../lib/outbound.ts";
import { addressOf, type ProviderCall, sendCall } from "../../providers/core/call.ts";
import { openCall, type SocketCall } from "../../providers/core/connect.ts";
import { type CallTokens, tokensOfCall } from "../../providers/core/token-cache.ts";
import type { AuthTools } from "../../providers/core/types.ts";
import { Attempt, type AttemptTimes } from "../../upstream/attempt.ts";
import { toAttemptError } from "./attempt.ts";
import { admitCall, type CallFacts } from "./limits.ts";
import type { PreparedCall } from "./prepared-call.ts";
import { isTokenRefusal, type JudgedResponse, judge, renewCall, startTokens } from "./renewed-call.ts";

type UnsentCall = Pick<ProviderCall, "provider" | "customHost" | "headers">;

/** Whether the call's address came from the request or stored data. */
function isInfluenced({ customHost, provider }: UnsentCall): boolean {
  return customHost !== undefined || provider.isBaseInfluenced;
}

/** Longer bodies are released as soon as they are sent. */
const longBody = 64 * 1024;

/** Metadata as clouds receive it, without the gateway's own note of the user. */
function attachedOf(metadata: CallerContext["metadata"]): CallerContext["metadata"] {
  if (!Object.hasOwn(metadata, "_user")) return metadata;
  const { _user, ...attached } = metadata;
  return attached;
}

/** Adds a call to the request's record; returns what its authentication may use. */
function beginCall(
  { provider, url, customHost }: { provider: { slug: string }; url: string; customHost?: string | undefined },
  attempt: Attempt,
  context: CallerContext,
): AuthTools {
  const { log, principal, metadata, services } = context;
  attempt.begin(log, { provider: provider.slug, model: log.model, url: url.replace(/\?.*$/, "") });
  log.isAtCustomHost = customHost !== undefined;
  const { organisationId, workspaceId } = principal;
  const tenant = [organisationId, workspaceId ?? ""];
  const beforeLeaving: AuthTools["beforeLeaving"] = (leaving) => requireNoKey(leaving, context);
  return { ...services.authTools, tenant, metadata: attachedOf(metadata), secrets: log.secrets, beforeLeaving };
}

/** What sends a request, besides the request. */
interface Sending {
  readonly attempt: Attempt;
  readonly facts: CallFacts;
}

/** Terms of a call to a provider: its time limits, and what limits of its caller read of it. */
export interface CallTerms extends AttemptTimes, CallFacts {}

/** A response or a socket, and the attempt it belongs to, which the receiver releases. */
export interface UpstreamResponse<Upstream> {
  readonly upstream: Upstream;
  readonly attempt: Attempt;
}

/** Sends a request within an attempt. */
async function send(call: PreparedCall, { attempt, facts }: Sending, context: CallerContext): Promise<Response> {
  const tracing = addOrigin(call, context, isInfluenced(call));
  if (tracing) await tracing;
  const admitting = admitCall(call, facts, context, attempt);
  if (admitting) await admitting;
  // its credential can be fetched again
  if (call.provider.authorize !== undefined || call.managed?.renew) return sendRenewable(call, attempt, context);
  return await sendOnce(call, attempt, context);
}

/** Sends a request that is admitted, and records when its response began. @param tokens Tokens that can be fetched again. */
async function sendOnce(
  call: PreparedCall,
  attempt: Attempt,
  context: CallerContext,
  tokens?: CallTokens,
): Promise<Response> {
  const url = addressOf(call, context.services.authTools.environment);
  const began = beginCall({ provider: call.provider, url, customHost: call.customHost }, attempt, context);
  const tools = tokens ? { ...began, tokens } : began;
  if (context.numbers && typeof call.body === "string") call.body = context.numbers.restore(call.body);
  const sending = sendCall(Object.assign(call, { signal: attempt.signal, url }), tools);
  // it is being sent; whatever waits for the response need not hold it too
  if (typeof call.body === "string" && call.body.length > longBody) call.body = "";
  const upstream = await sending;
  attempt.receive(upstream.status);
  return upstream;
}

/** Sends a request whose credential can be fetched again, and sends it once more if its provider refuses the first one. */
async function sendRenewable(call: PreparedCall, attempt: Attempt, context: CallerContext): Promise<Response> {
  const { body } = call;
  const tokens = startTokens(call, context);
  const sent = sendOnce(call, attempt, context, tokens);
  const first = await sent.then(
    (response) => (tokens.used.length > 0 || call.managed?.renew ? judge(response) : { response, isRefusal: false }),
    (error: unknown) => {
      if (!isTokenRefusal(error)) throw error;
      return { error };
    },
  );
  if ("response" in first && !first.isRefusal) return first.response;
  const renewed = await renewCall(call, tokens, body).catch(() => undefined);
  if (!renewed) return toResponse(first);
  attempt.end();
  const again = await sendOnce(renewed, attempt, context, startTokens(renewed, context)).catch((error: unknown) => {
    if (attempt.signal.aborted) throw error;
    return undefined;
  });
  if (!again) return toResponse(first);
  if ("response" in first) first.response.body?.cancel().catch(() => {});
  return again;
}

/** The response to a call, or its failure. */
function toResponse(first: JudgedResponse | { readonly error: unknown }): Response {
  if ("response" in first) return first.response;
  throw first.error;
}

/** Runs work within an attempt; a failure ends the attempt. */
async function within<Upstream>(
  attempt: Attempt,
  work: Promise<Upstream>,
  provider: string,
): Promise<UpstreamResponse<Upstream>> {
  try {
    return { upstream: await work, attempt };
  } catch (error) {
    attempt.release();
    const failure = toAttemptError(error, attempt, provider);
    attempt.end();
    throw failure;
  }
}

/**
 * Sends a request to a provider. Every request to a provider is sent here: its times and outcome are recorded, it lists
 * the gateways it came through, and it holds no key of this one.
 *
 * @param repeat Makes another request from a response that refuses the first one, once, or returns a response to read.
 * @returns The response, and the attempt, which the reader of the response releases.
 * @throws {GatewayError} As `sendCall`; 499 when the caller left.
 */
export function callUpstream(
  call: PreparedCall,
  terms: CallTerms,
  context: CallerContext,
  repeat?: (upstream: Response, attempt: Attempt) => Promise<PreparedCall | Response>,
): Promise<UpstreamResponse<Response>> {
  const attempt = new Attempt(context.request, terms, context.services);
  const sending = { attempt, facts: terms };
  const sendBoth = async () => {
    const upstream = await send(call, sending, context);
    if (!repeat || upstream.status < 400) return upstream;
    const next = await repeat(upstream, attempt);
    return next instanceof Response ? next : send(next, sending, context);
  };
  const work = repeat ? sendBoth() : send(call, sending, context);
  return within(attempt, work, call.provider.slug);
}

/**
 * Opens a WebSocket at a provider, as `callUpstream` sends a request.
 *
 * @returns The open socket, or the provider's response.
 */
export function openUpstream(
  call: Omit<SocketCall, "signal">,
  terms: CallTerms,
  context: CallerContext,
  open: SocketOutbound,
): Promise<UpstreamResponse<SocketAnswer>> {
  const { services } = context;
  const attempt = new Attempt(context.request, terms, services);
  const connect = async () => {
    await addOrigin(call, context, isInfluenced(call));
    await admitCall(call, terms, context, attempt);
    const openOnce = async () => {
      const tokens = tokensOfCall(services.authTools.tokens, call.managed?.revision);
      const tools = { ...beginCall(call, attempt, context), tokens };
      const upstream = await openCall({ ...call, headers: { ...call.headers }, signal: attempt.signal }, tools, open);
      attempt.receive(upstream.end ? 101 : upstream.status);
      return { upstream, tokens };
    };
    const { upstream, tokens } = await openOnce();
    if (upstream.end || upstream.status !== 401 || !tokens.used.map((one) => tokens.refuse(one)).includes(true))
      return upstream;
    return (await openOnce()).upstream;
  };
  return within(attempt, connect(), call.provider.slug);
}

import { GatewayError, InvalidRequestError, TimeoutError, UpstreamError } from "../errors.ts";
import { type OutboundError, type OutboundInit, toOutboundError } from "../lib/outbound.ts";
import { hasVersion, joinUrl, withoutVersion } from "../lib/path.ts";
import { isSecretHeader } from "../lib/secret-names.ts";
import { withoutScheme } from "../lib/secret-values.ts";
import { version } from "../version.ts";
import type { AuthTools, BoundProvider } from "./types.ts";

/** Name and version the gateway gives to upstreams. */
export const productName = `gateway/${version}`;

/** Which models may be called, however they are spelt. */
export interface ModelRules {
  /** Slug of the stored provider they belong to. */
  readonly slug: string;
  allows(model: string): boolean;
  /** Whether a model is refused by name. */
  blocks(model: string): boolean;
}

/** Where a call goes. */
export interface Destination {
  provider: BoundProvider;
  /** Address a caller or tenant named instead of the provider's own. */
  customHost: string | undefined;
  credential: string | undefined;
  /** The caller's own `authorization`, of a scheme other than bearer, for what is passed on. */
  authorization?: string | undefined;
  /** Set when the gateway keeps the credential; absent when the caller brought it. */
  managed?: {
    /** Headers of the integration, by their names in lower case. */
    headers: Readonly<Record<string, string>>;
    /** The model to ask for: what the request names, less the reference. */
    model: string | undefined;
    /** The models that may be called; undefined when all may. */
    restrictedTo: ModelRules | undefined;
  };
}

/** One call to a provider, ready to be sent. */
export interface ProviderCall extends Destination {
  method: string;
  /** Path below the base address, with its query. */
  path: string;
  /** `addressOf` the call. */
  url: string;
  /** Belongs to the call: the credential is added to it. */
  headers: Record<string, string>;
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
  /** Answer bytes as received. */
  raw: boolean;
  signal: AbortSignal;
}

/** The address a call goes to. */
export function addressOf(
  { provider, customHost, path }: Pick<ProviderCall, "provider" | "customHost" | "path">,
  environment: AuthTools["environment"] = {},
): string {
  const base = customHost ?? provider.baseUrlOf({ path, environment });
  // a path that brings its own version replaces the one of the base address
  return joinUrl(hasVersion(path) ? withoutVersion(base) : base, path);
}

/**
 * Sends one call. Adds the provider's authentication; a credential of ours wins over any header of the caller. What goes
 * wrong is thrown as it comes: `toCallError` makes it an answer.
 */
export function sendCall(call: ProviderCall, tools: AuthTools): Promise<Response> {
  const { provider, method, path, signal, body, customHost } = call;
  if (provider.local && customHost === undefined) {
    const text = typeof body === "string" ? body : "";
    return provider.local({ method, path, body: text, signal });
  }
  const headers = Object.assign(call.headers, authenticate(call, tools));
  for (const name in provider.defaultHeaders) headers[name] ??= provider.defaultHeaders[name] ?? "";
  const waiting = tools.beforeLeaving?.({ url: call.url, headers });
  return waiting ? waiting.then(() => sendPrepared(call, headers, tools)) : sendPrepared(call, headers, tools);
}

/** Sends a call whose headers are complete, but for a signature. */
function sendPrepared(call: ProviderCall, headers: Record<string, string>, tools: AuthTools): Promise<Response> {
  const { outbound } = tools;
  const { provider, method, signal, raw, body, customHost } = call;
  const init: OutboundInit = {
    method,
    headers,
    signal,
    raw,
    origin: customHost === undefined && !provider.isBaseInfluenced ? "fixed" : "influenced",
  };
  if (body !== undefined) init.body = body;
  if (!provider.authorize) return outbound(call.url, init);
  const isStreamed = body instanceof ReadableStream;
  const signable = { method, url: call.url, headers, isStreamed, credential: call.credential };
  const authorized = provider.authorize({ ...signable, body: isStreamed ? undefined : body }, tools);
  return beforeAbort(authorized, signal).then((signed) => {
    noteSecrets(signed, tools);
    return outbound(call.url, { ...init, headers: { ...headers, ...signed } });
  });
}

/** The headers of the provider's authentication; the credential and they are noted. */
export function authenticate(
  { provider, credential }: Pick<ProviderCall, "provider" | "credential">,
  tools: AuthTools,
): Record<string, string> {
  const headers = provider.authenticate(credential);
  if (credential !== undefined) tools.secrets?.push(credential);
  noteSecrets(headers, tools);
  return headers;
}

/** Notes the credentials among the headers a call is authenticated by: a provider may repeat them in its errors. */
export function noteSecrets(headers: Readonly<Record<string, string>>, { secrets }: AuthTools): void {
  if (!secrets) return;
  for (const name in headers) if (isSecretHeader(name)) secrets.push(withoutScheme(headers[name] ?? ""));
}

/** What is waited for, no longer than the call lasts: it may serve other calls too and goes on. */
export function beforeAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

/** Why a call was ended from our side: the reason of its signal. */
export class AbortReason extends Error {
  override readonly name = "AbortReason";
  readonly kind: "timeout" | "idle" | "client" | "shutdown";
  constructor(kind: AbortReason["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The error a caller gets for a call without a usable answer. */
export function toCallError(error: unknown, provider: string): Error {
  // what signing in refused is an answer already
  if (error instanceof GatewayError) return error;
  const failure = toOutboundError(error);
  const options = { cause: error, provider };
  const reason = failure.cause instanceof AbortReason ? failure.cause : error;
  if (reason instanceof AbortReason) {
    if (reason.kind === "timeout") return new TimeoutError(reason.message, { ...options, code: "request_timeout" });
    return new UpstreamError(502, reason.message, { ...options, code: `upstream_${reason.kind}` });
  }
  switch (failure.kind) {
    case "refused_address":
      return new InvalidRequestError(`Invalid custom host: ${failure.message}`, {
        ...options,
        code: "invalid_custom_host",
      });
    case "invalid_request":
      return new InvalidRequestError(`Cannot call ${provider}: a header or the address cannot be sent`, {
        ...options,
        code: "invalid_upstream_request",
      });
    case "connect_timeout":
      return new UpstreamError(504, `Cannot reach ${provider}: connecting took too long`, {
        ...options,
        code: "upstream_connect_timeout",
      });
    default:
      return new UpstreamError(502, `Cannot get an answer from ${provider}: ${failureTexts[failure.kind]}`, {
        ...options,
        code: `upstream_${failure.kind}`,
      });
  }
}

const failureTexts: Readonly<
  Record<Exclude<OutboundError["kind"], "refused_address" | "invalid_request" | "connect_timeout">, string>
> = {
  unreachable: "no connection could be made; check the host",
  reset: "it closed the connection",
  aborted: "the call was ended",
  bad_answer: "it did not answer in valid HTTP",
};

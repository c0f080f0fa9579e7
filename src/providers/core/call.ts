import { GatewayError, InvalidRequestError, OutOfFilesError, TimeoutError, UpstreamError } from "../../errors.ts";
import { type OutboundError, type OutboundInit, toOutboundError } from "../../lib/outbound.ts";
import { hasVersion, joinUrl, withoutVersion } from "../../lib/path.ts";
import { isSecretHeader } from "../../lib/secret-names.ts";
import { withoutScheme } from "../../lib/secret-values.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { version } from "../../version.ts";
import type { AuthTools, BoundProvider } from "./types.ts";

const decoder = new TextDecoder();

/** Name and version the gateway sends to upstreams. */
export const productName = `gateway/${version}`;

/** Restrictions on models, which hold for every spelling of a name. */
export interface ModelRules {
  /** Slug of the stored provider with the restrictions. */
  readonly slug: string;
  allows(model: string): boolean;
  /** Whether a model is explicitly denied. */
  blocks(model: string): boolean;
}

/** Target of a call. */
export interface Destination {
  provider: BoundProvider;
  /** Custom host from a caller or tenant; replaces the provider's own. */
  customHost: string | undefined;
  credential: string | undefined;
  /** The caller's own `authorization` with a scheme other than bearer, for passthrough requests. */
  authorization?: string | undefined;
  /** Set when the credential is stored at the gateway; absent when the caller sent it. */
  managed?: {
    /** Headers of the integration, with lower-case names. */
    headers: Readonly<Record<string, string>>;
    /** The model to request: the model of the request without its provider prefix. */
    model: string | undefined;
    /** What the integration says the model takes. */
    modelFacts: ModelFacts | undefined;
    /** Restrictions on models; undefined when every model may be called. */
    restrictedTo: ModelRules | undefined;
    /** What of the stored provider decides about responses, secrets included: it differs after every change. */
    identity(): readonly unknown[];
    /** Differs each time the stored provider was saved. */
    revision: string;
    /**
     * Reads a credential from its external store again, because the provider refused it; absent where none lies there.
     *
     * @returns Undefined where it is the same as before, or was read too often.
     */
    renew?(): Promise<Destination | undefined>;
  };
}

/** One call to a provider, ready to be sent. */
export interface ProviderCall extends Destination {
  method: string;
  /** Path below the base URL, with its query. */
  path: string;
  /** `addressOf` the call. */
  url: string;
  /** Belongs to this call only: the credential is added to it. */
  headers: Record<string, string>;
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
  /** Return response bytes as received. */
  raw: boolean;
  signal: AbortSignal;
}

/** The URL a call goes to. */
export function addressOf(
  { provider, customHost, path }: Pick<ProviderCall, "provider" | "customHost" | "path">,
  environment: AuthTools["environment"] = {},
): string {
  const base = customHost ?? provider.baseUrlOf({ path, environment });
  // a path with its own version replaces the version of the base URL
  return joinUrl(hasVersion(path) ? withoutVersion(base) : base, path);
}

/**
 * Sends one call with the provider's authentication. A stored credential takes precedence over the caller's headers.
 * Errors are thrown unchanged; convert them with `toCallError`.
 */
export function sendCall(call: ProviderCall, tools: AuthTools): Promise<Response> {
  const { provider, method, path, signal, body, customHost } = call;
  if (provider.local && customHost === undefined) {
    const text = body instanceof Uint8Array ? decoder.decode(body) : typeof body === "string" ? body : "";
    return provider.local({ method, path, body: text, signal, now: tools.clock.now() });
  }
  const headers = Object.assign(call.headers, authenticate(call, tools));
  for (const name in provider.defaultHeaders) headers[name] ??= provider.defaultHeaders[name] ?? "";
  if (provider.callHeaders) Object.assign(headers, provider.callHeaders(headers, call.credential));
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

/** The headers of the provider's authentication. The credential and these headers are marked as secret. */
export function authenticate(
  { provider, credential }: Pick<ProviderCall, "provider" | "credential">,
  tools: AuthTools,
): Record<string, string> {
  const headers = provider.authenticate(credential);
  if (credential !== undefined) tools.secrets?.push(credential);
  noteSecrets(headers, tools);
  return headers;
}

/** Marks the credentials among the authentication headers as secret: a provider may repeat them in its errors. */
export function noteSecrets(headers: Readonly<Record<string, string>>, { secrets }: AuthTools): void {
  if (!secrets) return;
  for (const name in headers) if (isSecretHeader(name)) secrets.push(withoutScheme(headers[name] ?? ""));
}

/** Waits for a promise until the call is aborted. The promise itself continues, because other calls may share it. */
export function beforeAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

/** Why the gateway aborted a call: the reason of its signal. */
export class AbortReason extends Error {
  override readonly name = "AbortReason";
  readonly kind: "timeout" | "idle" | "client" | "shutdown";
  constructor(kind: AbortReason["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The error for a call without a usable response. */
export function toCallError(error: unknown, provider: string): Error {
  // an authentication failure is already an error for the caller
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
      return new InvalidRequestError(`Cannot call ${provider}: a header or the URL contains invalid characters`, {
        ...options,
        code: "invalid_upstream_request",
      });
    case "connect_timeout":
      return new UpstreamError(504, `Cannot reach ${provider}: the connection timed out`, {
        ...options,
        code: "upstream_connect_timeout",
      });
    case "out_of_files":
      return new OutOfFilesError("Cannot serve this request now: the gateway has no file descriptors left", {
        cause: error,
        code: "no_file_descriptors",
        retryAfterSeconds: 1,
      });
    default:
      return new UpstreamError(502, `Cannot get a response from ${provider}: ${failureStrings[failure.kind]}`, {
        ...options,
        code: `upstream_${failure.kind}`,
      });
  }
}

const failureStrings: Readonly<
  Record<
    Exclude<OutboundError["kind"], "refused_address" | "invalid_request" | "connect_timeout" | "out_of_files">,
    string
  >
> = {
  unreachable: "no connection could be made; check the host",
  reset: "it closed the connection",
  aborted: "the call was aborted",
  bad_answer: "its response is not valid HTTP",
};

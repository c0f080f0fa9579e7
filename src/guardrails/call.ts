import * as v from "valibot";
import { BodyError, readBytes } from "../lib/body.ts";
import { startTimer } from "../lib/clock.ts";
import { createHeaderRules, isHeaderName, isHeaderValue } from "../lib/headers.ts";
import { decodeUtf8, findJsonExcess, isObject, parseJson } from "../lib/json.ts";
import { toOutboundError } from "../lib/outbound.ts";
import { credentialHeaders } from "../lib/secret-names.ts";
import { signatureHeader, signBody } from "../lib/sign-body.ts";
import { CheckError, type CheckInput, type CheckTools } from "./types.ts";

/** Time limit of a service call in milliseconds, where none is set or the value is unusable. */
const defaultTimeoutMs = 5_000;
/** Largest time limit: a waiting call holds up the request, or the memory of a hook that runs after the response. */
const maxTimeoutMs = 60_000;
/** Largest response of a service, in bytes. */
const maxAnswerBytes = 1024 * 1024;
/** How much of a failed response's body an error quotes, in characters. */
const maxQuotedBody = 500;
const maxUrlLength = 2_048;
/** Most headers a check sets itself, and most it forwards from the client. */
const maxHeaders = 50;

/** One outgoing request of a check. Its address always comes from a config or from a request. */
interface ServiceCall {
  url: string;
  /** Default POST. */
  method?: "GET" | "POST";
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Covers the whole call, reading the response body included. */
  timeoutMs: number;
  /** Largest response; default 1 MiB. */
  maxBytes?: number;
}

/** A service's response, whatever its status. */
interface ServiceBytes {
  status: number;
  headers: Headers;
  bytes: Uint8Array;
}

/** A service's response, decoded as text. */
export interface ServiceAnswer {
  status: number;
  isOk: boolean;
  text: string;
  /** The text parsed as JSON; undefined where it is not JSON or exceeds the limits of `parseJson`. */
  json: unknown;
}

/**
 * A time limit in milliseconds, at most a minute.
 *
 * @param fallback Used where the value is absent; zero, negative values and anything but a number mean 5,000.
 */
export function readTimeout(value: unknown, fallback = defaultTimeoutMs): number {
  if (value === undefined || value === null) return fallback;
  const ms = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof ms === "number" && Number.isFinite(ms) && ms > 0 ? Math.min(ms, maxTimeoutMs) : defaultTimeoutMs;
}

/** A time limit as it is given: everything is accepted, and what is no time limit is replaced. */
export const GivenTimeout = v.unknown();
/** What a time limit should be, for whoever writes one. */
export const timeoutSchema = {
  type: "integer",
  minimum: 1,
  maximum: maxTimeoutMs,
  description: "Milliseconds for all calls of the check",
} as const;

/** Schema of a time limit parameter. It accepts everything. */
export function timeoutOf(fallback: number) {
  const read = v.pipe(
    GivenTimeout,
    v.transform((value) => readTimeout(value, fallback)),
  );
  return v.nullish(read, fallback);
}

/** Schema of a service's address. Whether the address may be called is decided at the time of the call. */
export const ServiceUrl = v.pipe(
  v.string("must be an http or https address"),
  v.maxLength(maxUrlLength, `must have at most ${maxUrlLength} characters`),
  v.check((url) => /^https?:\/\/[^/]/.test(url) && URL.canParse(url), "must be an http or https address"),
);

/** Headers that may be forwarded at all; the gateway's own are excluded. */
const { mayGoUpstream } = createHeaderRules(["x-gateway-"]);
/** Gateway headers that hold nothing but trace ids. */
const traceHeaders = new Set(["x-gateway-trace-id", "x-gateway-span-id"]);

/** Whether a header (in lower case) of a client or a token may be sent on: no credentials, no connection headers. */
export function mayBeCarried(name: string): boolean {
  return traceHeaders.has(name) || (mayGoUpstream(name) && !credentialHeaders.has(name));
}

/** Schema of `forwardHeaders`: names of the client's headers that the service receives. */
export const ForwardHeaders = v.nullish(
  v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.check((name) => isHeaderName(name) && !name.includes("*"), "must be the name of a header, without wildcards"),
        v.check((name) => name === name.toLowerCase(), "must be in lower case"),
        v.check(mayBeCarried, "must be a header that may be forwarded: no credential and none of the gateway's own"),
      ),
    ),
    v.maxLength(maxHeaders, `must have at most ${maxHeaders} entries`),
  ),
  [],
);

/** Headers that change how a request is framed; a config may not set them. */
const framingHeaders = new Set([
  "host",
  "content-length",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
]);

const HeaderValues = v.pipe(
  v.record(
    v.pipe(
      v.string(),
      v.check(
        (name) => isHeaderName(name) && !framingHeaders.has(name.toLowerCase()),
        "must be a header that can be set",
      ),
    ),
    v.pipe(
      v.string(),
      v.check((value) => isHeaderValue(value) && isLatin(value), "must be a value a header can have"),
    ),
  ),
  v.check((headers) => Object.keys(headers).length <= maxHeaders, `must have at most ${maxHeaders} members`),
  v.transform((headers) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  ),
);

/** Whether every character fits into one byte, as header values require. */
export function isLatin(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return false;
  return true;
}

/** Schema of `headers`: an object, or its JSON as a string. Names are lowercased. */
export const ServiceHeaders = v.nullish(
  v.pipe(
    v.union([v.string(), v.record(v.string(), v.unknown())], "must be an object or the JSON of one"),
    v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
      const written = typeof value !== "string" ? value : value.trim() === "" ? {} : parseJson(value);
      if (isObject(written)) return written;
      addIssue({ message: "must be an object or the JSON of one" });
      return NEVER;
    }),
    HeaderValues,
  ),
  {},
);

/** Values of the client's headers to forward; headers the client did not send are left out. */
export function forwardedHeaders({ request }: CheckInput, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = request.header(name);
    if (value !== undefined && isHeaderValue(value) && isLatin(value)) found[name] = value;
  }
  return found;
}

/** The error of a call that got no complete response. */
function toCheckError(cause: unknown, { timeoutMs }: ServiceCall, isExpired: boolean): CheckError {
  if (isExpired || (cause instanceof BodyError && cause.problem === "timeout")) {
    return new CheckError(`Request timed out after ${timeoutMs}ms`, { name: "TimeoutError", cause });
  }
  if (cause instanceof BodyError) {
    const problem = cause.problem === "too_large" ? "it is too large" : "the connection was closed";
    return new CheckError(`Cannot read the response: ${problem}`, { cause });
  }
  return new CheckError(toOutboundError(cause).message, { cause });
}

/**
 * Sends one request and reads the whole response, whatever its status. Redirects are not followed.
 *
 * @throws {CheckError} If there is no response in time, or it is too large.
 */
export async function fetchBytes({ outbound }: Pick<CheckTools, "outbound">, call: ServiceCall): Promise<ServiceBytes> {
  const { url, method = "POST", headers = {}, body, timeoutMs, maxBytes = maxAnswerBytes } = call;
  const abort = new AbortController();
  const cancel = startTimer(timeoutMs, () => abort.abort(new Error("the service did not respond in time")));
  try {
    const response = await outbound(url, {
      origin: "influenced",
      method,
      headers: { ...headers },
      signal: abort.signal,
      ...(body !== undefined && { body }),
    });
    const bytes = await readBytes(response, { bytes: maxBytes, totalMs: timeoutMs, silenceMs: timeoutMs });
    return { status: response.status, headers: response.headers, bytes };
  } catch (error) {
    const failure = toCheckError(error, call, abort.signal.aborted);
    abort.abort(failure); // cancelling an unread body releases the connection
    throw failure;
  } finally {
    cancel();
  }
}

/** Decodes UTF-8; undefined where the bytes are not valid UTF-8. */
function decodeValid(bytes: Uint8Array): string | undefined {
  try {
    return decodeUtf8(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Sends one request and reads the response as JSON, whatever its status.
 *
 * @throws {CheckError} If there is no response in time, or it is too large.
 */
export async function callService(tools: Pick<CheckTools, "outbound">, call: ServiceCall): Promise<ServiceAnswer> {
  const headers = { accept: "application/json", ...call.headers };
  const { status, bytes } = await fetchBytes(tools, { ...call, headers });
  const text = decodeValid(bytes) ?? "";
  const json = findJsonExcess(bytes) === undefined ? parseJson(text) : undefined;
  return { status, isOk: status >= 200 && status < 300, text, json };
}

/** Schema of `secret`, which signs what a service receives. New ones have at least 16 characters. */
export const SigningSecret = v.nullish(v.pipe(v.string(), v.minLength(1), v.maxLength(512)));

/** Why parameters with a secret cannot be saved. */
export function findSecretProblem({ secret }: { secret?: string | null | undefined }) {
  const isShort = typeof secret === "string" && secret.length < 16;
  return isShort ? { member: "secret", message: "must have at least 16 characters" } : undefined;
}

/** A value to be sent as JSON, and the secret that signs it. */
type JsonCall = Omit<ServiceCall, "body" | "method"> & { value: unknown; secret?: string | null | undefined };

/** Sends a value as JSON, signed where there is a secret; the headers set here override those given. */
export async function postJson(
  tools: Pick<CheckTools, "outbound" | "clock">,
  { value, secret, ...call }: JsonCall,
): Promise<ServiceAnswer> {
  const body = JSON.stringify(value);
  const headers: Record<string, string> = { ...call.headers, "content-type": "application/json" };
  if (typeof secret === "string") headers[signatureHeader] = await signBody(secret, body, tools.clock.now());
  return callService(tools, { ...call, headers, body });
}

/** The error of a service that responded with a failure: its status and the beginning of its body. */
export function toStatusError({ status, text, json }: ServiceAnswer): CheckError {
  const message = `Request failed with status ${status}`;
  const isShort = text.length <= maxQuotedBody;
  const body = isShort && json !== undefined ? json : text.slice(0, maxQuotedBody);
  return new CheckError(message, {
    name: "HttpError",
    data: { explanation: `The service returned ${status}`, status, body },
  });
}

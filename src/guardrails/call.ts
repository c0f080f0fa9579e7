import * as v from "valibot";
import { BodyError, readBytes } from "../lib/body.ts";
import { startTimer } from "../lib/clock.ts";
import { createHeaderRules, isHeaderName, isHeaderValue } from "../lib/headers.ts";
import { decodeUtf8, findJsonExcess, isObject, parseJson } from "../lib/json.ts";
import { toOutboundError } from "../lib/outbound.ts";
import { CheckError, type CheckInput, type CheckTools } from "./types.ts";

/** Milliseconds a service has where nothing usable is set. */
const defaultTimeoutMs = 5_000;
/** Most milliseconds a service may be given: what waits holds a request, or what is kept of one behind its answer. */
const maxTimeoutMs = 60_000;
/** Largest answer of a service, in bytes. */
const maxAnswerBytes = 1024 * 1024;
/** How much of a failure's body is told, in characters. */
const maxToldBody = 500;
const maxUrlLength = 2_048;
/** Most headers one check sends of its own, and of the client's. */
const maxHeaders = 50;

/** One request of a check; its address is always one that data has a say in. */
interface ServiceCall {
  url: string;
  /** Default POST. */
  method?: "GET" | "POST";
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** For everything, the body of the answer included. */
  timeoutMs: number;
  /** Largest answer; default 1 MiB. */
  maxBytes?: number;
}

/** What a service answered, whatever its status. */
interface ServiceBytes {
  status: number;
  headers: Headers;
  bytes: Uint8Array;
}

/** What a service answered, read as text. */
interface ServiceAnswer {
  status: number;
  isOk: boolean;
  text: string;
  /** The text as JSON; undefined where it is none, or one out of all bounds. */
  json: unknown;
}

/**
 * A time limit in milliseconds, at most a minute.
 *
 * @param fallback What counts where none is given; what is zero, negative or no number means 5,000.
 */
export function readTimeout(value: unknown, fallback = defaultTimeoutMs): number {
  if (value === undefined || value === null) return fallback;
  const ms = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof ms === "number" && Number.isFinite(ms) && ms > 0 ? Math.min(ms, maxTimeoutMs) : defaultTimeoutMs;
}

/** Schema of a parameter that limits time: it refuses nothing. */
export function timeoutOf(fallback: number) {
  const read = v.pipe(
    v.unknown(),
    v.transform((value) => readTimeout(value, fallback)),
  );
  return v.nullish(read, fallback);
}

/** Schema of a parameter that names a service. What may be called is decided when it is. */
export const ServiceUrl = v.pipe(
  v.string("must be an http or https address"),
  v.maxLength(maxUrlLength, `must have at most ${maxUrlLength} characters`),
  v.check((url) => /^https?:\/\/[^/]/.test(url) && URL.canParse(url), "must be an http or https address"),
);

/** Headers that may be carried from one side to another at all; the gateway's own are not among them. */
const { mayGoUpstream } = createHeaderRules(["x-gateway-"]);
/** Headers that prove who a client is. */
const credentialHeaders = new Set([
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "ocp-apim-subscription-key",
]);
/** Headers of the gateway that tell nothing but where a request stands in a trace. */
const traceHeaders = new Set(["x-gateway-trace-id", "x-gateway-span-id"]);

/** Whether a header, its name in lower case, may be taken from a client or a token and sent on: no credential, nothing of a connection. */
export function mayBeCarried(name: string): boolean {
  return traceHeaders.has(name) || (mayGoUpstream(name) && !credentialHeaders.has(name));
}

/** Schema of `forwardHeaders`: names of a client's headers that a service is to see. */
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

/** Headers of the author that would change what a request is, not what it says. */
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

/** Whether every letter of a text fits into a byte, as those of headers must. */
export function isLatin(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return false;
  return true;
}

/** Schema of `headers`: an object, or its JSON as a text. Names come out in lower case. */
export const ServiceHeaders = v.nullish(
  v.pipe(
    v.union([v.string(), v.record(v.string(), v.unknown())], "must be an object, or one written as JSON"),
    v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
      const written = typeof value !== "string" ? value : value.trim() === "" ? {} : parseJson(value);
      if (isObject(written)) return written;
      addIssue({ message: "must be an object, or one written as JSON" });
      return NEVER;
    }),
    HeaderValues,
  ),
  {},
);

/** Values of the client's headers that are to be forwarded; those it did not send are left out. */
export function forwardedHeaders({ request }: CheckInput, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = request.header(name);
    if (value !== undefined && isHeaderValue(value) && isLatin(value)) found[name] = value;
  }
  return found;
}

/** The error of a call that brought no answer. */
function toCheckError(cause: unknown, { timeoutMs }: ServiceCall, isExpired: boolean): CheckError {
  if (isExpired || (cause instanceof BodyError && cause.problem === "timeout")) {
    return new CheckError(`Request timed out after ${timeoutMs}ms`, { name: "TimeoutError", cause });
  }
  if (cause instanceof BodyError) {
    const problem = cause.problem === "too_large" ? "it is too large" : "it broke off";
    return new CheckError(`Cannot read the answer: ${problem}`, { cause });
  }
  return new CheckError(toOutboundError(cause).message, { cause });
}

/**
 * Sends one request and reads the answer whole, whatever its status. Redirects are answers, and not followed.
 *
 * @throws {CheckError} If there is no answer, not in time, or one that is too large.
 */
export async function fetchBytes({ outbound }: Pick<CheckTools, "outbound">, call: ServiceCall): Promise<ServiceBytes> {
  const { url, method = "POST", headers = {}, body, timeoutMs, maxBytes = maxAnswerBytes } = call;
  const abort = new AbortController();
  const cancel = startTimer(timeoutMs, () => abort.abort(new Error("the service did not answer in time")));
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
    abort.abort(failure); // an answer left unread lets go of its connection
    throw failure;
  } finally {
    cancel();
  }
}

/** Text of bytes; undefined where they are no UTF-8. */
function toText(bytes: Uint8Array): string | undefined {
  try {
    return decodeUtf8(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Sends one request and reads the answer as JSON, whatever its status.
 *
 * @throws {CheckError} If there is no answer, not in time, or one that is too large.
 */
export async function callService(tools: Pick<CheckTools, "outbound">, call: ServiceCall): Promise<ServiceAnswer> {
  const headers = { accept: "application/json", ...call.headers };
  const { status, bytes } = await fetchBytes(tools, { ...call, headers });
  const text = toText(bytes) ?? "";
  const json = findJsonExcess(bytes) === undefined ? parseJson(text) : undefined;
  return { status, isOk: status >= 200 && status < 300, text, json };
}

/** Sends a value as JSON; what is said here of content wins over the headers given. */
export function postJson(
  tools: Pick<CheckTools, "outbound">,
  { value, ...call }: Omit<ServiceCall, "body" | "method"> & { value: unknown },
): Promise<ServiceAnswer> {
  const headers = { ...call.headers, "content-type": "application/json" };
  return callService(tools, { ...call, headers, body: JSON.stringify(value) });
}

/** The error of a service that answered with a failure: its status, and the beginning of what it said. */
export function toStatusError({ status, text, json }: ServiceAnswer): CheckError {
  const message = `Request failed with status ${status}`;
  const isShort = text.length <= maxToldBody;
  const body = isShort && json !== undefined ? json : text.slice(0, maxToldBody);
  return new CheckError(message, {
    name: "HttpError",
    data: { explanation: `The service answered ${status}`, status, body },
  });
}

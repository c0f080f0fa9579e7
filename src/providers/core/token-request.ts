import * as v from "valibot";
import { InvalidRequestError, UpstreamError } from "../../errors.ts";
import { BodyError, readBytes } from "../../lib/body.ts";
import { type Clock, startTimer } from "../../lib/clock.ts";
import { decodeUtf8, isObject, parseJson } from "../../lib/json.ts";
import { type Outbound, type OutboundInit, toOutboundError } from "../../lib/outbound.ts";
import type { FetchedToken, TokenSource } from "./token-cache.ts";

/** Timeout of a token request in milliseconds. */
const timeoutMs = 10_000;
/** Maximum size of a token response. */
const maxAnswerBytes = 256 * 1024;
/** Token lifetime when the response does not state one. */
const unstatedMs = 5 * 60_000;

/** Dependencies of token requests. */
export interface TokenTools {
  outbound: Outbound;
  clock: Clock;
  tokens: TokenSource;
  /** Prefix of every key in `tokens`. */
  tenant: readonly string[];
}

/** A request to a token service. */
export interface TokenRequest extends Pick<OutboundInit, "origin"> {
  url: string;
  /** Default POST. */
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  /** Form fields. */
  fields?: Readonly<Record<string, string>>;
  /** A JSON body, instead of form fields. */
  json?: object;
  /** Reads the token from a response that is not an OAuth response; undefined where it contains none. */
  read?(answer: unknown): FetchedToken | undefined;
  /** Setting that contains the URL, for the error when the URL is rejected. */
  param: string;
}

const seconds = v.pipe(v.union([v.number(), v.pipe(v.string(), v.regex(/^[0-9]{1,12}$/))]), v.transform(Number));
const TokenAnswer = v.object({
  access_token: v.pipe(v.string(), v.regex(/^[\x21-\x7e]+$/)),
  token_type: v.nullish(v.pipe(v.string(), v.toLowerCase(), v.literal("bearer"))),
  expires_in: v.nullish(seconds),
});

/** The message of an error response (RFC 6749 section 5.2), shortened because the service is not trusted. */
function describe(json: unknown): string {
  if (!isObject(json)) return "";
  const { error, error_description: description } = json;
  const parts = [error, description].filter((part) => typeof part === "string" && part !== "");
  return parts.length === 0 ? "" : `: ${parts.join(", ").slice(0, 300)}`;
}

function toFailure(status: number, json: unknown, host: string): UpstreamError {
  const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const shown = isRefused ? 401 : status;
  const message = `Cannot get a token from ${host}: it returned status ${status}${describe(json)}`;
  return new UpstreamError(shown, message, { code: isRefused ? "token_refused" : "token_unavailable" });
}

function toUnavailable(error: unknown, host: string, param: string): Error {
  if (error instanceof UpstreamError) return error;
  const unavailable = (problem: string) =>
    new UpstreamError(502, `Cannot get a token from ${host}: ${problem}`, { cause: error, code: "token_unavailable" });
  if (error instanceof BodyError) return unavailable("its response cannot be read");
  const failure = toOutboundError(error);
  if (failure.kind !== "refused_address") return unavailable("it did not respond");
  return new InvalidRequestError(`Cannot use ${param}: ${failure.message}`, { param, code: "invalid_token_url" });
}

/** Body and content type of a request; empty for a request without a body. */
function encode({ fields, json }: Pick<TokenRequest, "fields" | "json">) {
  if (fields) {
    const type = { "content-type": "application/x-www-form-urlencoded" };
    return { type, body: new URLSearchParams(fields).toString() };
  }
  return json ? { type: { "content-type": "application/json" }, body: JSON.stringify(json) } : {};
}

function readOauthAnswer(json: unknown, clock: Clock): FetchedToken | undefined {
  const answer = v.safeParse(TokenAnswer, json);
  if (!answer.success) return undefined;
  const { access_token: token, expires_in: lasts } = answer.output;
  return { token, expiresAt: clock.now() + (typeof lasts === "number" ? lasts * 1000 : unstatedMs) };
}

/**
 * Requests an access token (RFC 6749, sections 4.4.2 and 5).
 *
 * @throws {UpstreamError} 401 if the service rejects the client, else 502 or the status of the failure.
 * @throws {InvalidRequestError} If the URL may not be called.
 */
export async function requestToken(
  { url, origin, method = "POST", headers, param, read, ...content }: TokenRequest,
  { outbound, clock }: Pick<TokenTools, "outbound" | "clock">,
): Promise<FetchedToken> {
  const abort = new AbortController();
  const cancel = startTimer(timeoutMs, () => abort.abort(new Error("the token service timed out")));
  const host = URL.parse(url)?.host ?? param;
  const { type, ...body } = encode(content);
  const sent = { accept: "application/json", ...type, ...headers };
  try {
    const response = await outbound(url, { method, headers: sent, ...body, origin, signal: abort.signal });
    const bytes = await readBytes(response, { bytes: maxAnswerBytes, totalMs: timeoutMs, silenceMs: timeoutMs });
    const json = parseJson(decodeUtf8(bytes));
    if (response.status !== 200) throw toFailure(response.status, json, host);
    const token = read ? read(json) : readOauthAnswer(json, clock);
    if (token) return token;
    throw new UpstreamError(502, `Cannot use the response of ${host}: it contains no bearer token`, {
      code: "token_unavailable",
    });
  } catch (error) {
    throw toUnavailable(error, host, param);
  } finally {
    cancel();
  }
}

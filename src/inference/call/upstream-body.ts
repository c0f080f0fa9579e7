import { reserveBody } from "../../context/held-bodies.ts";
import type { CallerContext } from "../../context.ts";
import { UnavailableError, UpstreamError } from "../../errors.ts";
import { BodyError, readBeginning, readBytes } from "../../lib/body.ts";
import { decodeUtf8, findJsonExcess, isObject } from "../../lib/json.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { toAttemptError } from "./attempt.ts";

/** Largest decoded response that is read whole. */
const maxAnswerBytes = 64 * 1024 * 1024;
/** The attempt has the timer; reading needs none. */
const answerBounds = { bytes: maxAnswerBytes, totalMs: Number.POSITIVE_INFINITY, silenceMs: Number.POSITIVE_INFINITY };

/** Whether a response has a success status. */
export function isSuccess({ status }: Pick<Response, "status">): boolean {
  return status >= 200 && status <= 299;
}

/** Bytes that are read of an error response. */
const maxFailureBytes = 256 * 1024;

/**
 * Bytes of a response that is read whole; of an error, its beginning.
 *
 * @throws {UpstreamError} If it breaks off or is too large.
 */
export async function readAnswer(
  upstream: Response,
  { attempt, provider }: { attempt: Attempt; provider: string },
  context: CallerContext,
): Promise<Uint8Array> {
  try {
    const length = Number(upstream.headers.get("content-length") ?? Number.NaN);
    // a small error is usual and is read at once
    const isCut = !isSuccess(upstream) && !(length <= maxFailureBytes);
    const bytes = isCut
      ? await readBeginning(upstream, maxFailureBytes)
      : await readBytes(upstream, { ...answerBounds, reserve: reserveBody(context, context.services) });
    attempt.end();
    return bytes;
  } catch (error) {
    if (!(error instanceof BodyError)) throw toAttemptError(error, attempt, provider);
    if (error.problem === "busy") {
      throw new UnavailableError("Cannot read the response: too many bodies are held in memory now", {
        cause: error,
        provider,
        code: "overloaded",
        retryAfterSeconds: 5,
      });
    }
    if (error.problem === "too_large") throw badAnswer(provider, "it is too large", error);
    throw toAttemptError(error.cause, attempt, provider);
  }
}

/** Text of a response that is safe to parse. @throws {UpstreamError} 502 for one that is not. */
export function toText(bytes: Uint8Array, provider: string): string {
  const excess = findJsonExcess(bytes);
  if (excess !== undefined) throw badAnswer(provider, `it has ${excess}`);
  try {
    return decodeUtf8(bytes);
  } catch (cause) {
    throw badAnswer(provider, "it is not UTF-8", cause);
  }
}

/**
 * Text of an error body. Its status is what counts: invalid UTF-8 is replaced, and text that is unsafe to parse is left
 * out.
 */
export function toFailureText(bytes: Uint8Array): string {
  return findJsonExcess(bytes) === undefined ? new TextDecoder().decode(bytes) : "";
}

/** The error for a response that cannot be used. */
export function badAnswer(provider: string, problem: string, cause?: unknown): UpstreamError {
  return new UpstreamError(502, `Cannot use the response of ${provider}: ${problem}`, {
    provider,
    code: "upstream_bad_answer",
    ...(cause !== undefined && { cause }),
  });
}

/** The object in a response, or the list where one is allowed. @throws {UpstreamError} 502 for anything else. */
export function parseAnswer(text: string, provider: string, { isList }: { isList: boolean }): object {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw badAnswer(provider, "it is not valid JSON", cause);
  }
  if (isObject(body) || (isList && Array.isArray(body))) return body;
  throw badAnswer(provider, "it is not a JSON object");
}

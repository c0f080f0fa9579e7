import { reserveBody } from "../../context/held-bodies.ts";
import type { CallerContext } from "../../context.ts";
import { UnavailableError, UpstreamError } from "../../errors.ts";
import { BodyError, readBeginning, readBytes } from "../../lib/body.ts";
import { decodeUtf8, findJsonExcess, isObject } from "../../lib/json.ts";
import { type Attempt, endCall, toAttemptError } from "./attempt.ts";

/** Largest decoded answer that is read whole. */
const maxAnswerBytes = 64 * 1024 * 1024;
/** The attempt keeps the time: reading needs no timer of its own. */
const answerBounds = { bytes: maxAnswerBytes, totalMs: Number.POSITIVE_INFINITY, silenceMs: Number.POSITIVE_INFINITY };

/** Whether a response has a status of success. */
export function isSuccess({ status }: Pick<Response, "status">): boolean {
  return status >= 200 && status <= 299;
}

/** What is read of an answer that tells of a failure. */
const maxFailureBytes = 256 * 1024;

/**
 * Bytes of an answer that is read whole; of a failure, its beginning.
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
    // the usual, small failure is read in one go
    const isCut = !isSuccess(upstream) && !(length <= maxFailureBytes);
    const bytes = isCut
      ? await readBeginning(upstream, maxFailureBytes)
      : await readBytes(upstream, { ...answerBounds, reserve: reserveBody(context, context.services) });
    endCall(attempt, context);
    return bytes;
  } catch (error) {
    if (!(error instanceof BodyError)) throw toAttemptError(error, attempt, provider);
    if (error.problem === "busy") {
      throw new UnavailableError("Cannot read the answer: too many bodies are held in memory now", {
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

/** Text of an answer that is safe to parse. @throws {UpstreamError} 502 for one that is not. */
export function toText(bytes: Uint8Array, provider: string): string {
  const excess = findJsonExcess(bytes);
  if (excess !== undefined) throw badAnswer(provider, `it has ${excess}`);
  try {
    return decodeUtf8(bytes);
  } catch (cause) {
    throw badAnswer(provider, "it is not UTF-8", cause);
  }
}

/** Text of a failure's body. Its status is what counts: letters that are none are replaced, and what is unsafe to parse is left out. */
export function toFailureText(bytes: Uint8Array): string {
  return findJsonExcess(bytes) === undefined ? new TextDecoder().decode(bytes) : "";
}

/** The error for an answer that cannot be used. */
export function badAnswer(provider: string, problem: string, cause?: unknown): UpstreamError {
  return new UpstreamError(502, `Cannot use the response of ${provider}: ${problem}`, {
    provider,
    code: "upstream_bad_answer",
    ...(cause !== undefined && { cause }),
  });
}

/** The object, or the list where it may be one, an answer holds. @throws {UpstreamError} 502 when it holds none. */
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

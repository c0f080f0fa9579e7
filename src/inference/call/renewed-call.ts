// Calls whose credential the gateway fetched: a token, or a secret of an external store. One that its provider refuses is
// fetched again, and the call is sent once more.

import type { CallerContext } from "../../context.ts";
import { UpstreamError } from "../../errors.ts";
import { type CallTokens, tokensOfCall } from "../../providers/core/token-cache.ts";
import type { PreparedCall } from "./prepared-call.ts";

/** Most bytes that are read of an error to find out why a call was refused. */
const maxReason = 16 * 1024;

/**
 * What providers write where a credential is refused with another status than 401: AWS
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sts-limits-errors.html,
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html), Google
 * (https://cloud.google.com/apis/design/errors), Databricks.
 */
const refusalForm =
  /\b(?:ExpiredToken(?:Exception)?|RequestExpired|UnrecognizedClient(?:Exception)?|InvalidClientTokenId|InvalidAccessKeyId|InvalidToken(?:Id)?|API_KEY_INVALID|Invalid access token|security token included in the request is (?:expired|invalid))\b/i;

/** The tokens of a call. */
export function startTokens({ managed }: PreparedCall, { services }: CallerContext): CallTokens {
  return tokensOfCall(services.authTools.tokens, managed?.revision);
}

/** The beginning of a text. */
async function readReason(body: ReadableStream<Uint8Array>): Promise<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (text.length < maxReason) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  return text;
}

/** A response, and whether it refuses the credential of its call. */
export interface JudgedResponse {
  readonly response: Response;
  readonly isRefusal: boolean;
}

/** Judges a response. Its body can still be read. */
export async function judge(response: Response): Promise<JudgedResponse> {
  const { status, headers } = response;
  if (status === 401) return { response, isRefusal: true };
  if (status !== 400 && status !== 403) return { response, isRefusal: false };
  // a body that is not looked at is read at once
  const { body } = response;
  if (body === null) return { response, isRefusal: false };
  if (refusalForm.test(headers.get("x-amzn-errortype") ?? "")) return { response, isRefusal: true };
  const [read, rest] = body.tee();
  // a body that breaks off breaks off for its reader too
  const reason = await readReason(read).catch(() => "");
  return { response: new Response(rest, { status, headers }), isRefusal: refusalForm.test(reason) };
}

/** Whether a token service refused what the gateway authenticated with, which can be a cached token too. */
export function isTokenRefusal(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false;
  const isSignIn = error.code === "token_refused" || error.code === "provider_sign_in_failed";
  return isSignIn && error.status >= 400 && error.status < 500;
}

/**
 * Drops the credentials that a provider refused.
 *
 * @returns The call with other credentials; undefined if it has to stay as it is.
 */
export async function renewCall(
  call: PreparedCall,
  tokens: CallTokens,
  body: PreparedCall["body"],
): Promise<PreparedCall | undefined> {
  const hasOthers = tokens.used.map((one) => tokens.refuse(one)).includes(true);
  if (body instanceof ReadableStream) return undefined;
  const renewed = await call.managed?.renew?.();
  if (!renewed && !hasOthers) return undefined;
  const again = { ...call, ...(body !== undefined && { body }) };
  if (!renewed) return again;
  const { provider, customHost, credential, managed } = renewed;
  const headers = { ...call.headers, ...managed?.headers };
  return { ...again, provider, customHost, credential, headers, ...(managed && { managed }) };
}

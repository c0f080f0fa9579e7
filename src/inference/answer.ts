import type { CallerContext, LogDraft, Services } from "../context.ts";
import { UpstreamError } from "../errors.ts";
import { answerHeaders } from "../lib/headers.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { readFailureHeaders } from "../providers/failure-headers.ts";

/** Headers that tell how a request was served. */
export function routingHeaders(provider: string, { label, retries }: LogDraft): Record<string, string> {
  return {
    "x-gateway-provider": provider,
    "x-gateway-last-used-option-index": label,
    "x-gateway-retry-attempt-count": retries === 0 ? "0" : String(retries),
    "x-gateway-cache-status": "DISABLED",
  };
}

/** Headers of a unified answer: the upstream's that matter, then ours. */
export function unifiedHeaders(
  upstream: Response,
  provider: string,
  { log }: CallerContext,
  services: Services,
): Record<string, string> {
  const headers = answerHeaders(upstream.headers, services.headerRules.returnedUnified);
  Object.assign(headers, routingHeaders(provider, log));
  if (log.dropped) headers["x-gateway-dropped-params"] = log.dropped.join(",");
  return headers;
}

function textOrNull(value: unknown): string | null {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : null;
}

/** What an upstream's error body says, in whichever of the common forms. */
function readFailure(text: string): { message: string; type?: string; code?: string; param?: string } {
  const body = parseJson(text);
  const error: unknown = isObject(body) ? (body.error ?? body) : undefined;
  if (!isObject(error)) return { message: typeof error === "string" ? error : text.slice(0, 2_000) };
  const type = textOrNull(error.type);
  const code = textOrNull(error.code);
  const param = textOrNull(error.param);
  return {
    message: textOrNull(error.message) ?? text.slice(0, 2_000),
    ...(type !== null && { type }),
    ...(code !== null && { code }),
    ...(param !== null && { param }),
  };
}

/** The error a caller gets for an upstream's failure: status, wait hints and request id survive. */
export function toProviderError(
  upstream: { status: number; headers: Headers },
  text: string,
  context: CallerContext,
  services: Services,
): UpstreamError {
  const provider = context.log.provider ?? "provider";
  const { "content-type": _type, ...headers } = answerHeaders(upstream.headers, services.headerRules.returnedUnified);
  const { message, ...details } = readFailure(text);
  return new UpstreamError(upstream.status, `${provider} error: ${message || `status ${upstream.status}`}`, {
    ...readFailureHeaders(upstream.headers),
    ...details,
    provider,
    headers: { ...headers, ...routingHeaders(provider, context.log) },
    upstreamHeaders: upstream.headers,
  });
}

const statusOfErrorType: Readonly<Record<string, number>> = {
  overloaded_error: 529,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
};

/** The status that fits an error object which came with status 200. */
export function statusOfErrorBody(error: unknown): number {
  if (!isObject(error)) return 502;
  const told = [error.code, error.status].map(Number).find((one) => Number.isInteger(one) && one >= 400 && one <= 599);
  if (told !== undefined) return told;
  const names = [error.type, error.code].map(String);
  const known = names.find((name) => Object.hasOwn(statusOfErrorType, name));
  return known === undefined ? 502 : (statusOfErrorType[known] ?? 502);
}

import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { UpstreamError } from "../../errors.ts";
import { answerHeaders } from "../../lib/headers.ts";
import { readFailure, readRetryDelay } from "../../providers/core/failures.ts";
import { withoutManagedSecrets } from "../target/managed-secrets.ts";
import { droppedHeader } from "./dropped-params.ts";

/** Printable ASCII: what every client can read of a header. */
const plainValue = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The target that was chosen by what is in the request, and its model. */
function autoHeaders(target: string, model: string): Record<string, string> {
  return {
    ...(plainValue.test(target) && { "x-gateway-auto-target": target }),
    ...(plainValue.test(model) && { "x-gateway-auto-model": model }),
  };
}

/** Headers that report how a request was served. */
export function routingHeaders(
  provider: string,
  { label, retries, cacheStatus, auto, model }: CallRecord,
): Record<string, string> {
  return {
    ...(auto && autoHeaders(auto.target, model ?? "")),
    "x-gateway-provider": provider,
    "x-gateway-last-used-option-index": label,
    "x-gateway-retry-attempt-count": retries === 0 ? "0" : String(retries),
    "x-gateway-cache-status": cacheStatus ?? "DISABLED",
  };
}

/** Headers of a unified response: the relevant ones of the upstream, then the gateway's. */
export function unifiedHeaders(
  upstream: Response,
  provider: string,
  { log, services }: CallerContext,
): Record<string, string> {
  const headers = answerHeaders(upstream.headers, services.headerRules.returnedUnified);
  return Object.assign(headers, routingHeaders(provider, log), droppedHeader(log));
}

/** The pause that an error asks for in its body, where no header does. */
function retryAfterOf(details: readonly unknown[] | undefined, headers: Headers): Record<string, string> {
  const seconds = details && !headers.has("retry-after") ? readRetryDelay(details) : undefined;
  return seconds === undefined ? {} : { "retry-after": String(seconds) };
}

/** The error a caller gets for an upstream's failure: status, retry hints and request id are preserved. */
export function toProviderError(
  upstream: { status: number; headers: Headers },
  text: string,
  context: CallerContext,
): UpstreamError {
  const provider = context.log.provider ?? "provider";
  const { "content-type": _type, ...headers } = answerHeaders(
    upstream.headers,
    context.services.headerRules.returnedUnified,
  );
  // hidden before the cut: a secret at the cut would leave a part behind
  const shown = withoutManagedSecrets(text, context);
  const { message, ...failure } = readFailure(shown, upstream.status, upstream.headers);
  const retryHeaders = retryAfterOf(failure.details, upstream.headers);
  const upstreamHeaders = new Headers(upstream.headers);
  for (const [name, value] of Object.entries(retryHeaders)) upstreamHeaders.set(name, value);
  return new UpstreamError(upstream.status, `${provider} error: ${message}`, {
    ...failure,
    provider,
    headers: { ...headers, ...retryHeaders, ...routingHeaders(provider, context.log) },
    upstreamHeaders,
  });
}

import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { UpstreamError } from "../../errors.ts";
import { answerHeaders } from "../../lib/headers.ts";
import { readFailure, readRetryDelay } from "../../providers/core/failures.ts";
import { withoutManagedSecrets } from "../target/managed-secrets.ts";

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

/** Most parameters that are reported, and most characters of a name: the caller chooses both. */
const maxDropped = 100;
const maxNameLength = 100;

/**
 * Records a parameter that was left out of the request, once. It is reported to the caller and stored with the log row.
 */
export function noteDropped(log: CallRecord, member: string): void {
  log.dropped ??= [];
  if (log.dropped.length >= maxDropped) return;
  const name = member.slice(0, maxNameLength).toWellFormed();
  if (!log.dropped.includes(name)) log.dropped.push(name);
}

/** A name in the header's list; characters other than plain letters and signs are percent-encoded. */
function toListedName(name: string): string {
  return name.toWellFormed().replace(/[^!-+\--~]+/g, encodeURIComponent);
}

/** The header that lists dropped parameters; empty if nothing was dropped. */
export function droppedHeader({ dropped }: CallRecord): Record<string, string> {
  return dropped ? { "x-gateway-dropped-params": dropped.map(toListedName).join(",") } : {};
}

/** Headers of a unified response: the relevant ones of the upstream, then the gateway's. */
export function unifiedHeaders(
  upstream: Response,
  provider: string,
  { log, services }: CallerContext,
): Record<string, string> {
  const headers = answerHeaders(upstream.headers, services.headerRules.returnedUnified);
  Object.assign(headers, routingHeaders(provider, log));
  return log.dropped ? Object.assign(headers, droppedHeader(log)) : headers;
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

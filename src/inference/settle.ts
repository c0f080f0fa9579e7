import type { CallerContext, Services } from "../context.ts";
import { toGatewayError } from "../errors.ts";
import { readNameList } from "../lib/headers.ts";
import type { LogDetails } from "../schemas/logs.ts";

/** How a request ended. */
export interface Outcome {
  status: number;
  responseHeaders: Headers;
  /** What was thrown, if anything was. */
  error?: unknown;
}

function since(start: number | null, end: number | null): number | null {
  return start === null || end === null ? null : Math.round((end - start) * 100) / 100;
}

function toDetails(context: CallerContext, services: Services, error: unknown): LogDetails {
  const { log, startedAt, spanId, parentSpanId, spanName } = context;
  const now = services.clock.monotonic();
  const failure = error === undefined ? null : toGatewayError(error);
  return {
    method: context.method,
    path: context.url.pathname,
    operation: log.operation,
    span_id: spanId,
    parent_span_id: parentSpanId,
    span_name: spanName,
    metadata: { ...context.metadata },
    stream: log.stream,
    duration_ms: since(startedAt, now) ?? 0,
    first_byte_ms: since(startedAt, log.firstByteAt),
    upstream_ms: since(log.upstreamStartedAt, log.upstreamEndedAt ?? log.firstByteAt),
    upstream_url: log.upstreamUrl,
    upstream_calls: log.upstreamCalls,
    usage: log.usage,
    error: failure && { type: failure.type, code: failure.code, message: failure.message },
  };
}

/** Hands a finished request to the log, once. */
export function settle(context: CallerContext, services: Services, outcome: Outcome): void {
  const { log, principal, request } = context;
  if (log.settled) return;
  log.settled = true;
  const sensitive = context.header("sensitive-headers");
  services.record({
    id: context.id,
    organisationId: principal.organisationId,
    workspaceId: principal.workspaceId,
    apiKeyId: principal.keyId,
    status: outcome.status,
    provider: log.provider,
    model: log.model,
    traceId: context.traceId,
    details: toDetails(context, services, outcome.error),
    sensitiveHeaders: sensitive === null ? [] : (readNameList(sensitive) ?? null),
    requestHeaders: request.headers,
    responseHeaders: outcome.responseHeaders,
    requestBody: log.requestBody,
    responseBody: log.responseBody,
  });
}

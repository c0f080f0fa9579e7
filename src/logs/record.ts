import type { LogDetails, LogEntry, LoggedUsage, LogHeaders } from "../schemas/logs.ts";
import type { Redactor } from "./redact.ts";

/** Most characters of a body that are stored. */
export const maxLoggedBody = 1024 * 1024;

/** What is known of a request when it is over. Bodies are null where there is none or it is not text. */
export interface LogRecord {
  id: string;
  organisationId: string;
  workspaceId: string | null;
  apiKeyId: string;
  status: number;
  provider: string | null;
  model: string | null;
  traceId: string;
  details: LogDetails;
  /** Lower-case names the caller wants hidden; null when its list could not be read. */
  sensitiveHeaders: readonly string[] | null;
  requestHeaders: Headers;
  responseHeaders: Headers;
  requestBody: string | null;
  responseBody: string | null;
}

/** A body cut to what is stored, masked, and free of what the database would cut at (U+0000). */
function storedBody(body: string | null, redactor: Redactor): string | null {
  if (body === null) return null;
  const text = redactor.text(body.length > maxLoggedBody ? body.slice(0, maxLoggedBody) : body);
  return storedText(text);
}

/** Text the database keeps whole: U+0000 is written out, lone surrogates are replaced. */
export function storedText(text: string): string {
  const whole = text.includes("\0") ? text.replaceAll("\0", "\\u0000") : text;
  return whole.toWellFormed();
}

/** The row that is stored for a record: redacted, its parts as texts. */
export function toLogEntry(record: LogRecord, redactor: Redactor): LogEntry | Promise<LogEntry> {
  const request = redactor.headers(record.requestHeaders, record.sensitiveHeaders);
  const response = redactor.headers(record.responseHeaders, record.sensitiveHeaders);
  if (request instanceof Promise || response instanceof Promise) {
    return Promise.all([request, response]).then(([sent, answered]) => assemble(record, redactor, sent, answered));
  }
  return assemble(record, redactor, request, response);
}

function assemble(
  record: LogRecord,
  redactor: Redactor,
  request: Record<string, string>,
  response: Record<string, string>,
): LogEntry {
  const headers: LogHeaders = {
    request,
    response,
    request_truncated: (record.requestBody?.length ?? 0) > maxLoggedBody,
    response_truncated: (record.responseBody?.length ?? 0) > maxLoggedBody,
  };
  const { id, organisationId, workspaceId, apiKeyId, status, provider, model, traceId } = record;
  return {
    ...{ id, organisationId, workspaceId, apiKeyId, status, provider },
    model: model === null ? null : storedText(model),
    traceId: storedText(traceId),
    details: storedText(redactor.text(JSON.stringify(record.details))),
    headers: storedText(JSON.stringify(headers)),
    request: storedBody(record.requestBody, redactor),
    response: storedBody(record.responseBody, redactor),
  };
}

/** The row that tells a tenant how many of its rows could not be kept. */
export function describeLoss(sample: LogEntry, rows: number, id: string): LogEntry {
  const details: LogDetails = {
    ...{ method: "", path: "", operation: "rows_lost", metadata: {}, stream: false, duration_ms: 0 },
    ...{ span_id: null, parent_span_id: null, span_name: null, first_byte_ms: null, upstream_ms: null },
    ...{ upstream_url: null, upstream_calls: 0, usage: null },
    error: { type: "rows_lost", code: null, message: `${rows} log rows could not be kept` },
  };
  const headers: LogHeaders = { request: {}, response: {}, request_truncated: false, response_truncated: false };
  return {
    ...{ id, organisationId: sample.organisationId, workspaceId: sample.workspaceId, apiKeyId: "" },
    ...{ status: 0, provider: null, model: null, traceId: id, request: null, response: null },
    ...{ details: JSON.stringify(details), headers: JSON.stringify(headers) },
  };
}

/** Token counts of an upstream's usage object; what is no whole, non-negative number counts as nothing. */
export function toLoggedUsage(usage: unknown): LoggedUsage | null {
  if (typeof usage !== "object" || usage === null) return null;
  const input = count(usage, "prompt_tokens");
  const output = count(usage, "completion_tokens");
  const total = count(usage, "total_tokens");
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: total === 0 ? input + output : total,
    cached_tokens: count(Reflect.get(usage, "prompt_tokens_details"), "cached_tokens"),
    reasoning_tokens: count(Reflect.get(usage, "completion_tokens_details"), "reasoning_tokens"),
  };
}

function count(holder: unknown, name: string): number {
  if (typeof holder !== "object" || holder === null) return 0;
  const value: unknown = Reflect.get(holder, name);
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

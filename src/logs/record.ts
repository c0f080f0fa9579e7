import { isObject, parseJson } from "../lib/json.ts";
import type { LogContent, LogDetails, LogEntry, LoggedUsage, LogSide } from "../schemas/logs.ts";
import type { Redactor } from "./redact.ts";

/** Most characters of a body that are stored. */
export const maxLoggedBody = 1024 * 1024;

/** What is known of a request when it is over. Bodies are null where there is none or it is not text. */
export interface LogRecord {
  details: LogDetails;
  /** Lower-case names the caller wants hidden; null when its list could not be read. */
  sensitiveHeaders: readonly string[] | null;
  requestHeaders: Iterable<readonly [string, string]>;
  responseHeaders: Readonly<Record<string, string>>;
  requestBody: string | null;
  responseBody: string | null;
}

/** Text the database keeps whole: it would cut it at U+0000. */
function storedText(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\\u0000") : text;
}

/** A body cut to what is stored and masked. */
function storedBody(body: string | null, redactor: Redactor): string | null {
  if (body === null) return null;
  return storedText(redactor.text(body.length > maxLoggedBody ? body.slice(0, maxLoggedBody) : body));
}

/** First line of a stored content: headers, and how the text after it is cut into two bodies. */
interface ContentHead {
  request: Record<string, string>;
  response: Record<string, string>;
  /** Characters of each body; null where there is none. */
  lengths: [number | null, number | null];
  truncated: [boolean, boolean];
}

/** Headers and bodies as one text: a line of JSON, then the bodies as they are, which spares encoding them again. */
function toContent(
  record: LogRecord,
  redactor: Redactor,
  request: Record<string, string>,
  response: Record<string, string>,
): string {
  const sent = storedBody(record.requestBody, redactor);
  const answered = storedBody(record.responseBody, redactor);
  const head: ContentHead = {
    request,
    response,
    lengths: [sent?.length ?? null, answered?.length ?? null],
    truncated: [isCut(record.requestBody), isCut(record.responseBody)],
  };
  return `${JSON.stringify(head)}\n${sent ?? ""}${answered ?? ""}`;
}

/** Texts that were gathered while they flowed by stop at the limit themselves. */
function isCut(body: string | null): boolean {
  return body !== null && body.length >= maxLoggedBody;
}

function readSide(headers: unknown, body: string | null, truncated: unknown): LogSide {
  const pairs = Object.entries(isObject(headers) ? headers : {}).map(([name, value]) => [name, String(value)]);
  return { headers: Object.fromEntries(pairs), body, truncated: truncated === true };
}

/** Headers and bodies of a stored content; empty ones when it was not kept. */
export function readContent(content: string | null): LogContent {
  const end = content?.indexOf("\n") ?? -1;
  const parsed = content === null ? undefined : parseJson(content.slice(0, end));
  const head: Partial<Record<keyof ContentHead, unknown>> = isObject(parsed) ? parsed : {};
  const [sent, answered] = Array.isArray(head.lengths) ? head.lengths : [null, null];
  const [sentCut, answeredCut] = Array.isArray(head.truncated) ? head.truncated : [false, false];
  const bodies = content?.slice(end + 1) ?? "";
  const start = typeof sent === "number" ? sent : 0;
  return {
    request: readSide(head.request, typeof sent === "number" ? bodies.slice(0, start) : null, sentCut),
    response: readSide(head.response, typeof answered === "number" ? bodies.slice(start) : null, answeredCut),
  };
}

/** The row that is stored for a record: redacted, its parts as texts. */
export function toLogEntry(record: LogRecord, redactor: Redactor): LogEntry | Promise<LogEntry> {
  const request = redactor.headers(record.requestHeaders, record.sensitiveHeaders);
  const response = redactor.headers(Object.entries(record.responseHeaders), record.sensitiveHeaders);
  if (request instanceof Promise || response instanceof Promise) {
    return Promise.all([request, response]).then(([sent, answered]) =>
      toEntry(record, redactor, toContent(record, redactor, sent, answered)),
    );
  }
  return toEntry(record, redactor, toContent(record, redactor, request, response));
}

function toEntry({ details }: LogRecord, redactor: Redactor, content: string | null): LogEntry {
  return {
    id: details.id,
    organisationId: details.organisation_id,
    workspaceId: details.workspace_id,
    details: redactor.text(JSON.stringify(details)),
    content,
  };
}

/** The row that tells a tenant how many of its rows could not be kept. */
export function describeLoss(sample: LogEntry, rows: number, id: string): LogEntry {
  const { organisationId, workspaceId } = sample;
  const details: LogDetails = {
    ...{ id, organisation_id: organisationId, workspace_id: workspaceId, api_key_id: "", status: 0, provider: null },
    ...{ model: null, trace_id: id, method: "", path: "", operation: "rows_lost", metadata: {}, stream: false },
    ...{ span_id: null, parent_span_id: null, span_name: null, duration_ms: 0, first_byte_ms: null, upstream_ms: null },
    ...{ upstream_url: null, upstream_calls: 0, usage: null },
    error: { type: "rows_lost", code: null, message: `${rows} log rows could not be kept` },
  };
  return { id, organisationId, workspaceId, details: JSON.stringify(details), content: null };
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

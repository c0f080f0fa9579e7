import { isObject, parseJson } from "../lib/json.ts";
import type { LogContent, LogDetails, LogEntry, LogSide } from "../schemas/logs.ts";
import { type HeldBody, isCut, textOfBody } from "./body.ts";
import type { Redactor } from "./redact.ts";

/** What is known of a request when it is over, as it was; secrets are taken out where it is written. */
export interface LogRecord {
  details: LogDetails;
  /** Null when it could not be kept. */
  content: RecordContent | null;
}

/** Headers and bodies of a request. Bodies are null where there is none or it is not text. */
export interface RecordContent {
  /** Lower-case names the caller wants hidden; null when its list could not be read. */
  sensitiveHeaders: readonly string[] | null;
  requestHeaders: Readonly<Record<string, string>>;
  responseHeaders: Readonly<Record<string, string>>;
  requestBody: HeldBody | null;
  responseBody: HeldBody | null;
}

/** A record whose details are JSON already. */
export interface DraftRecord {
  id: string;
  organisationId: string;
  workspaceId: string | null;
  /** JSON of `LogDetails`. */
  details: string;
  content: DraftContent | null;
}

/** Content whose bodies may have been cut already. */
export interface DraftContent extends RecordContent {
  /** Which body is longer than what is stored: that of the request, that of the answer. */
  truncated: [boolean, boolean];
}

/** A record with its details as text. */
export function toDraft({ details, content }: LogRecord): DraftRecord {
  return {
    id: details.id,
    organisationId: details.organisation_id,
    workspaceId: details.workspace_id,
    details: JSON.stringify(details),
    content: content && { ...content, truncated: cutsOf(content) },
  };
}

/** Which bodies of a content are cut when it is stored. */
export function cutsOf({ requestBody, responseBody }: RecordContent): [boolean, boolean] {
  return [isCut(requestBody), isCut(responseBody)];
}

/** Text the database keeps whole: it would cut it at U+0000. */
function storedText(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\\u0000") : text;
}

/** A body cut to what is stored and masked. */
function storedBody(body: HeldBody | null, redactor: Redactor): string | null {
  return body === null ? null : storedText(redactor.text(textOfBody(body)));
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
  { requestBody, responseBody, truncated }: DraftContent,
  redactor: Redactor,
  request: Record<string, string>,
  response: Record<string, string>,
): string {
  const sent = storedBody(requestBody, redactor);
  const answered = storedBody(responseBody, redactor);
  const head: ContentHead = {
    request,
    response,
    lengths: [sent?.length ?? null, answered?.length ?? null],
    truncated,
  };
  return `${JSON.stringify(head)}\n${sent ?? ""}${answered ?? ""}`;
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
export function toLogEntry(draft: DraftRecord, redactor: Redactor): LogEntry | Promise<LogEntry> {
  const { content } = draft;
  if (content === null) return toEntry(draft, redactor, null);
  const request = redactor.headers(content.requestHeaders, content.sensitiveHeaders);
  const response = redactor.headers(content.responseHeaders, content.sensitiveHeaders);
  if (request instanceof Promise || response instanceof Promise) {
    return Promise.all([request, response]).then(([sent, answered]) =>
      toEntry(draft, redactor, toContent(content, redactor, sent, answered)),
    );
  }
  return toEntry(draft, redactor, toContent(content, redactor, request, response));
}

function toEntry(draft: DraftRecord, redactor: Redactor, content: string | null): LogEntry {
  const { id, organisationId, workspaceId, details } = draft;
  return { id, organisationId, workspaceId, details: redactor.text(details), content };
}

/** The record that tells a tenant how many of its records could not be kept. */
export function describeLoss(sample: LogRecord, rows: number, id: string): LogRecord {
  const { organisation_id, workspace_id } = sample.details;
  const details: LogDetails = {
    ...{ id, organisation_id, workspace_id, api_key_id: "", status: 0, provider: null },
    ...{ model: null, trace_id: id, method: "", path: "", operation: "rows_lost", metadata: {}, stream: false },
    ...{ span_id: null, parent_span_id: null, span_name: null, duration_ms: 0, first_byte_ms: null, upstream_ms: null },
    ...{ upstream_url: null, upstream_calls: 0, usage: null, cost: 0, cost_currency: "USD" },
    error: { type: "rows_lost", code: null, message: `${rows} log rows could not be kept` },
  };
  return { details, content: null };
}

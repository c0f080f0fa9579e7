import type { LimitCounter, LimitIncrement, LogDetails, RowMeasures } from "../schemas/logs.ts";
import type { HeldBody } from "./body.ts";

/** A finished request, unredacted; secrets are removed before it is stored. */
export interface LogRecord {
  details: LogDetails;
  /** Null when it could not be stored. */
  content: RecordContent | null;
  /** What the request added to counters of limits: stored in the same transaction. */
  counted?: readonly LimitIncrement[];
  /** Counters of money that the request counts in: they follow when its price changes. */
  charged?: readonly LimitCounter[];
  /** Credentials of the request, masked wherever they occur. */
  secrets?: readonly string[];
  /** What metrics and spans show besides the row. */
  measures?: RowMeasures;
}

/** Headers and bodies of a request. Bodies are null where absent or not text. */
export interface RecordContent {
  /** Lower-case names that the caller wants hidden; null when the list was unreadable. */
  sensitiveHeaders: readonly string[] | null;
  requestHeaders: Readonly<Record<string, string>>;
  responseHeaders: Readonly<Record<string, string>>;
  requestBody: HeldBody | null;
  responseBody: HeldBody | null;
  /** Absent where the request was sent, and its response returned, as they came. */
  phases?: RecordPhases;
}

/** What became of a request and its response on their way. */
export interface RecordPhases {
  /** The request with the parameters of its config, as its guardrails left it; null where nothing changed it. */
  finalBody: HeldBody | null;
  /** The request as the provider received it; null where that is the caller's. */
  sent: { method: string; headers: Readonly<Record<string, string>>; body: HeldBody } | null;
  /** The provider's response; null where the caller got it as it came. */
  originalBody: HeldBody | null;
}

/** The bodies of a row in the order in which they are stored. */
export function bodiesOf({ requestBody, responseBody, phases }: RecordContent): (HeldBody | null)[] {
  if (!phases) return [requestBody, responseBody];
  return [requestBody, responseBody, phases.finalBody, phases.sent?.body ?? null, phases.originalBody];
}

/** Rows of a tenant that could not be stored, or its requests that were refused because of that. */
export interface Loss {
  readonly operation: "rows_lost" | "requests_shed";
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly count: number;
  /** What lost rows added to counters of limits: it is stored in their place. */
  readonly counted: readonly LimitIncrement[];
}

const messages: Readonly<Record<Loss["operation"], (count: number) => string>> = {
  rows_lost: (count) => `${count} log rows could not be stored`,
  requests_shed: (count) => `${count} requests were refused with 503 and left no row, because too many rows waited`,
};

/** A record that reports what a tenant lost. It adds to counters of limits what the lost rows would have. */
export function describeLoss({ operation, organisationId, workspaceId, count, counted }: Loss, id: string): LogRecord {
  const details: LogDetails = {
    id,
    organisation_id: organisationId,
    workspace_id: workspaceId,
    api_key_id: "",
    status: 0,
    provider: null,
    model: null,
    trace_id: id,
    method: "",
    path: "",
    operation,
    metadata: {},
    stream: false,
    span_id: null,
    parent_span_id: null,
    span_name: null,
    duration_ms: 0,
    first_byte_ms: null,
    upstream_ms: null,
    upstream_url: null,
    upstream_calls: 0,
    usage: null,
    cost: 0,
    cost_currency: "USD",
    priced: true,
    error: { type: operation, code: null, message: messages[operation](count) },
  };
  return counted.length > 0 ? { details, content: null, counted } : { details, content: null };
}

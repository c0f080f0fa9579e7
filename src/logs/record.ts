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

/** A record that reports how many records of a tenant were lost. */
export function describeLoss(sample: LogRecord, rows: number, id: string): LogRecord {
  const { organisation_id, workspace_id } = sample.details;
  const details: LogDetails = {
    id,
    organisation_id,
    workspace_id,
    api_key_id: "",
    status: 0,
    provider: null,
    model: null,
    trace_id: id,
    method: "",
    path: "",
    operation: "rows_lost",
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
    error: { type: "rows_lost", code: null, message: `${rows} log rows could not be stored` },
  };
  return { details, content: null };
}

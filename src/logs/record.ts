import type { LimitIncrement, LogDetails } from "../schemas/logs.ts";
import { type HeldBody, isCut } from "./body.ts";

/** What is known of a request when it is over, as it was; secrets are taken out on the way to where it is stored. */
export interface LogRecord {
  details: LogDetails;
  /** Null when it could not be kept. */
  content: RecordContent | null;
  /** What the request added to counters of limits: stored in the same transaction. */
  counted?: readonly LimitIncrement[];
  /** Credentials of the request: they are masked by their value. */
  secrets?: readonly string[];
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

/** Which bodies of a content are cut when it is stored. */
export function cutsOf({ requestBody, responseBody }: RecordContent): [boolean, boolean] {
  return [isCut(requestBody), isCut(responseBody)];
}

/** The record that tells a tenant how many of its records could not be kept. */
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
    error: { type: "rows_lost", code: null, message: `${rows} log rows could not be kept` },
  };
  return { details, content: null };
}

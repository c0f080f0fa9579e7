import type { HeldBody } from "../../src/logs/body.ts";
import type { LogRecord } from "../../src/logs/record.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";

/** Details of a request of which little matters. */
export const plainDetails: LogDetails = {
  id: "id",
  organisation_id: "o",
  workspace_id: "w",
  api_key_id: "k",
  status: 200,
  provider: "echo",
  model: "m",
  method: "POST",
  path: "/v1/chat/completions",
  operation: "chat",
  metadata: {},
  stream: false,
  trace_id: "t",
  duration_ms: 1,
  span_id: null,
  parent_span_id: null,
  span_name: null,
  first_byte_ms: null,
  upstream_ms: null,
  upstream_url: null,
  upstream_calls: 0,
  usage: null,
  error: null,
  cost: null,
  cost_currency: "USD" as const,
  priced: false,
};

/** A record with or without an answer. */
export function logRecord(id: string, changes: { organisationId?: string; responseBody?: HeldBody } = {}): LogRecord {
  const details = { ...plainDetails, id, organisation_id: changes.organisationId ?? "o" };
  const { responseBody } = changes;
  if (responseBody === undefined) return { details, content: null };
  const headers = { requestHeaders: {}, responseHeaders: {}, sensitiveHeaders: [] };
  return { details, content: { ...headers, requestBody: null, responseBody } };
}

/** Length of the bodies of a record. */
export function bodiesOf({ content }: LogRecord): number {
  return (content?.requestBody?.length ?? 0) + (content?.responseBody?.length ?? 0);
}

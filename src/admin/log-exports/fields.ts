import { timeOfId } from "../../lib/ids.ts";
import { parseJson } from "../../lib/json.ts";
import type { ExportedField } from "../../schemas/log-exports.ts";
import type { LogContent, LogDetails, LogSide } from "../../schemas/logs.ts";

/** A row with its contents, null where they were not stored. */
interface ExportedRow {
  readonly details: LogDetails;
  readonly content: LogContent | null;
}

/** A body as a value where it is JSON, else as text. */
function toSide(side: LogSide | undefined): object | null {
  if (!side) return null;
  const { headers, body, truncated } = side;
  return { headers, body: body === null || truncated ? body : (parseJson(body) ?? body), truncated };
}

const exported: Readonly<Record<ExportedField, (row: ExportedRow) => unknown>> = {
  id: ({ details }) => details.id,
  trace_id: ({ details }) => details.trace_id,
  created_at: ({ details }) => new Date(timeOfId(details.id)).toISOString(),
  request: ({ content }) => toSide(content?.request),
  response: ({ content }) => toSide(content?.response),
  is_success: ({ details: { status } }) => status >= 200 && status < 300,
  ai_org: ({ details }) => details.provider,
  ai_model: ({ details }) => details.model,
  req_units: ({ details }) => details.usage?.input_tokens ?? 0,
  res_units: ({ details }) => details.usage?.output_tokens ?? 0,
  total_units: ({ details }) => details.usage?.total_tokens ?? 0,
  request_url: ({ details }) => details.path,
  cost: ({ details }) => details.cost ?? null,
  cost_currency: () => "USD",
  response_time: ({ details }) => details.duration_ms,
  response_status_code: ({ details }) => details.status,
  mode: ({ details }) => details.mode ?? "single",
  config: ({ details }) => details.config ?? null,
  prompt_slug: ({ details }) => details.prompt_slug ?? null,
  metadata: ({ details }) => details.metadata,
};

/** Fields that need the contents of a row. */
export const contentFields: ReadonlySet<string> = new Set(["request", "response"]);

/** A row of an export: one line of JSON. */
export function toLine(row: ExportedRow, fields: readonly ExportedField[]): string {
  return `${JSON.stringify(Object.fromEntries(fields.map((field) => [field, exported[field](row)])))}\n`;
}

import { timeOfId } from "../../lib/ids.ts";
import type { Redactor } from "../../logs/redact.ts";
import { type LogSideView, showSide } from "../../logs/shown-body.ts";
import type { ExportedField } from "../../schemas/log-exports.ts";
import type { LogContent, LogDetails } from "../../schemas/logs.ts";

/** A row with its contents, null where they were not stored. */
interface ExportedRow {
  readonly details: LogDetails;
  readonly content: LogContent | null;
}

/** A row with its contents as `GET /v1/logs/{id}` shows them: a stream is the response that it adds up to. */
interface ShownRow extends ExportedRow {
  readonly request: LogSideView | null;
  readonly response: LogSideView | null;
}

const exported: Readonly<Record<ExportedField, (row: ShownRow) => unknown>> = {
  id: ({ details }) => details.id,
  trace_id: ({ details }) => details.trace_id,
  created_at: ({ details }) => new Date(timeOfId(details.id)).toISOString(),
  request: ({ request }) => request,
  response: ({ response }) => response,
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
export async function toLine(row: ExportedRow, fields: readonly ExportedField[], redactor: Redactor): Promise<string> {
  const { content } = row;
  const show = async (name: "request" | "response") =>
    content && fields.includes(name) ? await showSide(content[name], redactor) : null;
  const shown: ShownRow = { ...row, request: await show("request"), response: await show("response") };
  return `${JSON.stringify(Object.fromEntries(fields.map((field) => [field, exported[field](shown)])))}\n`;
}

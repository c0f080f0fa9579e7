import * as v from "valibot";
import { Description, Reference, Text } from "./control.ts";
import { changesOf, closedObject } from "./objects.ts";
import { wholeFrom } from "./whole-number.ts";

/** Most rows of an export. */
export const maxExportedRows = 50_000;

/** Fields that an export may have. */
export const exportedFields = [
  ...(["id", "trace_id", "created_at", "request", "response", "is_success", "ai_org", "ai_model"] as const),
  ...(["req_units", "res_units", "total_units", "request_url", "cost", "cost_currency", "response_time"] as const),
  ...(["response_status_code", "mode", "config", "prompt_slug", "metadata"] as const),
] as const;
export type ExportedField = (typeof exportedFields)[number];

/** A number, or text that is one. */
const Numeric = v.nullish(v.union([v.number(), Text(40)], "must be a number"));
/** Values as a list, or separated by commas. */
const Values = v.nullish(
  v.union(
    [Text(16_384, 0), v.number(), v.pipe(v.array(v.union([Text(1_024), v.number()])), v.maxLength(1_000))],
    "must be a list, or text with commas",
  ),
);
const Moment = v.nullish(Text(64));

/** Which rows are exported. All that are given must hold. */
const ExportFilters = closedObject({
  time_of_generation_min: Moment,
  time_of_generation_max: Moment,
  total_units_min: Numeric,
  total_units_max: Numeric,
  cost_min: Numeric,
  cost_max: Numeric,
  prompt_token_min: Numeric,
  prompt_token_max: Numeric,
  completion_token_min: Numeric,
  completion_token_max: Numeric,
  weighted_feedback_min: Numeric,
  weighted_feedback_max: Numeric,
  status_code: Values,
  ai_model: Values,
  ai_org_model: Values,
  virtual_keys: Values,
  configs: Values,
  api_key_ids: Values,
  trace_id: Values,
  span_id: Values,
  session_id: Values,
  prompt_slug: Values,
  source: Values,
  workspace_slug: v.nullish(Reference),
  metadata: v.nullish(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]), "must be an object")),
  page_size: v.nullish(wholeFrom(1, maxExportedRows)),
  current_page: v.nullish(wholeFrom(0, 1_000_000)),
});
export type ExportFilters = v.InferOutput<typeof ExportFilters>;

const RequestedData = v.pipe(
  v.array(v.picklist(exportedFields, `must be of ${exportedFields.join(", ")}`)),
  v.minLength(1, "must have at least one field"),
  v.maxLength(100, "must have at most 100 fields"),
);

/** Body of `POST /logs/exports`. */
export const CreateLogExport = closedObject({
  filters: ExportFilters,
  requested_data: RequestedData,
  workspace_id: v.nullish(Reference),
  description: Description,
});
export type CreateLogExport = v.InferOutput<typeof CreateLogExport>;

/** Body of `PUT /logs/exports/{id}`; absent fields stay unchanged. */
export const UpdateLogExport = changesOf({
  filters: ExportFilters,
  requested_data: v.optional(RequestedData),
  workspace_id: v.nullish(Reference),
  description: Description,
});
export type UpdateLogExport = v.InferOutput<typeof UpdateLogExport>;

const object = v.literal("export");

/** Response of a created or changed export. */
export const LogExportReceipt = v.object({ id: v.string(), total: v.number(), object });

/** An export. */
export const LogExport = v.object({
  id: v.string(),
  organisation_id: v.string(),
  workspace_id: v.string(),
  filters: v.record(v.string(), v.unknown()),
  requested_data: v.array(v.string()),
  description: v.nullable(v.string()),
  status: v.picklist(["draft", "in_progress", "success", "failed", "stopped"]),
  error: v.nullable(v.string()),
  total_records: v.number(),
  created_by: v.string(),
  created_at: v.string(),
  last_updated_at: v.string(),
  object,
});
export type LogExport = v.InferOutput<typeof LogExport>;

/** Response of `GET /logs/exports`. */
export const LogExportList = v.object({ object: v.literal("list"), total: v.number(), data: v.array(LogExport) });

/** Response of a started or stopped export. */
export const LogExportMessage = v.object({ message: v.string(), object });

/** Response of `GET /logs/exports/{id}/download`. */
export const LogExportLink = v.object({ signed_url: v.string() });

/** Response of `GET /logs/exports/field-restrictions`. */
export const FieldRestrictions = v.object({ deniedFields: v.array(v.string()) });

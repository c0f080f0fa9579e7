import { createElement, type ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import { Value } from "@/components/value.tsx";
import { formatTime } from "@/lib/format.ts";
import { isJsonObject } from "@/lib/json.ts";
import { nameOf } from "@/lib/words.ts";
import { withoutNulls } from "@/resources/data.ts";
import { defineResource, optionsOf } from "@/resources/define.ts";
import { Labelled } from "@/resources/labelled.tsx";
import { showFile, WithNames } from "@/resources/names.tsx";
import { choices, descriptionField, numbered } from "@/resources/options.ts";
import type { Field, Values } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const fields = text.resources.fields;
const ofExports = text.resources.exports;
const ofFiles = text.resources.files;
const ofBatches = text.resources.batches;

/** Members of a row that an export can hold (docs/exports.md). */
const exportMembers = [
  "id",
  "trace_id",
  "created_at",
  "request",
  "response",
  "is_success",
  "ai_org",
  "ai_model",
  "req_units",
  "res_units",
  "total_units",
  "request_url",
  "cost",
  "cost_currency",
  "response_time",
  "response_status_code",
  "mode",
  "config",
  "prompt_slug",
  "metadata",
].map((value) => ({ value, label: ofExports.members[value] ?? value }));

type ExportJob = AnswerOf<"GET /v1/logs/exports/{id}">;
type Batch = AnswerOf<"GET /v1/batches/{id}">;

/** What an export can hold, in words. */
const exportedOf = ({ requested_data: members }: ExportJob): string =>
  members.map((member) => ofExports.members[member] ?? member).join(", ");

const filterLabels: Readonly<Record<string, string>> = {
  time_of_generation_min: ofExports.from,
  time_of_generation_max: ofExports.to,
  ai_model: ofExports.models,
  status_code: ofExports.statusCodes,
  api_key_ids: ofExports.apiKeys,
};

/** What an export is limited to, in words. */
function showFilters({ filters }: ExportJob): ReactNode {
  const shown = Object.entries(filters).map(([name, value]) => {
    const isTime = name.startsWith("time_of_generation_");
    return [name, isTime ? formatTime(String(value)) : value] as const;
  });
  return createElement(Labelled, {
    value: Object.fromEntries(shown),
    labelOf: (name) => filterLabels[name] ?? nameOf(name),
    show: (member) => createElement(WithNames, { value: [member].flat().map(String).join(", ") }),
  });
}

const ofFilters = { section: ofExports.filters };

const exportFields = [
  descriptionField,
  {
    name: "requested_data",
    label: ofExports.fields,
    kind: "multi",
    required: true,
    options: exportMembers,
    initial: ["id", "created_at", "ai_model", "cost", "response_status_code"],
  },
  {
    ...ofFilters,
    sectionHelp: ofExports.filtersHelp,
    name: "filters.time_of_generation_min",
    label: ofExports.from,
    kind: "time",
  },
  { ...ofFilters, name: "filters.time_of_generation_max", label: ofExports.to, kind: "time" },
  { ...ofFilters, name: "filters.ai_model", label: ofExports.models, kind: "tags" },
  { ...ofFilters, name: "filters.status_code", label: ofExports.statusCodes, kind: "tags" },
  {
    ...ofFilters,
    name: "filters.api_key_ids",
    label: ofExports.apiKeys,
    kind: "multi",
    placeholder: ofExports.allKeys,
    options: optionsOf("/v1/api-keys", ({ id, name }) => ({ value: id, label: name })),
  },
  { ...ofFilters, name: "filters.metadata", label: fields.metadata, kind: "pairs" },
] as const satisfies readonly Field[];

const isDraft = ({ status }: ExportJob): boolean => status === "draft";

/** How many rows an export holds, once it was started. */
const recordsOf = (row: ExportJob): ReactNode =>
  createElement(Value, { value: isDraft(row) ? undefined : row.total_records, kind: "number" });

/** An export by its description, else by when it was made. */
const exportName = ({ description, created_at: created }: ExportJob): string =>
  description || ofExports.of({ when: formatTime(created) });

/** Export jobs: `/v1/logs/exports`. */
export const exportJobs = defineResource({
  name: "exports",
  text: { ...ofExports, emptyHint: ofExports.empty },
  workspace: "required",
  list: { path: "/v1/logs/exports", paging: numbered },
  id: ({ id }) => id,
  title: exportName,
  columns: [
    {
      label: fields.description,
      of: ({ description }) => description,
      track: "minmax(10rem, 2fr)",
      render: exportName,
    },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "7rem" },
    {
      label: ofExports.records,
      of: ({ total_records }) => total_records,
      kind: "number",
      track: "5rem",
      render: recordsOf,
    },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.description, of: ({ description }) => description },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: ofExports.filters, of: ({ filters }) => filters, render: showFilters, empty: ofExports.everything },
    { label: ofExports.fields, of: ({ requested_data }) => requested_data, render: exportedOf },
    {
      label: ofExports.records,
      of: ({ total_records }) => total_records,
      kind: "number",
      when: (row) => !isDraft(row),
    },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    { label: fields.id, of: ({ id }) => id, kind: "id" },
  ],
  read: "/v1/logs/exports/{id}",
  create: {
    rows: ["POST /v1/logs/exports"],
    fields: exportFields,
    made: ({ id }) => id,
    toBody: (body) => ({ filters: {}, ...body }),
  },
  update: {
    rows: ["PUT /v1/logs/exports/{id}"],
    fields: exportFields,
    when: isDraft,
    // the route takes all filters together
    toBody: (body, record) => ({
      ...body,
      filters: withoutNulls({ ...record?.filters, ...(isJsonObject(body.filters) && body.filters) }),
    }),
  },
  actions: [
    {
      label: ofExports.start,
      icon: "playground",
      row: "POST /v1/logs/exports/{id}/start",
      done: () => ({ message: ofExports.started }),
      isMain: true,
      when: isDraft,
    },
    {
      label: ofExports.cancel,
      icon: "stop",
      row: "POST /v1/logs/exports/{id}/cancel",
      done: () => ({ message: ofExports.cancelled }),
      when: ({ status }) => status === "in_progress",
    },
  ],
  sections: [
    {
      title: ofExports.download,
      row: "GET /v1/logs/exports/{id}/download",
      isInHead: true,
      when: (record) => !isDraft(record),
      load: async () => ({ default: (await import("@/resources/sections/downloads.tsx")).ExportDownload }),
    },
  ],
  isUnfinished: ({ status }) => status === "in_progress",
});

/** How many requests of a batch have ended. */
function countRequests({ request_counts: counts }: Batch): string {
  const { completed, failed, total } = counts ?? { completed: 0, failed: 0, total: 0 };
  return ofBatches.counted({ ended: completed + failed, total, failed });
}

/** A batch by when it was made: it has no name. */
const batchName = ({ created_at: created }: Batch): string => ofBatches.of({ when: formatTime(created * 1000) });

/** The provider is one of the headers of the calls. */
function withProvider({ provider, ...body }: Values): Values {
  if (typeof provider !== "string") return body;
  const others = isJsonObject(body.gateway_options) ? body.gateway_options : {};
  return { ...body, gateway_options: { "x-gateway-provider": `@${provider}`, ...others } };
}

const byCursor = { after: "after", size: "limit" } as const;

/** Files: `/v1/files`. */
export const files = defineResource({
  name: "files",
  text: { ...ofFiles, emptyHint: ofFiles.empty },
  workspace: "none",
  list: { path: "/v1/files", paging: byCursor },
  id: ({ id }) => id,
  title: ({ filename }) => filename,
  columns: [
    { label: fields.name, of: ({ filename }) => filename, track: "minmax(10rem, 2fr)" },
    { label: ofFiles.purpose, of: ({ purpose }) => purpose, kind: "word", track: "8rem", wide: true },
    { label: ofFiles.size, of: ({ bytes }) => bytes, kind: "bytes", track: "5rem" },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "7rem", wide: true },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "seconds", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.name, of: ({ filename }) => filename },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: ofFiles.purpose, of: ({ purpose }) => purpose, kind: "word" },
    { label: ofFiles.size, of: ({ bytes }) => bytes, kind: "bytes" },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "seconds" },
    { label: fields.id, of: ({ id }) => id, kind: "id" },
  ],
  read: "/v1/files/{id}",
  create: {
    rows: ["POST /v1/files"],
    others: ["purpose", "file"],
    made: ({ id }) => id,
    multipart: true,
    fields: [
      {
        name: "purpose",
        label: ofFiles.purpose,
        kind: "select",
        required: true,
        initial: "batch",
        options: choices("batch", "fine-tune", "user_data", "vision"),
      },
      {
        name: "file",
        label: ofFiles.file,
        kind: "file",
        required: true,
        placeholder: ofFiles.choose,
        help: ofFiles.format,
      },
    ],
  },
  remove: { row: "DELETE /v1/files/{id}" },
  sections: [
    {
      title: ofFiles.download,
      row: "GET /v1/files/{id}/content",
      isInHead: true,
      load: async () => ({ default: (await import("@/resources/sections/downloads.tsx")).FileDownload }),
    },
  ],
});

/** Batches: `/v1/batches`. */
export const batches = defineResource({
  name: "batches",
  text: { ...ofBatches, emptyHint: ofBatches.empty },
  workspace: "none",
  list: { path: "/v1/batches", paging: byCursor },
  id: ({ id }) => id,
  title: batchName,
  columns: [
    { label: ofBatches.one, of: ({ created_at }) => created_at, track: "minmax(10rem, 2fr)", render: batchName },
    {
      label: ofBatches.endpoint,
      of: ({ endpoint }) => endpoint,
      kind: "code",
      wide: true,
      track: "minmax(12rem, 1fr)",
    },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "7rem" },
    {
      label: ofBatches.counts,
      of: ({ request_counts }) => request_counts,
      track: "10rem",
      wide: true,
      render: countRequests,
    },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "seconds", track: "7rem", wide: true },
  ],
  facts: [
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: ofBatches.counts, of: ({ request_counts }) => request_counts, render: countRequests },
    { label: ofBatches.endpoint, of: ({ endpoint }) => endpoint, kind: "code" },
    { label: ofBatches.window, of: ({ completion_window }) => completion_window, kind: "word" },
    {
      label: ofBatches.input,
      of: ({ input_file_id }) => input_file_id,
      render: ({ input_file_id: id }) => showFile(id),
    },
    {
      label: ofBatches.outputFile,
      of: ({ output_file_id }) => output_file_id,
      render: ({ output_file_id: id }) => showFile(id),
    },
    {
      label: ofBatches.errorFile,
      of: ({ error_file_id }) => error_file_id,
      render: ({ error_file_id: id }) => showFile(id),
    },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "seconds" },
    { label: ofBatches.completed, of: ({ completed_at }) => completed_at, kind: "seconds" },
    { label: fields.id, of: ({ id }) => id, kind: "id" },
  ],
  read: "/v1/batches/{id}",
  create: {
    rows: ["POST /v1/batches"],
    others: ["provider"],
    made: ({ id }) => id,
    fields: [
      {
        name: "input_file_id",
        label: ofBatches.input,
        kind: "select",
        required: true,
        placeholder: ofFiles.choose,
        options: optionsOf("/v1/files", ({ filename, id }) => ({ value: id, label: filename }), {
          query: { purpose: "batch" },
        }),
      },
      {
        name: "endpoint",
        label: ofBatches.endpoint,
        kind: "select",
        required: true,
        initial: "/v1/chat/completions",
        options: choices("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages"),
      },
      {
        name: "completion_window",
        label: ofBatches.window,
        kind: "select",
        required: true,
        initial: "24h",
        options: choices("24h", "immediate"),
      },
      {
        name: "provider",
        label: fields.provider,
        help: ofBatches.providerHelp,
        kind: "select",
        placeholder: ofBatches.byModel,
        options: optionsOf("/v1/providers", ({ name, slug }) => ({ value: slug, label: name })),
      },
      { name: "model", label: fields.model, help: ofBatches.modelHelp, kind: "text" },
      { name: "gateway_options", label: ofBatches.options, help: ofBatches.optionsHelp, kind: "pairs" },
    ],
    toBody: withProvider,
  },
  actions: [
    {
      label: ofBatches.cancel,
      icon: "stop",
      row: "POST /v1/batches/{id}/cancel",
      done: () => ({ message: ofBatches.cancelled }),
      when: ({ status }) => ["validating", "in_progress"].includes(status),
    },
  ],
  sections: [
    {
      title: ofBatches.output,
      row: "GET /v1/batches/{id}/output",
      isInHead: true,
      load: async () => ({ default: (await import("@/resources/sections/downloads.tsx")).BatchDownload }),
    },
  ],
  isUnfinished: ({ status }) => !["completed", "failed", "cancelled", "expired"].includes(status),
});

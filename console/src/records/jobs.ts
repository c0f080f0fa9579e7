import { createElement, type ReactNode } from "react";
import { Value } from "@/components/value.tsx";
import { formatNumber, formatTime } from "@/lib/format.ts";
import { isRow, type Row, readPath } from "@/lib/read.ts";
import { nameOf } from "@/lib/words.ts";
import { withoutNulls } from "@/resources/data.ts";
import { Labelled } from "@/resources/labelled.tsx";
import { fileAt, WithNames } from "@/resources/names.tsx";
import { choices, descriptionField, numbered } from "@/resources/options.ts";
import type { Field, Resource } from "@/resources/types.ts";
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

/** What an export can hold, in words. */
function exportedOf({ requested_data: requested }: Row): string {
  const members = Array.isArray(requested) ? requested.map(String) : [];
  return members.map((member) => ofExports.members[member] ?? member).join(", ");
}

const filterLabels: Readonly<Record<string, string>> = {
  time_of_generation_min: ofExports.from,
  time_of_generation_max: ofExports.to,
  ai_model: ofExports.models,
  status_code: ofExports.statusCodes,
  api_key_ids: ofExports.apiKeys,
};

/** What an export is limited to, in words. */
function showFilters({ filters }: Row): ReactNode {
  const shown = Object.entries(isRow(filters) ? filters : {}).map(([name, value]) => {
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

const exportFields: readonly Field[] = [
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
    options: { path: "/v1/api-keys", value: "id", label: "name" },
  },
  { ...ofFilters, name: "filters.metadata", label: fields.metadata, kind: "pairs" },
];

const read = (row: Row | undefined): Row => (isRow(row?.filters) ? row.filters : {});

const isDraft = ({ status }: Row): boolean => status === "draft";

/** How many rows an export holds, once it was started. */
const recordsOf = (row: Row): ReactNode =>
  createElement(Value, { value: isDraft(row) ? undefined : row.total_records, kind: "number" });

/** An export by its description, else by when it was made. */
const exportName = ({ description, created_at: created }: Row): string =>
  typeof description === "string" && description !== "" ? description : ofExports.of(formatTime(String(created)));

/** Export jobs: `/v1/logs/exports`. */
export const exportJobs: Resource = {
  name: "exports",
  group: "observe",
  icon: "exports",
  text: { ...ofExports, emptyHint: ofExports.empty },
  workspace: "required",
  list: { path: "/v1/logs/exports", paging: numbered },
  id: "id",
  title: exportName,
  columns: [
    { label: fields.description, path: "description", track: "minmax(10rem, 2fr)", render: exportName },
    { label: text.common.status, path: "status", kind: "status", track: "7rem" },
    { label: ofExports.records, path: "total_records", kind: "number", track: "5rem", render: recordsOf },
    { label: fields.created, path: "created_at", kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.description, path: "description" },
    { label: text.common.status, path: "status", kind: "status" },
    { label: ofExports.filters, path: "filters", render: showFilters, empty: ofExports.everything },
    { label: ofExports.fields, path: "requested_data", render: exportedOf },
    { label: ofExports.records, path: "total_records", kind: "number", when: (row) => !isDraft(row) },
    { label: fields.created, path: "created_at", kind: "time" },
    { label: fields.id, path: "id", kind: "code" },
  ],
  read: "/v1/logs/exports/{id}",
  create: {
    rows: ["POST /v1/logs/exports"],
    fields: exportFields,
    toBody: (body) => ({ filters: {}, ...body }),
  },
  update: {
    rows: ["PUT /v1/logs/exports/{id}"],
    fields: exportFields,
    when: isDraft,
    // the route takes all filters together
    toBody: (body, record) => ({ ...body, filters: withoutNulls({ ...read(record), ...read(body) }) }),
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
      when: ({ status }) => status === "in_progress" || status === "queued",
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
  isUnfinished: ({ status }) => status === "in_progress" || status === "queued",
};

/** How many requests of a batch have ended. */
function countRequests(batch: Row): string {
  const [completed, failed, total] = ["completed", "failed", "total"].map((name) =>
    Number(readPath(batch, `request_counts.${name}`) ?? 0),
  );
  return ofBatches.counted(formatNumber((completed ?? 0) + (failed ?? 0)), formatNumber(total ?? 0), failed ?? 0);
}

/** A batch by when it was made: it has no name. */
const batchName = ({ created_at: created }: Row): string => ofBatches.of(formatTime(Number(created) * 1000));

/** The provider is one of the headers of the calls. */
function withProvider({ provider, ...body }: Row): Row {
  if (typeof provider !== "string") return body;
  const others = isRow(body.gateway_options) ? body.gateway_options : {};
  return { ...body, gateway_options: { "x-gateway-provider": `@${provider}`, ...others } };
}

const byCursor = { after: "after", size: "limit" } as const;

/** Files: `/v1/files`. */
export const files: Resource = {
  name: "files",
  group: "build",
  icon: "files",
  text: { ...ofFiles, emptyHint: ofFiles.empty },
  workspace: "none",
  list: { path: "/v1/files", paging: byCursor },
  id: "id",
  title: "filename",
  columns: [
    { label: fields.name, path: "filename", track: "minmax(10rem, 2fr)" },
    { label: ofFiles.purpose, path: "purpose", kind: "word", track: "8rem", wide: true },
    { label: ofFiles.size, path: "bytes", kind: "bytes", track: "5rem" },
    { label: text.common.status, path: "status", kind: "status", track: "7rem", wide: true },
    { label: fields.created, path: "created_at", kind: "seconds", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.name, path: "filename" },
    { label: text.common.status, path: "status", kind: "status" },
    { label: ofFiles.purpose, path: "purpose", kind: "word" },
    { label: ofFiles.size, path: "bytes", kind: "bytes" },
    { label: fields.created, path: "created_at", kind: "seconds" },
    { label: fields.id, path: "id", kind: "code" },
  ],
  read: "/v1/files/{id}",
  create: {
    rows: ["POST /v1/files"],
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
};

/** Batches: `/v1/batches`. */
export const batches: Resource = {
  name: "batches",
  group: "build",
  icon: "batches",
  text: { ...ofBatches, emptyHint: ofBatches.empty },
  workspace: "none",
  list: { path: "/v1/batches", paging: byCursor },
  id: "id",
  title: batchName,
  columns: [
    { label: ofBatches.one, path: "created_at", track: "minmax(10rem, 2fr)", render: batchName },
    { label: ofBatches.endpoint, path: "endpoint", kind: "code", wide: true, track: "minmax(12rem, 1fr)" },
    { label: text.common.status, path: "status", kind: "status", track: "7rem" },
    { label: ofBatches.counts, path: "request_counts", track: "10rem", wide: true, render: countRequests },
    { label: fields.created, path: "created_at", kind: "seconds", track: "7rem", wide: true },
  ],
  facts: [
    { label: text.common.status, path: "status", kind: "status" },
    { label: ofBatches.counts, path: "request_counts", render: countRequests },
    { label: ofBatches.endpoint, path: "endpoint", kind: "code" },
    { label: ofBatches.window, path: "completion_window", kind: "word" },
    { label: ofBatches.input, path: "input_file_id", render: fileAt("input_file_id") },
    { label: ofBatches.outputFile, path: "output_file_id", render: fileAt("output_file_id") },
    { label: ofBatches.errorFile, path: "error_file_id", render: fileAt("error_file_id") },
    { label: fields.created, path: "created_at", kind: "seconds" },
    { label: ofBatches.completed, path: "completed_at", kind: "seconds" },
    { label: fields.id, path: "id", kind: "code" },
  ],
  read: "/v1/batches/{id}",
  create: {
    rows: ["POST /v1/batches"],
    fields: [
      {
        name: "input_file_id",
        label: ofBatches.input,
        kind: "select",
        required: true,
        placeholder: ofFiles.choose,
        options: { path: "/v1/files", query: { purpose: "batch" }, value: "id", label: "filename" },
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
        options: { path: "/v1/providers", value: "slug", label: "name" },
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
      when: ({ status }) => ["validating", "in_progress"].includes(String(status)),
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
  isUnfinished: ({ status }) => !["completed", "failed", "cancelled", "expired"].includes(String(status)),
};

import type { AnswerOf } from "@/api/client.ts";
import { formatDollars } from "@/lib/format.ts";
import { isJsonObject } from "@/lib/json.ts";
import { action, defineResource, optionsOf } from "@/resources/define.ts";
import { changedFact, descriptionField, nameField, numbered, toOptions } from "@/resources/options.ts";
import type { Field, RowIn, Values } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const fields = text.resources.fields;
const ofSets = text.resources.exampleSets;
const ofRuns = text.resources.evalRuns;

const isFrom =
  (source: string) =>
  ({ source: chosen }: Values): boolean =>
    chosen === source;

const retentionField = {
  name: "retention_days",
  label: ofSets.retention,
  help: ofSets.retentionHelp,
  kind: "number",
} as const satisfies Field;

/** A new set: its examples are a list, or requests of the log. */
function toSetBody({ source, ...body }: Values): Values {
  const { logs, ...others } = body;
  if (source !== "logs") return others;
  return { ...others, logs: { filter: {}, ...(isJsonObject(logs) && logs) } };
}

/** Sets of examples: `/v1/example-sets`. */
export const exampleSets = defineResource({
  name: "example-sets",
  text: { ...ofSets, emptyHint: ofSets.empty },
  workspace: "required",
  list: { path: "/v1/example-sets", paging: numbered },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id", track: "minmax(9rem, 1fr)", wide: true },
    { label: ofSets.examples, of: ({ examples }) => examples, kind: "number", track: "6rem" },
    { label: ofSets.version, of: ({ version }) => version, kind: "number", track: "6rem", wide: true },
    { label: text.common.changed, of: (row) => row.last_updated_at, kind: "ago", track: "8rem", wide: true },
  ],
  facts: [
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    { label: fields.description, of: ({ description }) => description, empty: fields.none },
    { label: ofSets.version, of: ({ version }) => version, kind: "number" },
    { label: ofSets.examples, of: ({ examples }) => examples, kind: "number" },
    { label: ofSets.retention, of: (row) => row.retention_days, kind: "number", empty: fields.never },
    { label: fields.created, of: (row) => row.created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/example-sets/{id}",
  create: {
    rows: ["POST /v1/example-sets"],
    made: ({ id }) => id,
    others: ["source"],
    fields: [
      nameField,
      descriptionField,
      {
        name: "source",
        label: ofSets.source,
        kind: "select",
        required: true,
        initial: "logs",
        options: toOptions(ofSets.sources),
      },
      { name: "logs.filter", label: ofSets.filter, help: ofSets.filterHelp, kind: "pairs", when: isFrom("logs") },
      { name: "logs.limit", label: ofSets.limit, kind: "number", initial: 100, when: isFrom("logs") },
      {
        name: "logs.expected",
        label: ofSets.expected,
        kind: "select",
        initial: "response",
        options: toOptions(ofSets.expectations),
        when: isFrom("logs"),
      },
      { name: "examples", label: ofSets.json, help: ofSets.jsonHelp, kind: "json", when: isFrom("examples") },
      retentionField,
    ],
    toBody: toSetBody,
  },
  update: { rows: ["PUT /v1/example-sets/{id}"], fields: [nameField, descriptionField, retentionField] },
  remove: { row: "DELETE /v1/example-sets/{id}" },
  sections: [
    {
      title: ofSets.examples,
      row: "GET /v1/example-sets/{id}/examples",
      load: () => import("@/resources/sections/examples.tsx"),
    },
    {
      title: ofSets.versions,
      row: "GET /v1/example-sets/{id}/versions",
      load: () => import("@/resources/sections/example-versions.tsx"),
    },
  ],
});

/** Member of a check that the value of a line is. */
const valueMembers: Readonly<Record<string, string>> = {
  contains: "value",
  guardrail: "guardrail",
  json_schema: "schema",
  judge: "criteria",
};

/** A check of a line: what its value is depends on the type. */
function toCheck({ type, value, model }: Values): Values {
  const member = valueMembers[String(type)];
  const content = type === "json_schema" ? JSON.parse(String(value)) : value;
  return {
    type,
    ...(member !== undefined && value !== undefined && value !== "" && { [member]: content }),
    ...(type === "judge" && { model }),
  };
}

type Run = RowIn<AnswerOf<"GET /v1/eval-runs">>;

/** What a run is known by: its name, else its variants. */
const nameOfRun = ({ name, variants }: Pick<Run, "name" | "variants">): string =>
  name ?? variants.map((variant) => variant.name).join(" · ");

const progressOf = ({ done, total, failed }: Pick<Run, "done" | "total" | "failed">): string =>
  ofRuns.progressOf({ done, total, failed });

const runFields = [
  {
    name: "example_set",
    label: ofRuns.set,
    kind: "select",
    required: true,
    options: optionsOf("/v1/example-sets", ({ id, name }) => ({ value: id, label: name }), {
      query: { current_page: 0, page_size: 500 },
    }),
  },
  { name: "version", label: ofRuns.version, help: ofRuns.versionHelp, kind: "number" },
  {
    name: "variants",
    label: ofRuns.variants,
    help: ofRuns.variantsHelp,
    kind: "rows",
    required: true,
    most: 5,
    add: ofRuns.addVariant,
    columns: [
      { name: "model", label: ofRuns.model, kind: "text", placeholder: "@openai/gpt-4.1-mini" },
      {
        name: "config",
        label: ofRuns.config,
        kind: "select",
        options: optionsOf("/v1/configs", ({ name, slug }) => ({ value: slug, label: name })),
      },
      { name: "prompt", label: ofRuns.prompt, kind: "text", placeholder: "slug@3" },
      { name: "name", label: fields.name, kind: "text" },
    ],
  },
  {
    name: "checks",
    label: ofRuns.checks,
    help: ofRuns.checksHelp,
    kind: "rows",
    most: 10,
    add: ofRuns.addCheck,
    columns: [
      {
        name: "type",
        label: fields.type,
        kind: "select",
        required: true,
        initial: "contains",
        options: toOptions(ofRuns.checkTypes),
      },
      {
        name: "value",
        label: ofRuns.value,
        kind: "text",
        when: ({ type }) => type !== "exact",
        ofLine: ({ type }) => ({ placeholder: ofRuns.checkValues[String(type)] ?? "" }),
      },
      { name: "model", label: ofRuns.judgeModel, kind: "text", when: ({ type }) => type === "judge" },
    ],
    fromLine: toCheck,
  },
  { name: "budget_usd", label: ofRuns.budget, kind: "number", required: true, initial: 1 },
  { name: "concurrency", label: ofRuns.concurrency, kind: "number", initial: 4 },
  {
    name: "winner_by",
    label: ofRuns.winnerBy,
    kind: "select",
    initial: "pass_rate",
    options: toOptions(ofRuns.winnerRules),
  },
  { name: "min_pass_rate", label: ofRuns.minPassRate, kind: "number" },
  { name: "name", label: fields.name, kind: "text" },
] as const satisfies readonly Field[];

/** Runs of example sets: `/v1/eval-runs`. */
export const evalRuns = defineResource({
  name: "eval-runs",
  text: { ...ofRuns, emptyHint: ofRuns.empty },
  workspace: "required",
  list: { path: "/v1/eval-runs", paging: numbered },
  id: ({ id }) => id,
  title: nameOfRun,
  isUnfinished: ({ status }) => status === "running",
  columns: [
    { label: fields.name, of: nameOfRun, track: "minmax(10rem, 2fr)" },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "7rem" },
    { label: ofRuns.progress, of: progressOf, track: "minmax(8rem, 1fr)" },
    {
      label: ofRuns.cost,
      of: ({ cost }) => (cost === null ? null : cost / 100),
      kind: "dollars",
      track: "7rem",
      wide: true,
    },
    { label: fields.created, of: (row) => row.created_at, kind: "ago", track: "8rem", wide: true },
  ],
  facts: [
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: ofRuns.progress, of: progressOf },
    { label: ofRuns.winner, of: ({ winner }) => winner, empty: fields.none },
    { label: ofRuns.winnerBy, of: (row) => ofRuns.winnerRules[row.winner_by] },
    { label: ofRuns.cost, of: ({ cost }) => (cost === null ? null : cost / 100), kind: "dollars" },
    { label: ofRuns.budget, of: (row) => formatDollars(row.budget_usd) },
    { label: ofRuns.set, of: (row) => row.set_id, kind: "id" },
    { label: ofRuns.version, of: ({ version }) => version, kind: "number" },
    { label: ofRuns.checks, of: ({ checks }) => checks, kind: "json", empty: fields.none },
    { label: ofRuns.failure, of: ({ failure }) => failure, when: ({ failure }) => failure !== null },
    { label: ofRuns.promoted, of: ({ promoted }) => promoted, empty: fields.none },
    { label: fields.created, of: (row) => row.created_at, kind: "time" },
  ],
  read: "/v1/eval-runs/{id}",
  create: { rows: ["POST /v1/eval-runs"], made: ({ id }) => id, fields: runFields },
  remove: { row: "DELETE /v1/eval-runs/{id}" },
  actions: [
    action({
      label: ofRuns.cancel,
      icon: "stop",
      row: "POST /v1/eval-runs/{id}/cancel",
      done: () => ({ message: ofRuns.cancelled }),
      when: ({ status }: AnswerOf<"GET /v1/eval-runs/{id}">) => status === "running",
    }),
  ],
  sections: [
    {
      title: ofRuns.totals,
      row: "GET /v1/eval-runs/{id}",
      load: () => import("@/resources/sections/eval-totals.tsx"),
    },
    {
      title: ofRuns.results,
      row: "GET /v1/eval-runs/{id}/results",
      load: () => import("@/resources/sections/eval-results.tsx"),
    },
    {
      title: ofRuns.promote,
      row: "POST /v1/eval-runs/{id}/promote",
      when: ({ status }) => status !== "running",
      load: () => import("@/resources/sections/eval-promote.tsx"),
    },
  ],
});

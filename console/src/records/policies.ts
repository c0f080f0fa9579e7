import type { Attribute } from "@/components/attribute.ts";
import { formatDollars, formatNumber } from "@/lib/format.ts";
import { isRow, type Row, readPath, readText } from "@/lib/read.ts";
import { nameOf, wordOf } from "@/lib/words.ts";
import { conditionsOf } from "@/resources/names.tsx";
import { changedFact, choices, descriptionField, numbered, targetField } from "@/resources/options.ts";
import type { Field, Resource } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const fields = text.resources.fields;
const ofUsage = text.resources.usageLimits;
const ofRates = text.resources.rateLimits;

const status = { name: "status", label: text.common.status, options: choices("active", "archived") };
const nameField: Field = { name: "name", label: fields.name, kind: "text" };

/** What usage limits and rate limits can look at (docs/policies.md). */
const usageKeys = [
  "api_key",
  "model",
  "provider",
  "virtual_key",
  "workspace_id",
  "organisation_id",
  "config",
  "prompt",
];
const rateKeys = [...usageKeys, "endpoint_type", "user_id", "mcp_server", "mcp_tool"];
const metadata = "metadata";
const metadataPrefix = "metadata.";

/** A condition or group in a line of inputs: the name of a member of the metadata has an input of its own. */
function toLine(member: unknown): Row {
  const row = isRow(member) ? member : { key: member };
  const key = readText(row, "key");
  if (!key.startsWith(metadataPrefix)) return row;
  return { ...row, key: metadata, name: key.slice(metadataPrefix.length) };
}

function fromLine({ name, ...line }: Row): Row {
  return line.key === metadata ? { ...line, key: `${metadataPrefix}${String(name ?? "")}` } : line;
}

const keyColumns = (keys: readonly string[], initial: string): readonly Field[] => [
  {
    name: "key",
    label: fields.condition,
    kind: "select",
    required: true,
    initial,
    options: [...keys, metadata].map((value) => ({ value, label: nameOf(value) })),
  },
  {
    name: "name",
    label: fields.metadataName,
    kind: "text",
    required: true,
    when: ({ key }) => key === metadata,
  },
];

const conditionsFor = (keys: readonly string[]): Field => ({
  name: "conditions",
  label: fields.conditions,
  help: fields.conditionsHelp,
  kind: "rows",
  required: true,
  add: fields.addCondition,
  initial: [{ key: "model" }],
  columns: [
    ...keyColumns(keys, "model"),
    { name: "value", label: fields.isOneOf, kind: "tags", required: true, placeholder: fields.everyValue },
    { name: "excludes", label: fields.exceptFor, kind: "tags" },
  ],
  toLine,
  fromLine,
});

const groupByFor = (keys: readonly string[]): Field => ({
  name: "group_by",
  label: fields.groupBy,
  help: fields.groupByHelp,
  kind: "rows",
  required: true,
  add: fields.addGroup,
  initial: [{ key: "api_key" }],
  columns: keyColumns(keys, "api_key"),
  toLine,
  fromLine,
});

const resets: Field = {
  name: "periodic_reset",
  label: fields.resets,
  kind: "select",
  placeholder: fields.never,
  options: choices("weekly", "monthly"),
};

/** A limit as its type counts it: dollars, or a number of tokens or requests. */
const inUnits =
  (path: string) =>
  (row: Row): string => {
    const value = Number(readPath(row, path));
    return row.type === "cost" ? formatDollars(value) : formatNumber(value);
  };
const credit = inUnits("credit_limit");
const alertAt = inUnits("alert_threshold");

/** A rate limit as `6,000 requests / minute`. */
const rateOf = ({ value, type, unit }: Row): string =>
  ofRates.rate(formatNumber(Number(value)), wordOf(String(type)).toLowerCase(), ofRates.periods[String(unit)] ?? "");

/** What a limit counts by. */
function groupsOf({ group_by: groups }: Row): string {
  return (Array.isArray(groups) ? groups : [])
    .map((group) => nameOf(readText(group, "key") || String(group)))
    .join(", ");
}

const sharedColumns: readonly Attribute[] = [
  { label: fields.conditions, path: "conditions", wide: true, track: "minmax(12rem, 2fr)", render: conditionsOf },
  { label: text.common.status, path: "status", kind: "status", track: "6rem", narrowTrack: "5rem" },
];

/** Budgets: `/v1/policies/usage-limits`. */
export const usageLimits: Resource = {
  name: "usage-limits",
  group: "govern",
  icon: "policies",
  text: { ...ofUsage, emptyHint: ofUsage.empty },
  workspace: "required",
  list: { path: "/v1/policies/usage-limits", paging: numbered, filters: [status] },
  id: "id",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 2fr)" },
    { label: fields.type, path: "type", kind: "word", track: "6rem", wide: true },
    { label: ofUsage.credit, path: "credit_limit", kind: "number", track: "8rem", narrowTrack: "6rem", render: credit },
    { label: fields.resets, path: "periodic_reset", kind: "word", track: "7rem", wide: true, empty: fields.never },
    ...sharedColumns,
  ],
  facts: [
    { label: fields.name, path: "name" },
    { label: text.common.status, path: "status", kind: "status" },
    { label: fields.description, path: "description" },
    { label: fields.type, path: "type", kind: "word" },
    { label: ofUsage.credit, path: "credit_limit", render: credit },
    { label: ofUsage.alert, path: "alert_threshold", render: alertAt },
    { label: fields.resets, path: "periodic_reset", kind: "word", empty: fields.never },
    { label: ofUsage.nextReset, path: "next_usage_reset_at", kind: "time" },
    { label: fields.conditions, path: "conditions", render: conditionsOf },
    { label: fields.groupBy, path: "group_by", render: groupsOf },
    { label: fields.created, path: "created_at", kind: "time" },
    changedFact,
  ],
  read: "/v1/policies/usage-limits/{id}",
  create: {
    rows: ["POST /v1/policies/usage-limits"],
    fields: [
      nameField,
      descriptionField,
      {
        name: "type",
        label: fields.type,
        kind: "select",
        required: true,
        initial: "cost",
        options: choices("cost", "tokens", "requests"),
      },
      { name: "credit_limit", label: ofUsage.credit, help: ofUsage.creditHelp, kind: "number", required: true },
      { name: "alert_threshold", label: ofUsage.alert, help: ofUsage.alertHelp, kind: "number" },
      resets,
      conditionsFor(usageKeys),
      groupByFor(usageKeys),
    ],
  },
  update: {
    rows: ["PUT /v1/policies/usage-limits/{id}"],
    fields: [
      nameField,
      descriptionField,
      { name: "credit_limit", label: ofUsage.credit, help: ofUsage.creditHelp, kind: "number" },
      { name: "alert_threshold", label: ofUsage.alert, help: ofUsage.alertHelp, kind: "number" },
      resets,
      conditionsFor(usageKeys),
      {
        name: "status",
        label: text.common.status,
        kind: "select",
        required: true,
        options: choices("active", "archived"),
      },
    ],
  },
  remove: { row: "DELETE /v1/policies/usage-limits/{id}" },
  sections: [
    {
      title: ofUsage.entities,
      row: "GET /v1/policies/usage-limits/{id}/entities",
      load: () => import("@/resources/sections/entities.tsx"),
    },
  ],
};

/** Limits of requests and tokens in time: `/v1/policies/rate-limits`. */
export const rateLimits: Resource = {
  name: "rate-limits",
  group: "govern",
  icon: "clock",
  text: { ...ofRates, emptyHint: ofRates.empty },
  workspace: "required",
  list: { path: "/v1/policies/rate-limits", paging: numbered, filters: [status] },
  id: "id",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 2fr)" },
    { label: fields.limit, path: "value", track: "14rem", narrowTrack: "10rem", render: rateOf },
    { label: fields.target, path: "target", kind: "word", track: "7rem", wide: true },
    ...sharedColumns,
  ],
  facts: [
    { label: fields.name, path: "name" },
    { label: text.common.status, path: "status", kind: "status" },
    { label: fields.description, path: "description" },
    { label: fields.limit, path: "value", render: rateOf },
    { label: fields.target, path: "target", kind: "word" },
    { label: fields.conditions, path: "conditions", render: conditionsOf },
    { label: fields.groupBy, path: "group_by", render: groupsOf },
    { label: fields.created, path: "created_at", kind: "time" },
    changedFact,
  ],
  read: "/v1/policies/rate-limits/{id}",
  create: {
    rows: ["POST /v1/policies/rate-limits"],
    fields: [
      nameField,
      descriptionField,
      {
        name: "type",
        label: fields.type,
        kind: "select",
        required: true,
        initial: "requests",
        options: choices("requests", "tokens"),
      },
      { name: "value", label: fields.limit, kind: "number", required: true },
      {
        name: "unit",
        label: fields.unit,
        kind: "select",
        required: true,
        initial: "rpm",
        options: choices("rpm", "rph", "rpd", "rpw"),
      },
      targetField,
      conditionsFor(rateKeys),
      groupByFor(rateKeys),
    ],
  },
  update: {
    rows: ["PUT /v1/policies/rate-limits/{id}"],
    fields: [
      nameField,
      descriptionField,
      { name: "value", label: fields.limit, kind: "number" },
      {
        name: "unit",
        label: fields.unit,
        kind: "select",
        required: true,
        options: choices("rpm", "rph", "rpd", "rpw"),
      },
      conditionsFor(rateKeys),
      {
        name: "status",
        label: text.common.status,
        kind: "select",
        required: true,
        options: choices("active", "archived"),
      },
    ],
  },
  remove: { row: "DELETE /v1/policies/rate-limits/{id}" },
};

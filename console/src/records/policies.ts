import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { formatDollars, formatNumber } from "@/lib/format.ts";
import { isJsonObject } from "@/lib/json.ts";
import { nameOf, wordOf } from "@/lib/words.ts";
import { defineResource } from "@/resources/define.ts";
import { conditionsOf } from "@/resources/names.tsx";
import { changedFact, choices, descriptionField, numbered, queueField, targetField } from "@/resources/options.ts";
import type { Field, RowIn, Values } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

type UsageLimit = RowIn<AnswerOf<"GET /v1/policies/usage-limits">>;
type RateLimit = RowIn<AnswerOf<"GET /v1/policies/rate-limits">>;
type LabelPolicy = RowIn<AnswerOf<"GET /v1/policies/labels">>;

const fields = text.resources.fields;
const ofUsage = text.resources.usageLimits;
const ofRates = text.resources.rateLimits;
const ofLabels = text.resources.labelPolicies;

const status = { name: "status", label: text.common.status, options: choices("active", "archived") };
const nameField: Field<"name"> = { name: "name", label: fields.name, kind: "text" };

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
const labelKeys = ["organisation_id", "workspace_id", "api_key", "endpoint_type"];
const rateKeys = [...usageKeys, "endpoint_type", "user_id", "mcp_server", "mcp_tool"];
const metadata = "metadata";
const metadataPrefix = "metadata.";

/** A condition or group in a line of inputs: the name of a member of the metadata has an input of its own. */
function toLine(member: unknown): Values {
  const row = isJsonObject(member) ? member : { key: member };
  const key = String(row.key);
  if (!key.startsWith(metadataPrefix)) return row;
  return { ...row, key: metadata, name: key.slice(metadataPrefix.length) };
}

function fromLine({ name, ...line }: Values): Values {
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

const conditionsFor = (keys: readonly string[]): Field<"conditions"> => ({
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

const groupByFor = (keys: readonly string[]): Field<"group_by"> => ({
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

const resets: Field<"periodic_reset"> = {
  name: "periodic_reset",
  label: fields.resets,
  kind: "select",
  placeholder: fields.never,
  options: choices("weekly", "monthly"),
};

/** A limit as its type counts it: dollars, or a number of tokens or requests. */
const inUnits = (type: UsageLimit["type"], value: number): string =>
  type === "cost" ? formatDollars(value) : formatNumber(value);
const credit = ({ type, credit_limit: limit }: UsageLimit): string => inUnits(type, limit);
const alertAt = ({ type, alert_threshold: threshold }: UsageLimit): string => inUnits(type, threshold ?? 0);

/** A rate limit as `6,000 requests / minute`. */
const rateOf = ({ value, type, unit }: RateLimit): string =>
  ofRates.rate({ value: formatNumber(value), what: wordOf(type).toLowerCase(), period: ofRates.periods[unit] ?? "" });

/** What a limit counts by. */
const groupsOf = ({ group_by: groups }: UsageLimit | RateLimit): string =>
  groups.map(({ key }) => nameOf(key)).join(", ");

const sharedColumns: readonly Attribute<UsageLimit | RateLimit | LabelPolicy>[] = [
  {
    label: fields.conditions,
    of: ({ conditions }) => conditions,
    wide: true,
    track: "minmax(12rem, 2fr)",
    render: conditionsOf,
  },
  { label: text.common.status, of: ({ status }) => status, kind: "status", track: "6rem", narrowTrack: "5rem" },
];

/** Budgets: `/v1/policies/usage-limits`. */
export const usageLimits = defineResource({
  name: "usage-limits",
  text: { ...ofUsage, emptyHint: ofUsage.empty },
  workspace: "required",
  list: { path: "/v1/policies/usage-limits", paging: numbered, filters: [status] },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: fields.type, of: ({ type }) => type, kind: "word", track: "6rem", wide: true },
    {
      label: ofUsage.credit,
      of: ({ credit_limit }) => credit_limit,
      kind: "number",
      track: "8rem",
      narrowTrack: "6rem",
      render: credit,
    },
    {
      label: fields.resets,
      of: ({ periodic_reset }) => periodic_reset,
      kind: "word",
      track: "7rem",
      wide: true,
      empty: fields.never,
    },
    ...sharedColumns,
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: fields.description, of: ({ description }) => description },
    { label: fields.type, of: ({ type }) => type, kind: "word" },
    { label: ofUsage.credit, of: ({ credit_limit }) => credit_limit, render: credit },
    { label: ofUsage.alert, of: ({ alert_threshold }) => alert_threshold, render: alertAt },
    { label: fields.resets, of: ({ periodic_reset }) => periodic_reset, kind: "word", empty: fields.never },
    { label: ofUsage.nextReset, of: ({ next_usage_reset_at }) => next_usage_reset_at, kind: "time" },
    { label: fields.conditions, of: ({ conditions }) => conditions, render: conditionsOf },
    { label: fields.groupBy, of: ({ group_by }) => group_by, render: groupsOf },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/policies/usage-limits/{id}",
  create: {
    rows: ["POST /v1/policies/usage-limits"],
    made: ({ id }) => id,
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
});

/** Limits of requests and tokens in time: `/v1/policies/rate-limits`. */
export const rateLimits = defineResource({
  name: "rate-limits",
  text: { ...ofRates, emptyHint: ofRates.empty },
  workspace: "required",
  list: { path: "/v1/policies/rate-limits", paging: numbered, filters: [status] },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: fields.limit, of: ({ value }) => value, track: "14rem", narrowTrack: "10rem", render: rateOf },
    { label: fields.target, of: ({ target }) => target, kind: "word", track: "7rem", wide: true },
    ...sharedColumns,
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: fields.description, of: ({ description }) => description },
    { label: fields.limit, of: ({ value }) => value, render: rateOf },
    { label: fields.target, of: ({ target }) => target, kind: "word" },
    { label: fields.queue, of: ({ queue }) => queue, kind: "settings", empty: fields.none },
    { label: fields.conditions, of: ({ conditions }) => conditions, render: conditionsOf },
    { label: fields.groupBy, of: ({ group_by }) => group_by, render: groupsOf },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/policies/rate-limits/{id}",
  create: {
    rows: ["POST /v1/policies/rate-limits"],
    made: ({ id }) => id,
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
      queueField,
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
      queueField,
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
});

const labelRules: Field<"require_labels"> = {
  name: "require_labels",
  label: ofLabels.required,
  help: ofLabels.requiredHelp,
  kind: "json",
  required: true,
};

/** Restrictions to targets with some labels: `/v1/policies/labels`. */
export const labelPolicies = defineResource({
  name: "label-policies",
  text: { ...ofLabels, emptyHint: ofLabels.empty },
  workspace: "required",
  list: { path: "/v1/policies/labels", paging: numbered, filters: [status] },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    {
      label: ofLabels.required,
      of: ({ require_labels: rules }) => JSON.stringify(rules),
      kind: "code",
      track: "minmax(12rem, 2fr)",
    },
    ...sharedColumns,
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: fields.description, of: ({ description }) => description },
    { label: ofLabels.required, of: ({ require_labels: rules }) => rules, kind: "json" },
    { label: fields.conditions, of: ({ conditions }) => conditions, render: conditionsOf },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/policies/labels/{id}",
  create: {
    rows: ["POST /v1/policies/labels"],
    made: ({ id }) => id,
    fields: [
      nameField,
      descriptionField,
      labelRules,
      { ...conditionsFor(labelKeys), initial: [{ key: "organisation_id" }] },
    ],
  },
  update: {
    rows: ["PUT /v1/policies/labels/{id}"],
    fields: [
      nameField,
      descriptionField,
      labelRules,
      conditionsFor(labelKeys),
      {
        name: "status",
        label: text.common.status,
        kind: "select",
        required: true,
        options: choices("active", "archived"),
      },
    ],
  },
  remove: { row: "DELETE /v1/policies/labels/{id}" },
});

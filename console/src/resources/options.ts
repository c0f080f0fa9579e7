import { access } from "@/api/access.gen.ts";
import type { Attribute } from "@/components/attribute.ts";
import { isJsonObject } from "@/lib/json.ts";
import { wordOf } from "@/lib/words.ts";
import { text } from "@/text/text.ts";
import { optionsOf } from "./define.ts";
import type { Condition, Field, Option, Values } from "./types.ts";

const words = text.resources.fields;

/** Choices by the words for their values. */
export const choices = (...values: readonly string[]): readonly Option[] =>
  values.map((value) => ({ value, label: wordOf(value) }));

/** Choices with words of their own. */
export const toOptions = (labels: Readonly<Record<string, string>>): readonly Option[] =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

/** Every scope that some row asks for. */
export const allScopes = choices(...[...new Set(Object.values(access).flatMap(({ scopes }) => scopes))].sort());

/** Paging by number, as most lists of the control plane page. */
export const numbered = { page: "current_page", size: "page_size", first: 0 } as const;

/** When a record was changed; left out of one that never was. */
export const changedFact: Attribute<{ readonly created_at: string | null; readonly last_updated_at: string | null }> = {
  label: text.common.changed,
  of: ({ last_updated_at: changed }) => changed,
  kind: "time",
  when: ({ created_at: created, last_updated_at: changed }) => changed !== null && changed !== created,
};

/** Records of the organisation are changed by those who act for it. */
export const isOwn: Condition<{ readonly workspace_id: string | null }> = ({ workspace_id }, viewer) =>
  viewer.workspace_id === null || workspace_id !== null;

/** Roles in a workspace. */
export const workspaceRoles = choices("admin", "manager", "member");

export const nameField: Field<"name"> = { name: "name", label: words.name, kind: "text", required: true };
export const slugField: Field<"slug"> = { name: "slug", label: words.slug, kind: "text", help: words.slugHelp };
export const targetField: Field<"target"> = {
  name: "target",
  label: words.target,
  kind: "select",
  required: true,
  initial: "llm",
  options: choices("llm", "mcp_tools"),
};
export const descriptionField: Field<"description"> = { name: "description", label: words.description, kind: "long" };
const countedBy = choices("requests", "tokens");
const periods = choices("rpm", "rph", "rpd", "rpw");

/** Bounds of a queue. */
const queueColumns = (required: boolean): readonly Field[] => [
  { name: "max_waiting", label: words.maxWaiting, kind: "number", required },
  { name: "max_wait_ms", label: words.maxWait, kind: "number", required },
];

/** Requests or tokens in a time, one line for each limit. */
export const rateLimitsField: Field<"rate_limits"> = {
  name: "rate_limits",
  label: words.rateLimits,
  kind: "rows",
  add: words.addRateLimit,
  columns: [
    { name: "value", label: words.limit, kind: "number", required: true },
    { name: "type", label: words.type, kind: "select", required: true, initial: "requests", options: countedBy },
    { name: "unit", label: words.unit, kind: "select", required: true, initial: "rpm", options: periods },
    ...queueColumns(false),
  ],
  toLine: (limit) => {
    const { queue, ...line } = isJsonObject(limit) ? limit : {};
    return { ...line, ...(isJsonObject(queue) && queue) };
  },
  fromLine: ({ max_waiting, max_wait_ms, ...line }: Values) =>
    max_waiting === undefined && max_wait_ms === undefined ? line : { ...line, queue: { max_waiting, max_wait_ms } },
};
/** How requests wait for room in the rate limit of a policy. */
export const queueField: Field<"queue"> = {
  name: "queue",
  label: words.queue,
  help: words.queueHelp,
  kind: "rows",
  most: 1,
  add: words.addQueue,
  columns: queueColumns(true),
  toMember: (lines) => {
    const [line]: unknown[] = Array.isArray(lines) ? lines : [];
    if (!isJsonObject(line)) return undefined;
    return { max_waiting: Number(line.max_waiting), max_wait_ms: Number(line.max_wait_ms) };
  },
};
/** Highest class of the requests of a key. */
export const priorityField: Field<"priority"> = {
  name: "priority",
  label: words.priority,
  help: words.priorityHelp,
  kind: "select",
  placeholder: text.values.normal,
  options: choices("high", "normal", "low"),
};
/** The one rate limit of a provider or workspace. */
export const oneRateLimitField: Field<"rate_limits"> = { ...rateLimitsField, most: 1 };
/** The one budget of a provider or workspace. */
export const usageLimitsField: Field<"usage_limits"> = {
  name: "usage_limits",
  label: words.usageLimits,
  kind: "rows",
  most: 1,
  add: words.addUsageLimit,
  columns: [
    {
      name: "type",
      label: words.type,
      kind: "select",
      required: true,
      initial: "cost",
      options: choices("cost", "tokens"),
    },
    { name: "credit_limit", label: words.budget, kind: "number", required: true },
    { name: "alert_threshold", label: words.alertAt, kind: "number" },
    {
      name: "periodic_reset",
      label: words.resets,
      kind: "select",
      placeholder: words.never,
      options: choices("weekly", "monthly"),
    },
  ],
};
/** Members of a record whose values come from secret references. */
export const secretMappingsField: Field<"secret_mappings"> = {
  name: "secret_mappings",
  label: words.secretMappings,
  help: words.secretMappingsHelp,
  kind: "rows",
  add: words.addSecretMapping,
  columns: [
    { name: "target_field", label: words.targetField, kind: "text", required: true, placeholder: "key" },
    {
      name: "secret_reference_id",
      label: words.secretReference,
      kind: "select",
      required: true,
      placeholder: words.chooseSecret,
      options: optionsOf("/v1/secret-references", ({ name, slug }) => ({ value: slug, label: name })),
    },
  ],
};

/** The inputs of an object of strings. */
export const pairColumns = (isSecret: boolean): readonly Field[] => [
  { name: "name", label: words.name, kind: "text" },
  { name: "value", label: words.value, kind: isSecret ? "secret" : "text" },
];

/** Workspaces by name, for fields and filters. */
export const workspaceSource = optionsOf("/v1/admin/workspaces", ({ id, name }) => ({ value: id, label: name }));

import { formatDollars, formatNumber } from "@/lib/format.ts";
import { isRow, type Row, readText } from "@/lib/read.ts";
import { wordOf } from "@/lib/words.ts";
import { userAt, workspaceAt } from "@/resources/names.tsx";
import { allScopes, choices, rateLimitsField } from "@/resources/options.ts";
import { scopesOf } from "@/resources/scopes.tsx";
import type { Field, Resource } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const words = text.resources.keys;

const fields = text.resources.fields;

const kinds = Object.entries(words.kinds).map(([value, label]) => ({
  value,
  label,
  row: `POST /v1/api-keys/${value}`,
}));

/** A budget as the API takes it; without an amount there is none. */
function toBudget(value: unknown): unknown {
  if (!isRow(value) || typeof value.credit_limit !== "number") return undefined;
  return { ...value, type: value.type ?? "cost" };
}

/** Budgets in words: `$1.20 of $50.00, resets monthly`. */
function budgetOf({ usage_limits: limits }: Row): string {
  return [limits]
    .flat()
    .filter(isRow)
    .map((limit) => {
      const show = limit.type === "tokens" ? formatNumber : formatDollars;
      const used = show(Number(limit.current_usage ?? 0));
      const resets = readText(limit, "periodic_reset");
      return words.budget(
        `${used} ${words.of} ${show(Number(limit.credit_limit))}`,
        limit.type === "tokens",
        resets === "" ? "" : wordOf(resets).toLowerCase(),
      );
    })
    .join("; ");
}

const shared: readonly Field[] = [
  { name: "name", label: words.name, kind: "text", required: true },
  { name: "description", label: words.description, kind: "long" },
  {
    name: "scopes",
    label: words.scopes,
    help: words.scopesHelp,
    kind: "multi",
    options: allScopes,
    required: true,
    placeholder: fields.noScopes,
  },
  { name: "expires_at", label: words.expires, help: words.expiresHelp, kind: "time" },
  {
    name: "usage_limits",
    label: words.creditLimit,
    help: words.creditLimitHelp,
    placeholder: fields.noLimit,
    kind: "own",
    input: async () => ({ default: (await import("@/resources/budget-input.tsx")).BudgetInput }),
    isMerged: true,
    read: (stored) => [stored].flat()[0],
    toMember: toBudget,
  },
  rateLimitsField,
  {
    name: "defaults.config_id",
    label: words.config,
    kind: "select",
    placeholder: words.noConfig,
    options: { path: "/v1/configs", value: "slug", label: "name" },
  },
  { name: "defaults.metadata", label: words.metadata, help: words.metadataHelp, kind: "pairs" },
  { name: "alert_emails", label: words.alertEmails, kind: "tags" },
];

/** API keys: `/v1/api-keys`. */
export const keys: Resource = {
  name: "api-keys",
  group: "govern",
  icon: "keys",
  text: { ...words, emptyHint: words.empty },
  workspace: "optional",
  list: {
    path: "/v1/api-keys",
    paging: { page: "current_page", size: "page_size", first: 0 },
    filters: [
      {
        name: "status",
        label: text.common.status,
        options: choices("active", "exhausted", "expired"),
      },
    ],
  },
  id: "id",
  title: "name",
  columns: [
    { label: words.name, path: "name", track: "minmax(10rem, 2fr)" },
    { label: words.key, path: "key", kind: "code", track: "6rem" },
    { label: words.kind, path: "type", kind: "word", track: "11rem", wide: true },
    { label: text.common.status, path: "status", kind: "status", track: "6rem" },
    {
      label: words.creditLimit,
      path: "usage_limits",
      track: "minmax(9rem, 1fr)",
      wide: true,
      render: budgetOf,
      empty: fields.noLimit,
    },
    { label: words.expires, path: "expires_at", kind: "ago", track: "7rem", wide: true, empty: fields.never },
    { label: words.created, path: "created_at", kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: words.name, path: "name" },
    { label: words.description, path: "description" },
    { label: words.key, path: "key", kind: "code" },
    { label: words.kind, path: "type", kind: "word" },
    { label: text.common.status, path: "status", kind: "status" },
    { label: words.workspace, path: "workspace_id", render: workspaceAt("workspace_id") },
    { label: words.user, path: "user_id", render: userAt("user_id") },
    { label: words.creditLimit, path: "usage_limits", render: budgetOf, empty: fields.noLimit },
    { label: fields.rateLimits, path: "rate_limits", kind: "settings", empty: fields.noLimit },
    { label: words.expires, path: "expires_at", kind: "time", empty: fields.never },
    { label: words.created, path: "created_at", kind: "time" },
    { label: words.config, path: "defaults.config_id", kind: "code", empty: words.noConfig },
    { label: words.metadata, path: "defaults.metadata", kind: "json", empty: fields.none },
    { label: words.alertEmails, path: "alert_emails", kind: "tags", empty: fields.none },
    { label: words.scopes, path: "scopes", render: scopesOf },
  ],
  read: "/v1/api-keys/{id}",
  create: {
    rows: [
      "POST /v1/api-keys/workspace/service",
      "POST /v1/api-keys/organisation/service",
      "POST /v1/api-keys/workspace/user",
    ],
    path: (values) => `/v1/api-keys/${String(values.kind)}`,
    fields: [
      { name: "kind", label: words.kind, kind: "select", options: kinds, initial: "workspace/service", required: true },
      ...shared,
    ],
    isOfWorkspace: ({ kind }) => kind !== "organisation/service",
    // `kind` only chose the path; an organisation key belongs to no workspace.
    toBody({ kind, workspace_id, ...body }) {
      return kind === "organisation/service" || workspace_id === undefined ? body : { ...body, workspace_id };
    },
    secret: ["key"],
  },
  update: { rows: ["PUT /v1/api-keys/{id}"], fields: shared },
  remove: { row: "DELETE /v1/api-keys/{id}" },
  actions: [
    {
      label: words.rotate,
      icon: "refresh",
      row: "POST /v1/api-keys/{id}/rotate",
      body: () => ({}),
      confirm: words.rotateConfirm,
      secret: ["key"],
      done: () => ({ message: words.rotated }),
    },
  ],
};

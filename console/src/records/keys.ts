import type { AnswerOf } from "@/api/client.ts";
import { keyScopes } from "@/api/scopes.gen.ts";
import { formatDollars, formatNumber } from "@/lib/format.ts";
import { isJsonObject } from "@/lib/json.ts";
import { action, defineResource, optionsOf } from "@/resources/define.ts";
import { showUser, showWorkspace } from "@/resources/names.tsx";
import { allScopes, choices, priorityField, rateLimitsField } from "@/resources/options.ts";
import { presetsOf } from "@/resources/scope-presets.ts";
import { scopesOf } from "@/resources/scopes.tsx";
import type { Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

type ApiKey = AnswerOf<"GET /v1/api-keys/{id}">;

const words = text.resources.keys;

const fields = text.resources.fields;

const kinds = (["organisation/service", "workspace/service", "workspace/user"] as const).map((value) => ({
  value,
  label: words.kinds[value],
  row: `POST /v1/api-keys/${value}` as const,
}));

/** A budget as the API takes it; without an amount there is none. */
function toBudget(value: unknown): unknown {
  if (!isJsonObject(value) || typeof value.credit_limit !== "number") return undefined;
  return { ...value, type: value.type ?? "cost" };
}

/** Budgets in words: `$1.20 of $50.00, resets monthly`. */
function budgetOf({ usage_limits: limit }: Pick<ApiKey, "usage_limits">): string {
  if (limit === null) return "";
  const show = limit.type === "tokens" ? formatNumber : formatDollars;
  const { current_usage: used, credit_limit: most, periodic_reset: resets } = limit;
  return words.budget({
    used: `${show(used)} ${words.of} ${show(most ?? 0)}`,
    isTokens: limit.type === "tokens",
    resets: resets ?? "never",
  });
}

const scopesField = {
  name: "scopes",
  label: words.scopes,
  help: words.scopesHelp,
  kind: "multi",
  options: allScopes,
  required: true,
  placeholder: fields.noScopes,
} as const satisfies Field;

const named = [
  { name: "name", label: words.name, kind: "text", required: true },
  { name: "description", label: words.description, kind: "long" },
] as const satisfies readonly Field[];

const others = [
  { name: "expires_at", label: words.expires, help: words.expiresHelp, kind: "time" },
  {
    name: "usage_limits",
    label: words.creditLimit,
    help: words.creditLimitHelp,
    placeholder: fields.noLimit,
    kind: "own",
    input: async () => ({ default: (await import("@/resources/budget-input.tsx")).BudgetInput }),
    isMerged: true,
    toMember: toBudget,
  },
  rateLimitsField,
  priorityField,
  {
    name: "allowed_models",
    label: words.allowedModels,
    help: words.allowedModelsHelp,
    placeholder: words.allModels,
    kind: "tags",
    when: ({ kind }) => kind !== "organisation/service",
  },
  {
    name: "defaults.config_id",
    label: words.config,
    kind: "select",
    placeholder: words.noConfig,
    options: optionsOf("/v1/configs", ({ name, slug }) => ({ value: slug, label: name })),
  },
  { name: "defaults.metadata", label: words.metadata, help: words.metadataHelp, kind: "pairs" },
  { name: "alert_emails", label: words.alertEmails, kind: "tags" },
] as const satisfies readonly Field[];

const shared = [...named, scopesField, ...others] as const;

const scopesKind = (kind: unknown): keyof typeof keyScopes =>
  kind === "organisation/service"
    ? "organisation-service"
    : kind === "workspace/user"
      ? "workspace-user"
      : "workspace-service";

/** Scopes of a new key: those that its kind may have, and presets. */
const newScopes = (["organisation-service", "workspace-service", "workspace-user"] as const).map(
  (of): Field<"scopes"> => ({
    ...scopesField,
    options: choices(...keyScopes[of]),
    presets: presetsOf(keyScopes[of]),
    when: ({ kind }) => scopesKind(kind) === of,
  }),
);

/** API keys: `/v1/api-keys`. */
export const keys = defineResource({
  name: "api-keys",
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
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: words.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: words.key, of: ({ key }) => key, kind: "code", track: "6rem" },
    { label: words.kind, of: ({ type }) => type, kind: "word", track: "11rem", wide: true },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "6rem" },
    {
      label: words.creditLimit,
      of: ({ usage_limits }) => usage_limits,
      track: "minmax(9rem, 1fr)",
      wide: true,
      render: budgetOf,
      empty: fields.noLimit,
    },
    {
      label: words.expires,
      of: ({ expires_at }) => expires_at,
      kind: "ago",
      track: "7rem",
      wide: true,
      empty: fields.never,
    },
    { label: words.created, of: ({ created_at }) => created_at, kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: words.name, of: ({ name }) => name },
    { label: words.description, of: ({ description }) => description },
    { label: words.key, of: ({ key }) => key, kind: "code" },
    { label: words.kind, of: ({ type }) => type, kind: "word" },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: words.workspace, of: ({ workspace_id }) => workspace_id, render: showWorkspace },
    { label: words.user, of: ({ user_id }) => user_id, render: showUser },
    { label: words.creditLimit, of: ({ usage_limits }) => usage_limits, render: budgetOf, empty: fields.noLimit },
    { label: fields.rateLimits, of: ({ rate_limits }) => rate_limits, kind: "settings", empty: fields.noLimit },
    { label: fields.priority, of: ({ priority }) => priority, kind: "word" },
    {
      label: words.allowedModels,
      of: ({ allowed_models }) => allowed_models,
      kind: "tags",
      empty: words.allModels,
    },
    { label: words.expires, of: ({ expires_at }) => expires_at, kind: "time", empty: fields.never },
    { label: words.created, of: ({ created_at }) => created_at, kind: "time" },
    { label: words.config, of: ({ defaults }) => defaults?.config_id, kind: "id", empty: words.noConfig },
    { label: words.metadata, of: ({ defaults }) => defaults?.metadata, kind: "json", empty: fields.none },
    { label: words.alertEmails, of: ({ alert_emails }) => alert_emails, kind: "tags", empty: fields.none },
    { label: words.scopes, of: ({ scopes }) => scopes, render: scopesOf },
  ],
  read: "/v1/api-keys/{id}",
  create: {
    rows: [
      "POST /v1/api-keys/workspace/service",
      "POST /v1/api-keys/organisation/service",
      "POST /v1/api-keys/workspace/user",
    ],
    path: (values) => `/v1/api-keys/${String(values.kind)}`,
    others: ["kind"],
    made: ({ id }) => id,
    fields: [
      { name: "kind", label: words.kind, kind: "select", options: kinds, initial: "workspace/service", required: true },
      ...named,
      ...newScopes,
      ...others,
    ],
    isOfWorkspace: ({ kind }) => kind !== "organisation/service",
    // `kind` only chose the path; an organisation key belongs to no workspace.
    toBody({ kind, workspace_id, ...body }) {
      return kind === "organisation/service" || workspace_id === undefined ? body : { ...body, workspace_id };
    },
    secret: ({ key }) => key,
  },
  update: { rows: ["PUT /v1/api-keys/{id}"], fields: shared },
  remove: { row: "DELETE /v1/api-keys/{id}" },
  actions: [
    action({
      label: words.rotate,
      icon: "refresh",
      row: "POST /v1/api-keys/{id}/rotate",
      body: () => ({}),
      confirm: words.rotateConfirm,
      secret: ({ key }) => key,
      done: () => ({ message: words.rotated }),
    }),
  ],
});

import * as v from "valibot";
import { normaliseScope } from "../../auth/scopes.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { CreateGuardrail } from "../../schemas/guardrails.ts";
import type { Fields } from "../document.ts";
import { UnsetVariable } from "../environment-values.ts";
import { namesOf, orNull, toBudget, toBudgetBody, toFlag, toRateLimits, toTime, withoutNulls } from "../fields.ts";
import { defineKind, type Kind, placeQuery, type Reader, type Writer } from "../kind.ts";

const { checks: Checks, actions: Actions } = CreateGuardrail.entries;

/** Checks of a guardrail as they are compared: with their defaults. */
function toChecks(value: unknown): unknown {
  const read = v.safeParse(Checks, value);
  return read.success ? read.output.map(withoutNulls) : value;
}

function toActions(value: unknown): unknown {
  const read = v.safeParse(Actions, withoutNulls(value));
  return read.success ? read.output : value;
}

const readOne = (reader: Reader, path: string, query: Readonly<Record<string, string>> = {}): Promise<Fields> =>
  reader.api({ method: "GET", path: `${path}?${new URLSearchParams({ ...placeQuery(reader.place), ...query })}` });

/** Saved guardrails. */
export const guardrails: Kind = defineKind({
  section: "guardrails",
  one: "a guardrail",
  path: "/guardrails",
  by: "slug",
  fixed: ["target"],
  defaults: { target: "llm", checks: null, actions: {} },
  isOwn: (shown, { place }) => shown.workspace_id === place.id,
  readMore: (reader, { slug }) => readOne(reader, `/guardrails/${slug}`),
  toNormal: (fields) => ({ ...fields, checks: toChecks(fields.checks), actions: toActions(fields.actions) }),
});

/** Saved configs. Archived ones have their slugs still. */
export const configs: Kind = {
  ...defineConfigs({}),
  async list(reader) {
    const active = await defineConfigs({}).list(reader);
    const archived = await defineConfigs({ status: "archived" }).list(reader);
    return [...active, ...archived];
  },
};

function defineConfigs(query: Readonly<Record<string, string>>): Kind {
  return defineKind({
    section: "configs",
    one: "a config",
    path: "/configs",
    by: "slug",
    query,
    defaults: { config: null, is_default: false },
    readMore: (reader, { slug }) => readOne(reader, `/configs/${slug}`, query),
    toShown: (shown) => ({ ...shown, config: parseJson(String(shown.config)) }),
    toNormal: (fields) => ({
      ...fields,
      config: typeof fields.config === "string" ? parseJson(fields.config) : fields.config,
      is_default: toFlag(fields.is_default),
    }),
    toBody: (fields, _, stored) => ({ ...fields, ...(stored?.isArchived && { status: "active" }) }),
  });
}

/** Access to an alias as it is compared. */
function toAliasAccess(value: unknown, rename: (ids: unknown) => unknown = (ids) => ids): Fields | null {
  const { api_keys, roles, workspaces } = withoutNulls(value);
  const renamed = { api_keys: rename(api_keys), roles, workspaces: rename(workspaces) };
  return orNull(withoutNulls(renamed));
}

/** Ids in place of the names of keys. */
function toAccessBody(access: unknown, { findId }: Writer): unknown {
  if (!isObject(access) || !Array.isArray(access.api_keys)) return access;
  return { ...access, api_keys: access.api_keys.map((name) => findId("keys", String(name))) };
}

/** Names of models. */
export const modelAliases: Kind = defineKind({
  section: "model_aliases",
  one: "a model alias",
  path: "/model-aliases",
  by: "name",
  defaults: {
    target: null,
    metadata: {},
    tags: [],
    access: null,
    usage_limits: null,
    rate_limits: null,
    enabled: true,
  },
  isOwn: (shown, { place }) => shown.workspace_id === place.id,
  toShown: (shown, { names }) => ({ ...shown, access: toAliasAccess(shown.access, (ids) => namesOf(ids, names)) }),
  toNormal: (fields) => ({
    ...fields,
    access: toAliasAccess(fields.access),
    tags: [...new Set(Array.isArray(fields.tags) ? fields.tags : [])],
    usage_limits: toBudget(fields.usage_limits),
    rate_limits: toRateLimits(fields.rate_limits),
    enabled: toFlag(fields.enabled),
  }),
  toBody: (fields, writer) => ({
    ...fields,
    access: toAccessBody(fields.access, writer),
    usage_limits: toBudgetBody(fields.usage_limits),
  }),
});

/** Defaults of a key as they are compared. */
function toKeyDefaults(value: unknown): Fields | null {
  const { metadata, config_id, config_slug, allow_config_override = true } = withoutNulls(value);
  const config = config_id ?? config_slug ?? null;
  const allows = toFlag(allow_config_override);
  const pairs = orNull(withoutNulls(metadata));
  const isEmpty = pairs === null && config === null && allows;
  return isEmpty ? null : { metadata: pairs, config_id: config, allow_config_override: allows };
}

/** Scopes as they are compared: in the form in which they are stored, each once. */
function toScopes(value: unknown): readonly string[] | null {
  return Array.isArray(value) ? [...new Set(value.map((one) => normaliseScope(String(one))))].toSorted() : null;
}

const kindOfKeys = defineKind({
  section: "keys",
  one: "a key",
  path: "/api-keys",
  by: "name",
  query: { type: "workspace-service" },
  fixed: ["key"],
  isReplaceable: true,
  defaults: {
    scopes: null,
    description: null,
    rate_limits: null,
    usage_limits: null,
    defaults: null,
    alert_emails: null,
    priority: null,
    allowed_models: null,
    expires_at: null,
    key: null,
  },
  toNormal: (fields) => ({
    ...fields,
    scopes: toScopes(fields.scopes),
    rate_limits: toRateLimits(fields.rate_limits),
    usage_limits: toBudget(fields.usage_limits),
    defaults: toKeyDefaults(fields.defaults),
    alert_emails: Array.isArray(fields.alert_emails)
      ? fields.alert_emails.map((one) => String(one).toLowerCase())
      : null,
    priority: fields.priority ?? "normal",
    allowed_models: Array.isArray(fields.allowed_models) ? [...new Set(fields.allowed_models)] : null,
    expires_at: toTime(fields.expires_at),
  }),
  toBody: ({ key, ...fields }) => ({
    ...fields,
    ...(typeof key === "string" && { key }),
    usage_limits: toBudgetBody(fields.usage_limits),
  }),
});

/** Keys of services. */
export const keys: Kind = {
  ...kindOfKeys,
  async create({ api, place, takeSecret }, { name, fields }) {
    const { key, ...own } = fields;
    const isChosen = typeof key === "string";
    const body = {
      ...own,
      usage_limits: toBudgetBody(own.usage_limits),
      name,
      ...(isChosen && { key }),
      ...placeQuery(place),
    };
    const made = await api({ method: "POST", path: "/api-keys/workspace/service", body, isNew: true });
    if (!isChosen && typeof made.key === "string") takeSecret(name, place, made.key);
  },
};

/** Whether a key needs a place for the secret that it will get. */
export const makesSecret = ({ key }: Fields): boolean =>
  key === null || key === undefined || key instanceof UnsetVariable;

/** Conditions of a policy as they are compared. */
const toConditions = (value: unknown): unknown => (Array.isArray(value) ? value.map(withoutNulls) : value);

const policy = { by: "name", isReplaceable: true, fixed: ["group_by", "type"] } as const;

/** Budgets by conditions. */
export const usageLimitPolicies: Kind = defineKind({
  ...policy,
  section: "usage_limit_policies",
  one: "a usage limit",
  path: "/policies/usage-limits",
  defaults: {
    description: null,
    conditions: null,
    group_by: null,
    type: null,
    credit_limit: null,
    alert_threshold: null,
    periodic_reset: null,
    periodic_reset_days: null,
  },
  isOwn: ({ name }) => typeof name === "string" && name !== "",
  toNormal: (fields) => ({ ...fields, conditions: toConditions(fields.conditions) }),
});

/** Rate limits by conditions. */
export const rateLimitPolicies: Kind = defineKind({
  ...policy,
  section: "rate_limit_policies",
  one: "a rate limit",
  path: "/policies/rate-limits",
  fixed: ["group_by", "type", "target"],
  defaults: {
    description: null,
    conditions: null,
    group_by: null,
    type: null,
    unit: null,
    value: null,
    target: "llm",
    queue: null,
  },
  isOwn: ({ name }) => typeof name === "string" && name !== "",
  toNormal: (fields) => ({ ...fields, conditions: toConditions(fields.conditions) }),
});

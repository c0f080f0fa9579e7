import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { McpServerSettings } from "../../schemas/mcp.ts";
import { isSame, withNulls, withoutMasks } from "../compare.ts";
import type { Fields } from "../document.ts";
import {
  namesOf,
  orNull,
  pick,
  toBudget,
  toBudgetBody,
  toFlag,
  toMappings,
  toRateLimits,
  toSettings,
  toTime,
  unmasked,
  withoutNulls,
} from "../fields.ts";
import { defineKind, type Kind, placeQuery, type Reader, type Stored, type Wanted, type Writer } from "../kind.ts";

/** References to secrets in external stores. */
export const secretReferences: Kind = defineKind({
  section: "secret_references",
  one: "a secret reference",
  path: "/secret-references",
  by: "slug",
  fixed: ["manager_type"],
  defaults: {
    manager_type: null,
    auth_config: null,
    secret_path: null,
    secret_key: null,
    allowed_workspaces: null,
    description: null,
    tags: null,
  },
  toShown: (shown, { names }) => ({
    ...shown,
    auth_config: unmasked(shown.auth_config),
    allowed_workspaces: toFlag(shown.allow_all_workspaces) ? null : namesOf(shown.allowed_workspaces, names),
  }),
  toNormal: (fields) => ({ ...fields, auth_config: toSettings(fields.auth_config) }),
  toBody: (fields, _, stored) => ({
    ...withoutMasksOf(fields, "auth_config", stored),
    allow_all_workspaces: fields.allowed_workspaces === null,
  }),
});

/** Fields whose settings are sent without masks, and with nulls for what goes. */
function withoutMasksOf(fields: Fields, member: string, stored: Stored | undefined): Fields {
  return { ...fields, [member]: withoutMasks(withNulls(fields[member], stored?.fields[member])) };
}

/** A key whose variable is not set stays. */
function withoutKeyMask(fields: Fields): Fields {
  const { key, ...others } = fields;
  return typeof key === "string" && key.includes("*****") ? others : fields;
}

const sharedNames = ["enabled", "usage_limits", "rate_limits"];

/** The access of a workspace as it is compared. */
function toAccess(value: unknown): Fields {
  const { enabled = true, usage_limits, rate_limits } = isObject(value) ? value : {};
  return { enabled: toFlag(enabled), usage_limits: toBudget(usage_limits), rate_limits: toRateLimits(rate_limits) };
}

const noAccess = { enabled: false, usage_limits: null, rate_limits: null };

/** Access without limits, as it is compared. */
const toPlainAccess = (value: unknown): Fields => pick(toAccess(value), ["enabled"]);

/** The access of each workspace; what gives none is left out. */
function toAccesses(value: unknown, read: (value: unknown) => Fields = toAccess): Record<string, Fields> {
  const entries = Object.entries(isObject(value) ? value : {}).map(([slug, one]) => [slug, read(one)] as const);
  const none = read(noAccess);
  return Object.fromEntries(entries.filter(([, one]) => !isSame(one, none)));
}

const toAccessBody = (access: Fields): Fields => ({ ...access, usage_limits: toBudgetBody(access.usage_limits) });

/** Models of an integration as they are compared. */
function toModels(value: unknown): Record<string, Fields> {
  const names = ["is_custom", "is_finetune", "base_model_slug", "configurations", "pricing_config", "model_facts"];
  const entries = Object.entries(isObject(value) ? value : {}).map(([slug, one]): [string, Fields] => {
    const { enabled = true, is_custom, is_finetune, ...others } = isObject(one) ? one : {};
    const flags = { enabled: toWord(enabled), is_custom: toWord(is_custom), is_finetune: toWord(is_finetune) };
    const configurations = orNull(toSettings(others.configurations));
    return [
      slug,
      { ...pick(others, names), ...flags, configurations, pricing_config: toPricing(others.pricing_config) },
    ];
  });
  return Object.fromEntries(entries);
}

/** A flag that may be a word. */
const toWord = (value: unknown): boolean => value === "true" || toFlag(value);

const toPricing = (value: unknown): unknown => (isObject(value) ? { type: "static", ...value } : null);

async function readModels({ api }: Reader, slug: string): Promise<Fields> {
  const { models, allow_all_models } = await api({ method: "GET", path: `/integrations/${slug}/models` });
  const list = Array.isArray(models) ? models.filter(isObject) : [];
  const entries = list.map((one) => [String(one.slug), { ...one, configurations: unmasked(one.configurations) }]);
  return { models: Object.fromEntries(entries), allow_all_models };
}

/** Which workspaces may use an integration of the organisation. */
async function readAccess({ api, place }: Reader, path: string, shown: unknown): Promise<Fields> {
  if (place.id !== null) return {};
  const { workspaces } = await api({ method: "GET", path: `${path}/workspaces` });
  const list = Array.isArray(workspaces) ? workspaces.filter(isObject) : [];
  const entries = list.map((one) => [String(one.slug), pick(one, sharedNames)]);
  return { workspaces: Object.fromEntries(entries), all_workspaces: shown };
}

async function readIntegration(reader: Reader, { slug }: Fields): Promise<Fields> {
  const path = `/integrations/${slug}`;
  const shown = await reader.api({ method: "GET", path });
  const access = await readAccess(reader, path, shown.global_workspace_access_settings);
  return { ...shown, ...access, ...(await readModels(reader, String(slug))) };
}

/** Changes the models of an integration: those that a file does not have go. */
async function writeModels(
  { api, place }: Writer,
  { name, fields }: Wanted,
  stored: Stored | undefined,
): Promise<void> {
  const [wanted, former] = [toModels(fields.models), toModels(stored?.fields.models)];
  const all = fields.allow_all_models;
  if (isSame({ wanted, all }, { wanted: former, all: stored?.fields.allow_all_models ?? true })) return;
  const gone = Object.keys(former).filter((slug) => !Object.hasOwn(wanted, slug));
  const path = `/integrations/${name}/models`;
  const models = Object.entries(wanted).map(([slug, one]) => {
    const configurations = withoutMasks(withNulls(one.configurations, former[slug]?.configurations));
    return { slug, ...one, configurations };
  });
  // only custom models can be removed
  const leaving = gone.map((slug) => ({ slug, enabled: true, is_custom: true }));
  const { key, configurations } = withoutKeyMask(fields);
  const secrets = { ...(key !== null && { key }), configurations: withoutMasks(configurations) };
  const body = { models: [...models, ...leaving], allow_all_models: all, ...secrets, ...placeQuery(place) };
  await api({ method: "PUT", path, body });
  if (gone.length > 0) await api({ method: "DELETE", path, body: { models: gone } });
}

/** Changes which workspaces may use an integration of the organisation: those that a file does not have may not. */
async function writeAccess(
  { api, place }: Writer,
  { path, isPlain }: { path: string; isPlain: boolean },
  { fields }: Wanted,
  stored: Stored | undefined,
): Promise<void> {
  if (place.id !== null) return;
  const [wanted, former] = [toAccesses(fields.workspaces), toAccesses(stored?.fields.workspaces)];
  const all = toAccess(fields.all_workspaces);
  if (isSame({ wanted, all }, { wanted: former, all: toAccess(stored?.fields.all_workspaces ?? noAccess) })) return;
  const gone = Object.keys(former).filter((slug) => !Object.hasOwn(wanted, slug));
  const entries = [...Object.entries(wanted), ...gone.map((slug) => [slug, noAccess] as const)];
  const toBody = (one: Fields) => (isPlain ? { enabled: one.enabled } : toAccessBody(one));
  const own = isPlain ? {} : { create_default_provider: false };
  const workspaces = entries.map(([id, one]) => ({ id, ...toBody(one), ...own }));
  await api({ method: "PUT", path, body: { workspaces, global_workspace_access: toBody(all) } });
}

/** Credentials of model providers. */
export const integrations: Kind = defineKind({
  section: "integrations",
  one: "an integration",
  path: "/integrations",
  by: "slug",
  fixed: ["ai_provider_id"],
  defaults: {
    ai_provider_id: null,
    key: null,
    description: null,
    configurations: {},
    secret_mappings: null,
    pricing_adjustments: null,
    labels: {},
    models: {},
    allow_all_models: true,
    workspaces: {},
    all_workspaces: noAccess,
  },
  isOwn: (shown, { place }) => shown.workspace_id === place.id,
  readMore: readIntegration,
  toShown: (shown) => ({ ...shown, key: shown.masked_key, configurations: unmasked(shown.configurations) }),
  toNormal: (fields) => ({
    ...fields,
    configurations: toSettings(fields.configurations),
    secret_mappings: toMappings(fields.secret_mappings),
    models: toModels(fields.models),
    allow_all_models: toFlag(fields.allow_all_models),
    workspaces: toAccesses(fields.workspaces),
    all_workspaces: toAccess(fields.all_workspaces),
  }),
  toBody(fields, _, stored) {
    const {
      models: _models,
      allow_all_models: _all,
      workspaces: _workspaces,
      all_workspaces: _access,
      ...own
    } = fields;
    const body = withoutMasksOf(withoutKeyMask(own), "configurations", stored);
    return stored ? body : { ...body, create_default_provider: false };
  },
  async after(writer, wanted, stored) {
    await writeModels(writer, wanted, stored);
    const place = { path: `/integrations/${wanted.name}/workspaces`, isPlain: false };
    await writeAccess(writer, place, wanted, stored);
  },
});

/** Integrations as a workspace uses them. */
export const providers: Kind = defineKind({
  section: "providers",
  one: "a provider",
  path: "/providers",
  by: "slug",
  fixed: ["integration_id"],
  defaults: { integration_id: null, note: null, usage_limits: null, rate_limits: null, expires_at: null },
  // virtual keys have separate credentials
  isOwn: (shown) => shown.integration_id !== null,
  toNormal: (fields) => ({
    ...fields,
    usage_limits: toBudget(fields.usage_limits),
    rate_limits: toRateLimits(fields.rate_limits),
    expires_at: toTime(fields.expires_at),
  }),
  toBody: (fields) => ({ ...fields, usage_limits: toBudgetBody(fields.usage_limits) }),
});

const readMcpIntegration = async (reader: Reader, { slug, global_workspace_access: all }: Fields): Promise<Fields> => {
  const path = `/mcp-integrations/${slug}`;
  return { ...(await reader.api({ method: "GET", path })), ...(await readAccess(reader, path, all ?? noAccess)) };
};

/** Servers of MCP, and their credentials. */
export const mcpIntegrations: Kind = defineKind({
  section: "mcp_integrations",
  one: "an MCP integration",
  path: "/mcp-integrations",
  by: "slug",
  defaults: {
    url: null,
    auth_type: null,
    transport: null,
    description: null,
    configurations: {},
    secret_mappings: null,
    workspaces: {},
    all_workspaces: { enabled: false },
  },
  // the document of one that is made of OpenAPI is not shown
  isOwn: (shown, { place }) => shown.workspace_id === place.id && shown.transport !== "openapi",
  readMore: readMcpIntegration,
  toShown: (shown) => ({ ...shown, configurations: unmasked(shown.configurations) }),
  toNormal: (fields) => ({
    ...fields,
    configurations: toSettings(fields.configurations),
    secret_mappings: toMappings(fields.secret_mappings),
    workspaces: toAccesses(fields.workspaces, toPlainAccess),
    all_workspaces: toPlainAccess(fields.all_workspaces),
  }),
  toBody(fields, _, stored) {
    const { workspaces: _workspaces, all_workspaces: _access, ...own } = fields;
    return withoutMasksOf(own, "configurations", stored);
  },
  after: (writer, wanted, stored) =>
    writeAccess(writer, { path: `/mcp-integrations/${wanted.name}/workspaces`, isPlain: true }, wanted, stored),
});

/** What a server of MCP joins, as it is compared. */
function toAggregate(value: unknown): Fields | null {
  if (!isObject(value)) return null;
  const members = Array.isArray(value.members) ? value.members : [];
  const names = ["mcp_server_id", "prefix", "include", "exclude"];
  return { members: members.map((one) => pick(one, names)), prefix_mode: value.prefix_mode ?? "always" };
}

/** Servers of MCP that clients reach. */
export const mcpServers: Kind = defineKind({
  section: "mcp_servers",
  one: "an MCP server",
  path: "/mcp-servers",
  by: "slug",
  fixed: ["mcp_integration_id"],
  defaults: { mcp_integration_id: null, aggregate: null, description: null, settings: {} },
  toShown: (shown, { names }) => {
    const { members = [], ...aggregate } = isObject(shown.aggregate) ? shown.aggregate : {};
    const list = Array.isArray(members) ? members.filter(isObject) : [];
    const named = list.map((one) => ({ ...one, mcp_server_id: namesOf(one.mcp_server_id, names) }));
    return {
      ...shown,
      mcp_integration_id: shown.mcp_integration_slug,
      aggregate: shown.aggregate && { ...aggregate, members: named },
    };
  },
  toNormal: (fields) => ({
    ...fields,
    aggregate: toAggregate(fields.aggregate),
    settings: v.parse(McpServerSettings, withoutNulls(fields.settings)),
  }),
  toBody: ({ aggregate, ...fields }) => ({ ...fields, ...(aggregate !== null && { aggregate }) }),
});

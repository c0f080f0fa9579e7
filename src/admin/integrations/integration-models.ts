import { integrationSecretKind, modelFieldPrefix } from "../../control/integration-fields.ts";
import type { IntegrationModelRow, IntegrationRow } from "../../db/tables/integrations.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { isObject } from "../../lib/json.ts";
import { type IntegrationModel, IntegrationModelList, RemoveModels, UpdateModels } from "../../schemas/integrations.ts";
import { NoContent } from "../../schemas/objects.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite } from "../core/endpoint.ts";
import { toJson } from "../core/json-column.ts";
import { readText, refuseField, requireFound, toIso } from "../core/request.ts";
import { asOwn, findIntegration, mappedFields, ownOf, scopeOf, tenantOf, toRules } from "./integration-records.ts";
import {
  type Credentials,
  changeCredentials,
  keepAddresses,
  requireSecretsWithAddress,
  type StoredCredentials,
  sealSecrets,
  showConfigurations,
} from "./integration-secrets.ts";

type GivenModel = UpdateModels["models"][number];

/** Settings of a model as their column stores them: secrets as masks. */
function readStored(configurations: unknown): StoredCredentials {
  const { masked = {}, ...plain } = isObject(configurations) ? configurations : {};
  return { configurations: plain, masked };
}

function toModel(row: IntegrationModelRow, { aiProviderId }: IntegrationRow): IntegrationModel {
  const shown = showConfigurations(readStored(row.configurations), modelFieldPrefix(row.slug));
  return {
    slug: row.slug,
    name: row.slug,
    ai_provider_id: aiProviderId,
    enabled: row.enabled,
    is_custom: row.isCustom,
    is_finetune: row.isFinetune,
    base_model_slug: row.baseModelSlug,
    configurations: row.configurations === null ? null : shown,
    pricing_config: row.pricingConfig,
    model_facts: row.modelFacts,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
  };
}

/** Rows of models belong to the organisation, whichever workspace the integration belongs to. */
function modelTenant({ organisationId }: IntegrationRow) {
  return { organisationId, workspaceId: null };
}

async function listModels(call: AdminCall<undefined>): Promise<AnswerOf<typeof IntegrationModelList>> {
  const integration = await findIntegration(call, "read");
  const rows = await call.stores.integrationModels.all(modelTenant(integration), {
    where: { integrationId: integration.id },
  });
  const models = rows.map((row) => toModel(row, integration));
  return { total: models.length, models, allow_all_models: integration.allowAllModels };
}

/** Fields a model's `configurations` may have. */
const modelMembers: ReadonlySet<string> = new Set(["custom_host", "custom_headers"]);

/** A model's settings after a change; undefined when it has none. */
function changeModel(
  { context: { services } }: AdminCall<unknown>,
  { slug, configurations }: GivenModel,
  { stored, param }: { stored: unknown; param: string },
): Credentials {
  const unknown = Object.keys(configurations ?? {}).find((name) => !modelMembers.has(name));
  if (unknown !== undefined) refuseField(`${param}.${unknown}`, "is not a setting of models");
  return changeCredentials(
    readStored(stored),
    { configurations },
    {
      services,
      form: { members: {}, required: [] },
      owner: "models",
      prefix: modelFieldPrefix(slug),
      paramOf: (path) => `${param}.${path}`,
    },
  );
}

function toColumn({ configurations, masked }: Credentials) {
  const plain = isObject(configurations) ? configurations : {};
  const hasMasks = Object.keys(masked).length > 0;
  if (!hasMasks && Object.keys(plain).length === 0) return null;
  return toJson(hasMasks ? { ...plain, masked } : plain);
}

/** The statement for one model, and its settings after the change. */
function mergeModel(
  call: AdminCall<UpdateModels>,
  integration: IntegrationRow,
  { given, stored, index }: { given: GivenModel; stored: IntegrationModelRow | undefined; index: number },
) {
  const { now, stores } = call;
  const tenant = modelTenant(integration);
  const key = { integrationId: integration.id, slug: given.slug };
  const credentials = changeModel(call, given, {
    stored: stored?.configurations,
    param: `models.${index}.configurations`,
  });
  const flag = (value: boolean | null | undefined) => (value === null ? false : value);
  const changes = {
    enabled: given.enabled,
    isCustom: flag(given.is_custom),
    isFinetune: flag(given.is_finetune),
    baseModelSlug: given.base_model_slug,
    configurations: toColumn(credentials),
    pricingConfig: given.pricing_config,
    modelFacts: given.model_facts,
  };
  const statement = stored
    ? stores.integrationModels.update(tenant, key, { ...changes, lastUpdatedAt: now })
    : stores.integrationModels.insert(tenant, { ...changes, ...key, ...tenant, createdAt: now });
  return { statement: asOwn(statement, integration), credentials };
}

/**
 * A model's host receives the integration's credential and the model's headers; without one, its headers are sent
 * elsewhere.
 */
function requireSecretsOfModels(integration: IntegrationRow, [own, ...ofModels]: readonly Credentials[]): void {
  const hasHost = ({ configurations, masked }: Credentials) =>
    (isObject(configurations) && "custom_host" in configurations) ||
    Object.keys(masked).some((field) => /(?<!\.custom_headers)\.custom_host$/.test(field));
  for (const part of ofModels) {
    const together = own && hasHost(part) ? [own, part] : [part];
    requireSecretsWithAddress(together, hasHost(part) ? mappedFields(integration.secretMappings) : undefined);
  }
  if (own) requireSecretsWithAddress([own], mappedFields(integration.secretMappings));
}

async function updateModels(call: AdminCall<UpdateModels>) {
  const { body, stores, now } = call;
  const integration = await findIntegration(call, "update");
  const rows = await stores.integrationModels.all(modelTenant(integration), {
    where: { integrationId: integration.id, slug: body.models.map(({ slug }) => slug) },
  });
  const storedOf = new Map(rows.map((row) => [row.slug, row]));
  const place = { ...tenantOf(integration), recordId: integration.id };
  const models = await Promise.all(
    body.models.map((given) => {
      const { masked } = readStored(storedOf.get(given.slug)?.configurations);
      return keepAddresses(call, given, { masked, place, prefix: modelFieldPrefix(given.slug) });
    }),
  );
  const merged = models.map((given, index) =>
    mergeModel(call, integration, { given, stored: storedOf.get(given.slug), index }),
  );
  const changed = await keepAddresses(call, body, { masked: integration.masked, place });
  const own = changeCredentials(integration, changed, toRules(call, integration.aiProviderId));
  const parts = [own, ...merged.map(({ credentials }) => credentials)];
  requireSecretsOfModels(integration, parts);
  const sealed = await sealSecrets(call, place, parts);
  const changes = {
    allowAllModels: body.allow_all_models,
    configurations: own.configurations,
    masked: own.masked,
    lastUpdatedAt: now,
  };
  return {
    answer: {},
    recordId: integration.id,
    statements: [
      ...merged.map(({ statement }) => statement),
      ...sealed,
      stores.integrations.update(tenantOf(integration), ownOf(integration), changes),
    ],
  };
}

async function deleteModels(call: AdminCall<RemoveModels>) {
  const { body, query, stores } = call;
  const integration = await findIntegration(call, "update");
  const named =
    readText(query, "slugs")
      ?.split(",")
      .map((slug) => slug.trim()) ?? [];
  const slugs = [...new Set([...named, ...(body.models ?? [])])].filter((slug) => slug !== "");
  if (slugs.length === 0) refuseField("slugs", "must name at least one model");
  const where = { integrationId: integration.id, slug: slugs };
  const rows = await stores.integrationModels.all(modelTenant(integration), { where });
  if (rows.length < slugs.length) requireFound(undefined, "model");
  const builtIn = rows.find(({ isCustom }) => !isCustom);
  if (builtIn) refuseField("slugs", `${builtIn.slug} is not a custom model`);
  const fields = rows.flatMap(({ configurations }) => Object.keys(readStored(configurations).masked ?? {}));
  const { id: recordId, workspaceId } = integration;
  const secrets = { workspaceId, kind: integrationSecretKind, recordId, field: fields };
  return {
    answer: {},
    recordId: integration.id,
    statements: [
      asOwn(stores.integrationModels.remove(modelTenant(integration), where), integration),
      ...(fields.length > 0 ? [stores.secrets.remove(tenantOf(integration), secrets)] : []),
    ],
  };
}

const row = { tag: "Integrations", path: "/v1/integrations/:slug/models" };
const access = (verb: string) => ({
  keys: "any" as const,
  scopes: [scopeOf("workspace", verb), scopeOf("organisation", verb)],
});
const audit = (action: string) => ({ resource: "integrations", action, store: "integrations" as const });

/** Endpoints of an integration's models. */
export const integrationModelEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    summary: "List the models of an integration",
    access: access("read"),
    response: IntegrationModelList,
    handle: listModels,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    summary: "Change models of an integration",
    access: access("update"),
    audit: audit("update"),
    body: UpdateModels,
    response: NoContent,
    handle: updateModels,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    summary: "Delete custom models of an integration",
    access: access("update"),
    query: [{ name: "slugs", description: "Comma-separated models; or `models` in the body" }],
    audit: audit("update"),
    body: RemoveModels,
    bodyOptional: true,
    response: NoContent,
    handle: deleteModels,
  }),
];

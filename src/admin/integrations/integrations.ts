import type { Statement } from "../../db/client.ts";
import type { IntegrationRow } from "../../db/tables/integrations.ts";
import type { ListOptions, Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import {
  CreatedIntegration,
  CreateIntegration,
  IntegrationList,
  IntegrationRecord,
  IntegrationSummary,
  UpdateIntegration,
} from "../../schemas/integrations.ts";
import { NoContent } from "../../schemas/objects.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import { defineRecord } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { toIso } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { integrationModelEndpoints } from "./integration-models.ts";
import {
  createIntegrationRows,
  findIntegration,
  isPartnerOnly,
  type Level,
  levelOf,
  levelQuery,
  readLevels,
  readNewOwner,
  removeSecrets,
  requireKnownService,
  scopeOf,
  updateIntegrationRows,
} from "./integration-records.ts";
import { showConfigurations, showKey } from "./integration-secrets.ts";
import { integrationWorkspaceEndpoints, showGlobalAccess } from "./integration-workspaces.ts";
import { createDefaultProvider } from "./provider-rows.ts";

const toSummary = shownBy(IntegrationSummary, (row: IntegrationRow) => ({
  type: levelOf(row),
  tags: null,
  last_updated_at: row.lastUpdatedAt === 0 ? null : toIso(row.lastUpdatedAt),
}));

/** Filter of a tenant's rows of these levels and, for a workspace, its own or those shared with it. */
async function whereLevels(
  { stores }: AdminCall<undefined>,
  tenant: Tenant,
  levels: readonly Level[],
): Promise<ListOptions<IntegrationRow>["where"]> {
  const both = levels.length === 2;
  const organisation = { organisationId: tenant.organisationId, workspaceId: null };
  if (tenant.workspaceId === null) {
    if (both) return { isPrivate: false };
    if (levels[0] === "organisation") return { isPrivate: false, workspaceId: null };
    const workspaces = await stores.workspaces.all(organisation);
    return { isPrivate: false, workspaceId: workspaces.map(({ id }) => id) };
  }
  const own = levels.includes("workspace")
    ? await stores.integrations.all(tenant, { where: { isPrivate: false } })
    : [];
  const accesses = levels.includes("organisation")
    ? await stores.integrationWorkspaces.all(tenant, { where: { enabled: true } })
    : [];
  return { isPrivate: false, id: [...own.map(({ id }) => id), ...accesses.map(({ integrationId }) => integrationId)] };
}

async function showIntegration(
  { row }: Found<"integrations">,
  { stores }: AdminCall<undefined>,
): Promise<AnswerOf<typeof IntegrationRecord>> {
  const sharedWith = { integrationId: row.id, enabled: true };
  const organisation = { organisationId: row.organisationId, workspaceId: null };
  return {
    ...toSummary(row),
    masked_key: showKey(row),
    configurations: showConfigurations(row),
    global_workspace_access_settings: showGlobalAccess(row.globalWorkspaceAccess),
    allow_all_models: row.allowAllModels,
    workspace_count:
      row.workspaceId === null ? await stores.integrationWorkspaces.count(organisation, { where: sharedWith }) : 1,
    secret_mappings: row.secretMappings,
    pricing_adjustments: row.pricingAdjustments,
  };
}

/** The provider that comes with a new integration of a workspace. */
async function defaultProvider(
  call: AdminCall<CreateIntegration>,
  { organisationId, workspaceId }: Tenant,
  integration: { id: string; slug: string },
): Promise<{ slug: string; statement: Statement } | undefined> {
  const { name, create_default_provider, default_provider_slug: slug, ai_provider_id: service } = call.body;
  if (workspaceId === null || create_default_provider === false || isPartnerOnly(call, service)) return undefined;
  const note = "Created with its integration";
  const named = { integrationId: integration.id, slug, integrationSlug: integration.slug };
  const provider = { name, ...named, note, param: "default_provider_slug" };
  return createDefaultProvider(call, { organisationId, workspaceId }, provider);
}

async function createIntegration(call: AdminCall<CreateIntegration>, { tenant, slug }: NewPlace<"integrations">) {
  const { body } = call;
  const { id, statements } = await createIntegrationRows(call, tenant, {
    slug,
    name: body.name,
    description: body.description,
    key: body.key,
    configurations: body.configurations,
    aiProviderId: requireKnownService(call, body.ai_provider_id, "ai_provider_id"),
    secretMappings: body.secret_mappings,
    pricingAdjustments: body.pricing_adjustments,
    labels: body.labels,
  });
  const provider = await defaultProvider(call, tenant, { id, slug });
  return {
    answer: { id, slug, ...(provider && { provider_slug: provider.slug }) },
    recordId: id,
    statements: [...statements, ...(provider ? [provider.statement] : [])],
  };
}

async function updateIntegration(call: AdminCall<UpdateIntegration>, { row }: Found<"integrations">) {
  const { body } = call;
  const statements = await updateIntegrationRows(call, row, {
    name: body.name,
    description: body.description,
    key: body.key,
    configurations: body.configurations,
    secretMappings: body.secret_mappings,
    pricingAdjustments: body.pricing_adjustments,
    labels: body.labels,
  });
  return { answer: {}, statements };
}

const integrations = defineRecord({
  tag: "Integrations",
  path: "/v1/integrations",
  param: "slug",
  words: { one: "an integration", many: "integrations" },
  store: "integrations",
  audit: "integrations",
  access: (verb) => ({ keys: "any", scopes: [scopeOf("workspace", verb), scopeOf("organisation", verb)] }),
  find: findIntegration,
});

/** Endpoints of integrations: credentials of model providers. */
export const integrationEndpoints: readonly AdminEndpoint[] = [
  integrations.list({
    response: IntegrationList,
    ofWorkspaces: "Integrations this workspace may use, for keys of the organisation",
    query: [levelQuery],
    page: 100,
    async select(call, tenant) {
      return { where: await whereLevels(call, tenant, readLevels(call, scopeOf)), includeOrganisation: true };
    },
    show: (rows) => rows.map(toSummary),
  }),
  integrations.create({
    body: CreateIntegration,
    response: CreatedIntegration,
    slug: { letters: 24 },
    tenant: (call) => readNewOwner(call, scopeOf),
    decide: createIntegration,
  }),
  integrations.show({ response: IntegrationRecord, show: showIntegration }),
  integrations.change({ body: UpdateIntegration, response: NoContent, decide: updateIntegration }),
  integrations.remove({
    async before(call, { row }) {
      const organisation = { organisationId: row.organisationId, workspaceId: null };
      const used = await call.stores.providers.count(organisation, { where: { integrationId: row.id } });
      if (used === 0) return [removeSecrets(call, row)];
      throw new ConflictError(`Cannot delete this integration: ${used} providers use it`, { code: "AB07" });
    },
  }),
  ...integrationModelEndpoints,
  ...integrationWorkspaceEndpoints,
];

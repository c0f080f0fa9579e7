import type { Statement } from "../../db/client.ts";
import type { IntegrationRow } from "../../db/tables/integrations.ts";
import type { ListOptions, Tenant } from "../../db/tenant-store.ts";
import { requireScopes } from "../../endpoint/role.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import {
  CreatedIntegration,
  CreateIntegration,
  IntegrationList,
  IntegrationRecord,
  type IntegrationSummary,
  UpdateIntegration,
} from "../../schemas/integrations.ts";
import { NoContent } from "../../schemas/objects.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import {
  createSlug,
  forbid,
  namedWorkspace,
  readChoice,
  readPage,
  readTenant,
  toIso,
  toList,
} from "../core/request.ts";
import { integrationModelEndpoints } from "./integration-models.ts";
import {
  createIntegrationRows,
  findIntegration,
  isPartnerOnly,
  type Level,
  levelOf,
  removeIntegrationRows,
  requireKnownService,
  scopeOf,
  updateIntegrationRows,
} from "./integration-records.ts";
import { showConfigurations, showKey } from "./integration-secrets.ts";
import { integrationWorkspaceEndpoints, showGlobalAccess } from "./integration-workspaces.ts";
import { createDefaultProvider } from "./provider-rows.ts";

function toSummary(row: IntegrationRow): IntegrationSummary {
  return {
    id: row.id,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    type: levelOf(row),
    ai_provider_id: row.aiProviderId,
    name: row.name,
    slug: row.slug,
    description: row.description,
    status: row.status,
    tags: null,
    labels: row.labels,
    created_at: toIso(row.createdAt),
    last_updated_at: row.lastUpdatedAt === 0 ? null : toIso(row.lastUpdatedAt),
    object: "integration",
  };
}

/** Levels a list shows: the requested ones, as far as the key may list them. */
function readLevels({ query, context }: AdminCall<undefined>): Level[] {
  const type = readChoice(query, "type", ["workspace", "organisation", "all"]) ?? "all";
  const asked: Level[] = type === "all" ? ["workspace", "organisation"] : [type];
  const held = asked.filter((level) => context.principal.scopes.has(scopeOf(level, "list")));
  return held.length > 0 ? held : forbid(`This key needs the scope ${scopeOf(asked[0] ?? "workspace", "list")}`);
}

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

async function listIntegrations(call: AdminCall<undefined>): Promise<AnswerOf<typeof IntegrationList>> {
  const tenant = await readTenant(call);
  const where = await whereLevels(call, tenant, readLevels(call));
  const page = readPage(call.query, { size: 100 });
  const { rows, total } = await call.stores.integrations.list(tenant, { where, page, includeOrganisation: true });
  return toList(rows.map(toSummary), total);
}

async function readIntegration(call: AdminCall<undefined>): Promise<AnswerOf<typeof IntegrationRecord>> {
  const row = await findIntegration(call, "read");
  const sharedWith = { integrationId: row.id, enabled: true };
  const organisation = { organisationId: row.organisationId, workspaceId: null };
  return {
    ...toSummary(row),
    masked_key: showKey(row),
    configurations: showConfigurations(row),
    global_workspace_access_settings: showGlobalAccess(row.globalWorkspaceAccess),
    allow_all_models: row.allowAllModels,
    workspace_count:
      row.workspaceId === null ? await call.stores.integrationWorkspaces.count(organisation, { where: sharedWith }) : 1,
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

async function createIntegration(
  call: AdminCall<CreateIntegration>,
): Promise<Outcome<AnswerOf<typeof CreatedIntegration>>> {
  const { body, context } = call;
  const tenant = await readTenant(call, namedWorkspace(call));
  await requireScopes(context, [scopeOf(levelOf(tenant), "create")]);
  const slug = body.slug ?? createSlug(body.name, { letters: 24 });
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

async function updateIntegration(call: AdminCall<UpdateIntegration>) {
  const { body } = call;
  const row = await findIntegration(call, "update");
  const statements = await updateIntegrationRows(call, row, {
    name: body.name,
    description: body.description,
    key: body.key,
    configurations: body.configurations,
    secretMappings: body.secret_mappings,
    pricingAdjustments: body.pricing_adjustments,
    labels: body.labels,
  });
  return { answer: {}, recordId: row.id, statements };
}

async function deleteIntegration(call: AdminCall<undefined>) {
  const row = await findIntegration(call, "delete");
  const organisation = { organisationId: row.organisationId, workspaceId: null };
  const used = await call.stores.providers.count(organisation, { where: { integrationId: row.id } });
  if (used > 0) {
    throw new ConflictError(`Cannot delete this integration: ${used} providers use it`, { code: "AB07" });
  }
  return { answer: {}, recordId: row.id, statements: removeIntegrationRows(call, row) };
}

const row = { tag: "Integrations" };
const access = (verb: string) => ({
  keys: "any" as const,
  scopes: [scopeOf("workspace", verb), scopeOf("organisation", verb)],
});
const audit = (action: string) => ({ resource: "integrations", action, store: "integrations" as const });
const one = "/v1/integrations/:slug";

/** Endpoints of integrations: credentials of model providers. */
export const integrationEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/integrations",
    summary: "List integrations",
    access: access("list"),
    query: [
      { name: "workspace_id", description: "Integrations this workspace may use, for keys of the organisation" },
      { name: "type", description: "workspace, organisation or all (default)" },
      { name: "current_page", description: "Counted from 0" },
      { name: "page_size", description: "1 to 1000; default 100" },
    ],
    response: IntegrationList,
    handle: listIntegrations,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: "/v1/integrations",
    summary: "Create an integration",
    access: access("create"),
    audit: audit("create"),
    body: CreateIntegration,
    response: CreatedIntegration,
    handle: createIntegration,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show an integration",
    access: access("read"),
    response: IntegrationRecord,
    handle: readIntegration,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change an integration",
    access: access("update"),
    audit: audit("update"),
    body: UpdateIntegration,
    response: NoContent,
    handle: updateIntegration,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Delete an integration",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteIntegration,
  }),
  ...integrationModelEndpoints,
  ...integrationWorkspaceEndpoints,
];

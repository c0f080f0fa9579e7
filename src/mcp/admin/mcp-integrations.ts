import type { AdminCall } from "../../admin/core/endpoint.ts";
import { defineRecord } from "../../admin/core/record.ts";
import type { Found, NewPlace } from "../../admin/core/record-definitions.ts";
import { toIso } from "../../admin/core/request.ts";
import { shownBy } from "../../admin/core/shown-row.ts";
import {
  type Level,
  levelOf,
  levelQuery,
  readLevels,
  readNewOwner,
} from "../../admin/integrations/integration-records.ts";
import { showConfigurations } from "../../admin/integrations/integration-secrets.ts";
import type { McpIntegrationRow } from "../../db/tables/mcp.ts";
import type { ListOptions, Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import {
  CreatedMcpRecord,
  CreateMcpIntegration,
  McpIntegration,
  McpIntegrationList,
  ShownMcpIntegration,
  UpdateMcpIntegration,
} from "../../schemas/mcp.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  createMcpIntegrationRows,
  findMcpIntegration,
  mcpScopeOf,
  organisationOf,
  removeMcpParts,
  showAddress,
  updateMcpIntegrationRows,
} from "./mcp-integration-records.ts";
import { syncFirst } from "./mcp-sync.ts";

const toRecord = shownBy(McpIntegration, (row: McpIntegrationRow) => {
  const { enabled } = isObject(row.globalWorkspaceAccess) ? row.globalWorkspaceAccess : {};
  return {
    type: levelOf(row),
    url: showAddress(row),
    global_workspace_access: row.globalWorkspaceAccess === null ? null : { enabled: enabled === true },
    last_updated_at: row.lastUpdatedAt === 0 ? null : toIso(row.lastUpdatedAt),
  };
});

/** Filter of a tenant's rows of these levels and, for a workspace, its own or those shared with it. */
async function whereLevels(
  { stores }: AdminCall<undefined>,
  tenant: Tenant,
  levels: readonly Level[],
): Promise<Pick<ListOptions<McpIntegrationRow>, "present" | "where">> {
  const showsOwn = levels.includes("workspace");
  const showsShared = levels.includes("organisation");
  if (tenant.workspaceId === null) {
    if (showsOwn && showsShared) return {};
    return showsOwn ? { present: ["workspaceId"] } : { where: { workspaceId: null } };
  }
  const own = showsOwn ? await stores.mcpIntegrations.all(tenant) : [];
  const accesses = showsShared ? await stores.mcpIntegrationWorkspaces.all(tenant, { where: { enabled: true } }) : [];
  return { where: { id: [...own.map(({ id }) => id), ...accesses.map(({ integrationId }) => integrationId)] } };
}

/** The number of workspaces that may use each integration. */
async function countWorkspaces(
  { stores }: AdminCall<undefined>,
  tenant: Tenant,
  rows: readonly McpIntegrationRow[],
): Promise<(row: McpIntegrationRow) => number> {
  const where = { integrationId: rows.map(({ id }) => id), enabled: true };
  const accesses = await stores.mcpIntegrationWorkspaces.all(organisationOf(tenant), { where });
  const counts = new Map<string, number>();
  for (const { integrationId } of accesses) counts.set(integrationId, (counts.get(integrationId) ?? 0) + 1);
  return ({ id, workspaceId }) => (workspaceId === null ? (counts.get(id) ?? 0) : 1);
}

async function showMcpIntegrations(rows: readonly McpIntegrationRow[], call: AdminCall<undefined>, tenant: Tenant) {
  const countOf = await countWorkspaces(call, tenant, rows);
  return rows.map((row) => ({
    ...toRecord(row),
    // as text in lists: clients expect it
    configurations: JSON.stringify(showConfigurations(row)),
    workspaces_count: countOf(row),
  }));
}

async function createMcpIntegration(
  call: AdminCall<CreateMcpIntegration>,
  { tenant, slug }: NewPlace<"mcpIntegrations">,
) {
  const { id, statements } = await createMcpIntegrationRows(call, tenant, slug);
  return { answer: { id, slug }, recordId: id, statements, applied: () => syncFirst(id, call.context) };
}

async function updateMcpIntegration(call: AdminCall<UpdateMcpIntegration>, { row }: Found<"mcpIntegrations">) {
  const { body, context } = call;
  const { statements, isMoved: hasNewAddress } = await updateMcpIntegrationRows(call, row);
  const isMoved = hasNewAddress || body.openapi !== undefined;
  return { answer: {}, statements, applied: () => (isMoved ? syncFirst(row.id, context) : undefined) };
}

const integrations = defineRecord({
  tag: "MCP integrations",
  path: "/v1/mcp-integrations",
  param: "slug",
  words: { one: "an MCP integration", many: "MCP integrations" },
  store: "mcpIntegrations",
  audit: "mcp_integrations",
  access: (verb) => ({ keys: "any", scopes: [mcpScopeOf("workspace", verb), mcpScopeOf("organisation", verb)] }),
  find: findMcpIntegration,
});

/** Endpoints of MCP integrations: upstream MCP servers and their credentials. */
export const mcpIntegrationEndpoints: readonly AdminEndpoint[] = [
  integrations.list({
    response: McpIntegrationList,
    ofWorkspaces: "Integrations this workspace may use, for keys of the organisation",
    query: [levelQuery],
    search: ["name", "slug"],
    page: 100,
    async select(call, tenant) {
      return { ...(await whereLevels(call, tenant, readLevels(call, mcpScopeOf))), includeOrganisation: true };
    },
    show: showMcpIntegrations,
  }),
  integrations.create({
    body: CreateMcpIntegration,
    response: CreatedMcpRecord,
    slug: { letters: 24 },
    tenant: (call) => readNewOwner(call, mcpScopeOf),
    decide: createMcpIntegration,
  }),
  integrations.show({
    response: ShownMcpIntegration,
    show: ({ row }) => ({ ...toRecord(row), configurations: showConfigurations(row) }),
  }),
  integrations.change({ body: UpdateMcpIntegration, response: NoContent, decide: updateMcpIntegration }),
  integrations.remove({
    async before(call, { row }) {
      const used = await call.stores.mcpServers.count(organisationOf(row), { where: { integrationId: row.id } });
      if (used === 0) return removeMcpParts(call, row);
      throw new ConflictError(`Cannot delete this MCP integration: ${used} MCP servers use it`, { code: "AB07" });
    },
  }),
];

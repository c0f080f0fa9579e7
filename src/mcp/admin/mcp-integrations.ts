import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../../admin/core/endpoint.ts";
import {
  createSlug,
  forbid,
  namedWorkspace,
  readChoice,
  readPage,
  readSearch,
  readTenant,
  toIso,
} from "../../admin/core/request.ts";
import { type Level, levelOf } from "../../admin/integrations/integration-records.ts";
import { showConfigurations } from "../../admin/integrations/integration-secrets.ts";
import type { McpIntegrationRow } from "../../db/tables/mcp.ts";
import type { ListOptions, Tenant } from "../../db/tenant-store.ts";
import { requireScopes } from "../../endpoint/role.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import {
  CreatedMcpRecord,
  CreateMcpIntegration,
  type McpIntegration,
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
  removeMcpIntegrationRows,
  showAddress,
  updateMcpIntegrationRows,
} from "./mcp-integration-records.ts";
import { syncFirst } from "./mcp-sync.ts";

function toRecord(row: McpIntegrationRow): McpIntegration {
  const { enabled } = isObject(row.globalWorkspaceAccess) ? row.globalWorkspaceAccess : {};
  return {
    id: row.id,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    type: levelOf(row),
    name: row.name,
    slug: row.slug,
    description: row.description,
    owner_id: row.ownerId,
    status: row.status,
    url: showAddress(row),
    auth_type: row.authType,
    transport: row.transport,
    global_workspace_access: row.globalWorkspaceAccess === null ? null : { enabled: enabled === true },
    secret_mappings: row.secretMappings,
    created_at: toIso(row.createdAt),
    last_updated_at: row.lastUpdatedAt === 0 ? null : toIso(row.lastUpdatedAt),
  };
}

/** Levels a list shows: the requested ones, as far as the key may list them. */
function readLevels({ query, context }: AdminCall<undefined>): Level[] {
  const type = readChoice(query, "type", ["workspace", "organisation", "all"]) ?? "all";
  const asked: Level[] = type === "all" ? ["workspace", "organisation"] : [type];
  const held = asked.filter((level) => context.principal.scopes.has(mcpScopeOf(level, "list")));
  return held.length > 0 ? held : forbid(`This key needs the scope ${mcpScopeOf(asked[0] ?? "workspace", "list")}`);
}

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

async function listMcpIntegrations(call: AdminCall<undefined>): Promise<AnswerOf<typeof McpIntegrationList>> {
  const tenant = await readTenant(call);
  const filter = await whereLevels(call, tenant, readLevels(call));
  const page = readPage(call.query, { size: 100 });
  const text = readSearch(call.query);
  const { rows, total } = await call.stores.mcpIntegrations.list(tenant, {
    ...filter,
    page,
    includeOrganisation: true,
    ...(text !== undefined && { search: { columns: ["name", "slug"], text } }),
  });
  const countOf = await countWorkspaces(call, tenant, rows);
  const data = rows.map((row) => ({
    ...toRecord(row),
    // as text in lists: clients expect it
    configurations: JSON.stringify(showConfigurations(row)),
    workspaces_count: countOf(row),
  }));
  return { data, total, has_more: page.offset + rows.length < total };
}

async function readMcpIntegration(call: AdminCall<undefined>): Promise<AnswerOf<typeof ShownMcpIntegration>> {
  const row = await findMcpIntegration(call, "read");
  return { ...toRecord(row), configurations: showConfigurations(row) };
}

async function createMcpIntegration(
  call: AdminCall<CreateMcpIntegration>,
): Promise<Outcome<AnswerOf<typeof CreatedMcpRecord>>> {
  const { body, context } = call;
  const tenant = await readTenant(call, namedWorkspace(call));
  await requireScopes(context, [mcpScopeOf(levelOf(tenant), "create")]);
  const slug = body.slug ?? createSlug(body.name, { letters: 24 });
  const { id, statements } = await createMcpIntegrationRows(call, tenant, slug);
  return { answer: { id, slug }, recordId: id, statements, applied: () => syncFirst(id, context) };
}

async function updateMcpIntegration(call: AdminCall<UpdateMcpIntegration>) {
  const { body, context } = call;
  const row = await findMcpIntegration(call, "update");
  const { statements, isMoved: hasNewAddress } = await updateMcpIntegrationRows(call, row);
  const isMoved = hasNewAddress || body.openapi !== undefined;
  const applied = () => (isMoved ? syncFirst(row.id, context) : undefined);
  return { answer: {}, recordId: row.id, statements, applied };
}

async function deleteMcpIntegration(call: AdminCall<undefined>) {
  const row = await findMcpIntegration(call, "delete");
  const used = await call.stores.mcpServers.count(organisationOf(row), { where: { integrationId: row.id } });
  if (used > 0) {
    throw new ConflictError(`Cannot delete this MCP integration: ${used} MCP servers use it`, { code: "AB07" });
  }
  return { answer: {}, recordId: row.id, statements: await removeMcpIntegrationRows(call, row) };
}

const row = { tag: "MCP integrations" };
const access = (verb: string) => ({
  keys: "any" as const,
  scopes: [mcpScopeOf("workspace", verb), mcpScopeOf("organisation", verb)],
});
const audit = (action: string) => ({ resource: "mcp_integrations", action, store: "mcpIntegrations" as const });
const one = "/v1/mcp-integrations/:slug";

/** Endpoints of MCP integrations: upstream MCP servers and their credentials. */
export const mcpIntegrationEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/mcp-integrations",
    summary: "List MCP integrations",
    access: access("list"),
    query: [
      { name: "workspace_id", description: "Integrations this workspace may use, for keys of the organisation" },
      { name: "type", description: "workspace, organisation or all (default)" },
      { name: "search", description: "Text in the name or slug, at least 2 characters" },
      { name: "current_page", description: "Counted from 0" },
      { name: "page_size", description: "1 to 1000; default 100" },
    ],
    response: McpIntegrationList,
    handle: listMcpIntegrations,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: "/v1/mcp-integrations",
    summary: "Create an MCP integration",
    access: access("create"),
    audit: audit("create"),
    body: CreateMcpIntegration,
    response: CreatedMcpRecord,
    handle: createMcpIntegration,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show an MCP integration",
    access: access("read"),
    response: ShownMcpIntegration,
    handle: readMcpIntegration,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change an MCP integration",
    access: access("update"),
    audit: audit("update"),
    body: UpdateMcpIntegration,
    response: NoContent,
    handle: updateMcpIntegration,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Delete an MCP integration",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteMcpIntegration,
  }),
];

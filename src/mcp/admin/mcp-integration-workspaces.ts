import { type AdminCall, type AnswerOf, defineRead, defineWrite } from "../../admin/core/endpoint.ts";
import { forbid, readText, refuseField } from "../../admin/core/request.ts";
import type { McpIntegrationRow } from "../../db/tables/mcp.ts";
import type { WorkspaceRow } from "../../db/tables/tenants.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { isObject } from "../../lib/json.ts";
import { McpWorkspaceList, UpdateMcpWorkspaces } from "../../schemas/mcp.ts";
import { NoContent } from "../../schemas/objects.ts";
import { findMcpIntegration, mcpScopeOf, organisationOf } from "./mcp-integration-records.ts";

/** Access of workspaces created later, as responses show it. */
function showGlobalAccess({ globalWorkspaceAccess: stored }: McpIntegrationRow) {
  return isObject(stored) ? { enabled: stored.enabled === true } : null;
}

async function listWorkspaces(call: AdminCall<undefined>): Promise<AnswerOf<typeof McpWorkspaceList>> {
  const { stores } = call;
  const integration = await findMcpIntegration(call, "read");
  const tenant = organisationOf(integration);
  const workspaces = await stores.workspaces.all(tenant, { where: { status: "active" } });
  const accesses = await stores.mcpIntegrationWorkspaces.all(tenant, { where: { integrationId: integration.id } });
  const enabledIn = new Map(accesses.map(({ workspaceId, enabled }) => [workspaceId, enabled]));
  if (integration.workspaceId !== null) enabledIn.set(integration.workspaceId, true);
  const data = workspaces.flatMap(({ id, name, slug }) => {
    const enabled = enabledIn.get(id);
    return enabled === undefined ? [] : [{ id, name, slug, enabled }];
  });
  const global_workspace_access = showGlobalAccess(integration);
  // clients that name a version expect the shape of other lists
  return readText(call.query, "version") === undefined
    ? { workspaces: data, global_workspace_access }
    : { data, total: data.length, global_workspace_access };
}

/** What the body says of individual workspaces, by their id. */
function readNamed({ body }: AdminCall<UpdateMcpWorkspaces>, workspaces: readonly WorkspaceRow[]) {
  const named = new Map<string, boolean>();
  for (const [index, given] of body.workspaces.entries()) {
    const param = `workspaces.${index}.id`;
    const found = workspaces.find(({ id, slug }) => given.id === id || given.id === slug);
    const { id } = found ?? forbid("This key has no access to this workspace", param);
    if (named.has(id)) refuseField(param, "is listed twice");
    named.set(id, given.enabled);
  }
  return named;
}

/** The access every workspace gets; undefined when it does not change. */
function readOverride({ body }: AdminCall<UpdateMcpWorkspaces>, integration: McpIntegrationRow): boolean | undefined {
  if (!body.override_existing_workspace_access) return undefined;
  const { global_workspace_access: given = showGlobalAccess(integration) } = body;
  return given?.enabled ?? refuseField("override_existing_workspace_access", "needs global_workspace_access");
}

async function updateWorkspaces(call: AdminCall<UpdateMcpWorkspaces>) {
  const { body, stores, now } = call;
  const integration = await findMcpIntegration(call, "update");
  if (integration.workspaceId !== null) {
    refuseField("workspaces", "cannot be set: the MCP integration belongs to one workspace");
  }
  const { id: integrationId, organisationId, workspaceId } = integration;
  const organisation = organisationOf(integration);
  const workspaces = await stores.workspaces.all(organisation, { where: { status: "active" } });
  const accesses = await stores.mcpIntegrationWorkspaces.all(organisation, { where: { integrationId } });
  const override = readOverride(call, integration);
  const named = readNamed(call, workspaces);
  const written = workspaces.flatMap(({ id }) => {
    const enabled = named.get(id) ?? override;
    const stored = accesses.find((access) => access.workspaceId === id);
    if (enabled === undefined || stored?.enabled === enabled) return [];
    const tenant = { organisationId, workspaceId: id };
    const store = stores.mcpIntegrationWorkspaces;
    return stored
      ? [store.update(tenant, { integrationId }, { enabled, lastUpdatedAt: now })]
      : [store.insert(tenant, { ...tenant, integrationId, enabled, createdAt: now })];
  });
  const changes = { globalWorkspaceAccess: body.global_workspace_access, lastUpdatedAt: now };
  const row = stores.mcpIntegrations.update(organisation, { id: integrationId, workspaceId }, changes);
  return { answer: {}, recordId: integrationId, statements: [...written, row] };
}

const row = { tag: "MCP integrations", path: "/v1/mcp-integrations/:slug/workspaces" };
const access = (verb: string) => ({
  keys: "admin" as const,
  scopes: [mcpScopeOf("organisation", verb), mcpScopeOf("workspace", verb)],
});

/** Endpoints of the workspaces an MCP integration is shared with. */
export const mcpIntegrationWorkspaceEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    summary: "List the workspaces that may use an MCP integration",
    access: access("read"),
    response: McpWorkspaceList,
    handle: listWorkspaces,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    summary: "Change which workspaces may use an MCP integration",
    access: access("update"),
    audit: { resource: "mcp_integrations", action: "update", store: "mcpIntegrations" as const },
    body: UpdateMcpWorkspaces,
    response: NoContent,
    handle: updateWorkspaces,
  }),
];

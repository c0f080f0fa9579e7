import type { AdminCall } from "../../admin/core/endpoint.ts";
import { namedWorkspace, readTenant, requireFound } from "../../admin/core/request.ts";
import type { McpIntegrationRow, McpServerRow } from "../../db/tables/mcp.ts";
import { organisationOf } from "./mcp-integration-records.ts";

/** The tenant of a server's rows. */
export function ofServer({ organisationId, workspaceId }: McpServerRow) {
  return { organisationId, workspaceId };
}

/**
 * The MCP server a path names.
 *
 * @throws {NotFoundError} AB08 for unknown and foreign ones alike.
 */
export async function findMcpServer(call: AdminCall<unknown>): Promise<McpServerRow> {
  const tenant = await readTenant(call, namedWorkspace(call));
  const row = requireFound(await call.stores.mcpServers.get(tenant, call.params.slug ?? ""), "MCP server");
  if (tenant.workspaceId === null) call.context.namedWorkspaceId = row.workspaceId;
  return row;
}

/** The integration of a server; undefined for one that joins others. */
export async function findIntegrationOf(
  { stores }: Pick<AdminCall<unknown>, "stores">,
  row: McpServerRow,
): Promise<McpIntegrationRow | undefined> {
  if (row.integrationId === null) return undefined;
  return stores.mcpIntegrations.find(organisationOf(row), { id: row.integrationId });
}

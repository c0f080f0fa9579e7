import type { Statement } from "../../db/client.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminCall } from "./endpoint.ts";

/** Kind of the rows in `secrets` with the tokens of an account. */
const secretKind = "mcp_connections";

/**
 * Statements that remove accounts of users at upstream MCP servers, their tokens first: those of a user, or those at a server. In a
 * tenant without a workspace in all workspaces.
 */
export async function removeUpstreamAccounts(
  { stores }: Pick<AdminCall<unknown>, "stores">,
  tenant: Tenant,
  where: { readonly userId: string } | { readonly serverId: string },
): Promise<Statement[]> {
  const rows = await stores.mcpConnections.all(tenant, { where });
  return rows.flatMap(({ id, organisationId, workspaceId }) => {
    const place = { organisationId, workspaceId };
    return [
      stores.secrets.remove(place, { kind: secretKind, recordId: id }),
      stores.mcpConnections.remove(place, { id }),
    ];
  });
}

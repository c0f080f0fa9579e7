import type { AdminCall } from "../../admin/core/endpoint.ts";
import { refuseField } from "../../admin/core/request.ts";
import type { Credentials } from "../../admin/integrations/integration-secrets.ts";
import { configurationPrefix, toPaths } from "../../control/integration-fields.ts";
import type { Statement } from "../../db/client.ts";
import type { McpIntegrationRow } from "../../db/tables/mcp.ts";
import { requireScopes } from "../../endpoint/role.ts";
import { mayHoldToken } from "../registry/oauth/external-tokens.ts";

/** The scope to decide who callers of MCP servers are, and which accounts users have at upstream servers. */
export const identityScope = "organisation_mcp_identity.update";

/** The group of `configurations` that says who callers are, and receives their tokens. */
const group = "jwt_validation";

const isOfGroup = (path: string) => path === group || path.startsWith(`${group}.`);

/** The settings of the group as one text. */
function textOf(configurations: unknown): string {
  const paths = [...toPaths(configurations)].filter(([path]) => isOfGroup(path));
  return JSON.stringify(paths.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The mappings to fields of the group as one text. */
function mappingsOf(mappings: unknown): string {
  const list: unknown[] = Array.isArray(mappings) ? mappings : [];
  return JSON.stringify(list.filter((one) => JSON.stringify(one).includes(`"${configurationPrefix}${group}`)));
}

/** Whether a change of an integration changes who its callers are. */
export function changesIdentity(
  row: Pick<McpIntegrationRow, "configurations" | "secretMappings"> | undefined,
  { configurations, secrets, removed }: Credentials,
  mappings: unknown = row?.secretMappings,
): boolean {
  return (
    textOf(row?.configurations) !== textOf(configurations) ||
    mappingsOf(row?.secretMappings) !== mappingsOf(mappings) ||
    [...secrets.keys(), ...removed].some(
      (field) => field.startsWith(configurationPrefix) && isOfGroup(field.slice(configurationPrefix.length)),
    )
  );
}

/**
 * Refuses a change of who callers are to all but administrators of the organisation, and a header for tokens that holds other
 * credentials.
 *
 * @throws {PermissionError} AB03
 * @throws {InvalidRequestError} AB01
 */
export async function requireIdentityChange({ context }: AdminCall<unknown>, { configurations }: Credentials) {
  await requireScopes(context, [identityScope]);
  const header = toPaths(configurations).get(`${group}.headerKey`);
  if (typeof header === "string" && !mayHoldToken(header.toLowerCase(), context.services.headerRules)) {
    refuseField(`${configurationPrefix}${group}.headerKey`, "is a header that holds other credentials");
  }
}

/** Statements after which the users of the servers of an integration have to connect their accounts again. */
export async function parkAccounts(
  { stores, now }: AdminCall<unknown>,
  { id: integrationId, organisationId }: McpIntegrationRow,
): Promise<Statement[]> {
  const organisation = { organisationId, workspaceId: null };
  const servers = await stores.mcpServers.all(organisation, { where: { integrationId } });
  const where = { serverId: servers.map(({ id }) => id), status: "connected" as const };
  if (servers.length === 0) return [];
  const accounts = await stores.mcpConnections.all(organisation, { where });
  const changes = { status: "needs_reauth" as const, lastUpdatedAt: now };
  return accounts.map(({ id, workspaceId }) =>
    stores.mcpConnections.update({ organisationId, workspaceId }, { id }, changes),
  );
}

import * as v from "valibot";
import type { AdminCall } from "../../admin/core/endpoint.ts";
import { toJson } from "../../admin/core/json-column.ts";
import { refuseField, requireReferenced } from "../../admin/core/request.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { McpServerRow } from "../../db/tables/mcp.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { type Aggregate, type ShownAggregate, StoredAggregate } from "../../schemas/mcp.ts";
import { organisationOf } from "./mcp-integration-records.ts";

/** What a server joins, as responses show it; null for servers of an integration. */
export function showAggregate({ aggregate }: McpServerRow): ShownAggregate | null {
  const read = v.safeParse(StoredAggregate, aggregate);
  if (!read.success) return null;
  const members = read.output.members.map(({ server_id, prefix, include = null, exclude = null }) => ({
    mcp_server_id: server_id,
    prefix,
    include,
    exclude,
  }));
  return { members, prefix_mode: read.output.prefix_mode };
}

/** Names of tools and prompts that a member contributes. */
async function namesOf(
  { stores }: AdminCall<unknown>,
  server: McpServerRow,
  { include, exclude }: Aggregate["members"][number],
): Promise<string[]> {
  const where = { integrationId: server.integrationId ?? "", type: ["tool", "prompt"] as const, isListed: true };
  const rows = await stores.mcpCapabilities.all(organisationOf(server), { where });
  const isMeant = (name: string) => (include?.includes(name) ?? true) && !exclude?.includes(name);
  return rows.filter(({ name }) => isMeant(name)).map(({ type, name }) => `${type} ${name}`);
}

/**
 * What a server joins, as it is stored.
 *
 * @throws {NotFoundError} AB02 for a member that is no server of the workspace.
 * @throws {InvalidRequestError} AB01 for a member that joins others itself, and for names that clash without prefixes.
 */
export async function readAggregate(call: AdminCall<unknown>, tenant: Tenant, given: Aggregate): Promise<JsonValue> {
  const members: { server_id: string; prefix: string; include: unknown; exclude: unknown }[] = [];
  const seen = new Map<string, string>();
  for (const [index, member] of given.members.entries()) {
    const param = `aggregate.members.${index}.mcp_server_id`;
    const row = requireReferenced(await call.stores.mcpServers.get(tenant, member.mcp_server_id), param);
    if (row.integrationId === null) refuseField(param, "cannot be a server that joins others");
    if (members.some(({ server_id }) => server_id === row.id)) refuseField(param, "is listed twice");
    const { prefix, include = null, exclude = null } = member;
    members.push({ server_id: row.id, prefix, include, exclude });
    if (given.prefix_mode !== "never") continue;
    for (const name of await namesOf(call, row, member)) {
      const other = seen.get(name);
      if (other !== undefined) refuseField("aggregate", `needs prefixes: ${other} and ${row.slug} have the ${name}`);
      seen.set(name, row.slug);
    }
  }
  return toJson({ members, prefix_mode: given.prefix_mode });
}

import type { GuardrailRow } from "../../db/tables/guardrails.ts";
import type { McpServerGuardrailRow } from "../../db/tables/mcp.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { ServerMapping } from "../../schemas/guardrails.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { type Direction, directions } from "../core/named-records.ts";
import { toIso } from "../core/request.ts";

/** Directions in which a mapped guardrail runs. */
export function directionsOf({ runOn }: McpServerGuardrailRow): Direction[] {
  return directions.filter((direction) => runOn.includes(direction));
}

/** A mapping as responses show it. */
export function showMapping(row: McpServerGuardrailRow): ServerMapping {
  return {
    id: row.id,
    guardrail_id: row.guardrailId,
    mcp_server_id: row.serverId,
    run_on: directionsOf(row),
    capability_ids: row.capabilityIds,
    created_at: toIso(row.createdAt),
    last_updated_at: row.lastUpdatedAt === 0 ? null : toIso(row.lastUpdatedAt),
  };
}

/** The mappings of a guardrail to servers that a tenant has. */
export function readServerMappings(
  { stores }: Pick<AdminCall<unknown>, "stores">,
  { organisationId, workspaceId }: Tenant,
  { id }: Pick<GuardrailRow, "id">,
): Promise<McpServerGuardrailRow[]> {
  return stores.mcpServerGuardrails.all({ organisationId, workspaceId }, { where: { guardrailId: id } });
}

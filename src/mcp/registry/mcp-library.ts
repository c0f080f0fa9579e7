import type { StoredReference } from "../../control/provider-library.ts";
import type { ContentOpener } from "../../control/sealed-contents.ts";
import { mayUseReference } from "../../control/secret-managers/open.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import type {
  McpCapabilityRow,
  McpIntegrationRow,
  McpServerCapabilityRow,
  McpServerGuardrailRow,
  McpServerRow,
} from "../../db/tables/mcp.ts";
import type { SecretRow } from "../../db/tables/secrets.ts";
import { readTogether, type Tenant } from "../../db/tenant-store.ts";
import { groupBy } from "../../lib/records.ts";

/** `kind` of the rows in `secrets` with the secrets of an MCP integration. */
export const mcpSecretKind = "mcp_integrations";

/** Field of the sealed address of an integration. One that holds no secret is in its row alone. */
export const mcpAddressField = "url";

/** An MCP integration with what belongs to it. */
interface StoredMcpIntegration {
  /** With its address in clear. */
  readonly row: McpIntegrationRow;
  readonly capabilities: readonly McpCapabilityRow[];
  readonly secrets: readonly SecretRow[];
}

/** An MCP server with all it needs to be called. */
export interface StoredMcpServer {
  readonly row: McpServerRow;
  /** Undefined for a server that joins others. */
  readonly integration: StoredMcpIntegration | undefined;
  /** Whether the workspace may use the integration. */
  readonly hasAccess: boolean;
  /** What the workspace switched on or off. */
  readonly switches: readonly McpServerCapabilityRow[];
  /** Users with a separate entry, and whether they may use it. */
  readonly users: ReadonlyMap<string, boolean>;
  readonly guardrails: readonly McpServerGuardrailRow[];
  /** References its secrets come from, where it has any. */
  readonly references: readonly StoredReference[];
}

/** MCP integrations by id. */
type McpIntegrations = ReadonlyMap<string, StoredMcpIntegration>;

/** MCP servers of a workspace, and the ids of the organisation's integrations that it may use. */
interface McpServerRows {
  readonly servers: readonly Omit<StoredMcpServer, "hasAccess" | "integration" | "references">[];
  readonly open: ReadonlySet<string>;
}

/** A row with its address in clear; undefined if that cannot be opened. */
async function withAddress(
  row: McpIntegrationRow,
  secrets: readonly SecretRow[],
  opener: ContentOpener,
): Promise<McpIntegrationRow | undefined> {
  const sealed = secrets.find(({ field }) => field === mcpAddressField);
  if (!sealed) return row;
  const url = await opener.text(sealed);
  return url === undefined ? undefined : { ...row, url };
}

/**
 * Reads the MCP integrations of one workspace or, without one, those of the organisation itself. One whose address cannot be
 * opened is left out.
 */
export async function readMcpIntegrations(
  { mcpIntegrations, mcpCapabilities, secrets }: Pick<ControlStores, "mcpIntegrations" | "mcpCapabilities" | "secrets">,
  { organisationId, workspaceId }: Tenant,
  opener: ContentOpener,
): Promise<McpIntegrations> {
  const organisation = { organisationId, workspaceId: null };
  const ids = mcpIntegrations.values(organisation, "id", { workspaceId });
  const [rows, capabilities, sealed] = await readTogether([
    mcpIntegrations.query(organisation, { where: { workspaceId } }),
    mcpCapabilities.query(organisation, { where: { integrationId: ids } }),
    secrets.query(organisation, { where: { kind: mcpSecretKind, recordId: ids } }),
  ]);
  const capabilitiesOf = groupBy(capabilities, ({ integrationId }) => integrationId);
  const secretsOf = groupBy(sealed, ({ recordId }) => recordId);
  const stored = await Promise.all(
    rows.map(async (masked): Promise<[string, StoredMcpIntegration][]> => {
      const { id } = masked;
      const own = secretsOf.get(id) ?? [];
      const row = await withAddress(masked, own, opener);
      return row ? [[id, { row, capabilities: capabilitiesOf.get(id) ?? [], secrets: own }]] : [];
    }),
  );
  return new Map(stored.flat());
}

/** Stores that `readMcpServers` reads. */
type ServerStores = Pick<
  ControlStores,
  "mcpIntegrationWorkspaces" | "mcpServerCapabilities" | "mcpServerGuardrails" | "mcpServers" | "mcpServerUsers"
>;

/** Reads the MCP servers of a workspace. */
export async function readMcpServers(stores: ServerStores, tenant: Tenant): Promise<McpServerRows> {
  const [rows, switches, users, guardrails, accesses] = await readTogether([
    stores.mcpServers.query(tenant),
    stores.mcpServerCapabilities.query(tenant),
    stores.mcpServerUsers.query(tenant),
    stores.mcpServerGuardrails.query(tenant),
    stores.mcpIntegrationWorkspaces.query(tenant, { where: { enabled: true } }),
  ]);
  const switchesOf = groupBy(switches, ({ serverId }) => serverId);
  const usersOf = groupBy(users, ({ serverId }) => serverId);
  const guardrailsOf = groupBy(guardrails, ({ serverId }) => serverId);
  const servers = rows.map((row) => ({
    row,
    switches: switchesOf.get(row.id) ?? [],
    users: new Map((usersOf.get(row.id) ?? []).map(({ userId, enabled }) => [userId, enabled])),
    guardrails: guardrailsOf.get(row.id) ?? [],
  }));
  return { servers, open: new Set(accesses.map(({ integrationId }) => integrationId)) };
}

/** MCP servers with their integrations, by slug; one whose integration the workspace cannot have is left out. */
export function joinMcpServers(
  { servers, open }: McpServerRows,
  shared: McpIntegrations,
  own: McpIntegrations,
  references: readonly StoredReference[],
): ReadonlyMap<string, StoredMcpServer> {
  const joined = servers.flatMap((server): StoredMcpServer[] => {
    const { row } = server;
    const id = row.integrationId;
    if (id === null) return [{ ...server, integration: undefined, hasAccess: true, references: [] }];
    const integration = own.get(id) ?? shared.get(id);
    if (!integration) return [];
    const mapped = integration.row.secretMappings === null ? [] : references;
    return [
      {
        ...server,
        integration,
        hasAccess: own.has(id) || open.has(id),
        references: mapped.filter((reference) => mayUseReference(reference.row, row.workspaceId)),
      },
    ];
  });
  return new Map(joined.map((server) => [server.row.slug, server]));
}

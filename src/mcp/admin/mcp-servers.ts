import * as v from "valibot";
import type { AdminCall } from "../../admin/core/endpoint.ts";
import { toJson } from "../../admin/core/json-column.ts";
import { defineRecord } from "../../admin/core/record.ts";
import type { Found, NewPlace } from "../../admin/core/record-definitions.ts";
import { isRecordId, readSearch, readText, refuseField, requireReferenced, toIso } from "../../admin/core/request.ts";
import { removeUpstreamAccounts } from "../../admin/core/upstream-accounts.ts";
import { showConfigurations } from "../../admin/integrations/integration-secrets.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { McpIntegrationRow, McpServerRow } from "../../db/tables/mcp.ts";
import type { ListOptions, Tenant } from "../../db/tenant-store.ts";
import { baseOf } from "../../endpoint/public-origin.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { isObject } from "../../lib/json.ts";
import {
  CreatedMcpRecord,
  CreateMcpServer,
  type IntegrationDetails,
  McpServerList,
  type McpServerRecord,
  McpServerSettings,
  ShownMcpServer,
  UpdateMcpServer,
} from "../../schemas/mcp.ts";
import { NoContent } from "../../schemas/objects.ts";
import { readAggregate, showAggregate } from "./mcp-aggregates.ts";
import { mayUseMcp, organisationOf, showAddress } from "./mcp-integration-records.ts";
import { findIntegrationOf, findMcpServer } from "./mcp-server-records.ts";

/** The address at which clients reach a server. */
function addressOf({ slug }: McpServerRow, { context }: AdminCall<unknown>): string {
  return `${baseOf(context)}/m/${slug}/mcp`;
}

function toRecord(row: McpServerRow, call: AdminCall<unknown>): McpServerRecord {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    description: row.description,
    status: row.status,
    workspace_id: row.workspaceId,
    mcp_integration_id: row.integrationId,
    aggregate: showAggregate(row),
    default_user_access: row.defaultUserAccess,
    settings: v.parse(McpServerSettings, row.settings),
    url: addressOf(row, call),
    created_at: toIso(row.createdAt),
    last_updated_at: row.lastUpdatedAt === 0 ? null : toIso(row.lastUpdatedAt),
  };
}

/** The integration of a server as its workspace may see it: settings of the organisation's are its own. */
function showIntegration({ tenant }: AdminCall<unknown>, row: McpIntegrationRow | undefined): IntegrationDetails {
  if (!row) return null;
  const isOwn = tenant.workspaceId === null || row.workspaceId !== null;
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    status: row.status,
    configurations: isOwn ? showConfigurations(row) : {},
    url: showAddress(row),
    transport: row.transport,
    auth_type: row.authType,
  };
}

/** Ids a list is filtered by; undefined for all. */
function readIds(query: URLSearchParams): string[] | undefined {
  const text = readText(query, "id");
  if (text === undefined) return undefined;
  return text.split(",").filter((id) => isRecordId(id.trim()));
}

function selectServers({ query }: AdminCall<undefined>): ListOptions<McpServerRow> {
  const ids = readIds(query);
  if ((readSearch(query)?.length ?? 0) > 255) refuseField("search", "must have at most 255 characters");
  return ids ? { where: { id: ids } } : {};
}

/** Servers with their integrations and workspaces. */
async function showServers(rows: readonly McpServerRow[], call: AdminCall<undefined>, tenant: Tenant) {
  const organisation = organisationOf(tenant);
  const found = rows.flatMap(({ integrationId }) => integrationId ?? []);
  const integrations = await call.stores.mcpIntegrations.all(organisation, { where: { id: found } });
  const places = await call.stores.workspaces.all(organisation, { where: { id: rows.map((one) => one.workspaceId) } });
  return rows.map((one) => {
    const integration = integrations.find(({ id }) => id === one.integrationId);
    const place = places.find(({ id }) => id === one.workspaceId);
    return {
      ...toRecord(one, call),
      organisation_id: one.organisationId,
      owner_id: one.ownerId,
      mcp_integration_slug: integration?.slug ?? null,
      mcp_integration_name: integration?.name ?? null,
      mcp_integration_url: integration ? showAddress(integration) : null,
      auth_type: integration?.authType ?? null,
      workspace_name: place?.name ?? null,
      workspace_slug: place?.slug ?? null,
    };
  });
}

/** Settings after a change: absent fields stay, defaults are not stored. */
function applySettings(stored: unknown, given: object | null | undefined): JsonValue {
  const former = isObject(stored) ? stored : {};
  const changes = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return toJson(given === null ? {} : { ...former, ...Object.fromEntries(changes) });
}

/** @throws {NotFoundError} AB02 for an integration that the workspace may not use. */
async function requireIntegration(
  call: AdminCall<CreateMcpServer>,
  tenant: Tenant,
  name: string,
): Promise<McpIntegrationRow> {
  const param = "mcp_integration_id";
  const found = await call.stores.mcpIntegrations.get(tenant, name, { includeOrganisation: true });
  const row = requireReferenced(found, param);
  return requireReferenced((await mayUseMcp(call, tenant, row)) ? row : undefined, param);
}

/** What a new server is made of: an integration, or other servers. */
async function readParts(call: AdminCall<CreateMcpServer>, tenant: Tenant) {
  const { mcp_integration_id: integration, aggregate } = call.body;
  if (integration && aggregate) refuseField("aggregate", "cannot be given together with mcp_integration_id");
  if (aggregate) return { integrationId: null, aggregate: await readAggregate(call, tenant, aggregate) };
  const name = integration ?? refuseField("mcp_integration_id", "must be given, or aggregate");
  return { integrationId: (await requireIntegration(call, tenant, name)).id };
}

async function createMcpServer(call: AdminCall<CreateMcpServer>, { tenant, id, slug }: NewPlace<"mcpServers">) {
  const { body, actor } = call;
  return {
    answer: { id, slug },
    columns: {
      name: body.name,
      description: body.description ?? null,
      ownerId: actor,
      status: "active" as const,
      ...(await readParts(call, tenant)),
      settings: applySettings({}, body.settings),
      lastUpdatedAt: 0,
    },
  };
}

async function updateMcpServer(call: AdminCall<UpdateMcpServer>, { row, tenant }: Found<"mcpServers">) {
  const { body } = call;
  if (body.aggregate && row.integrationId !== null) {
    refuseField("aggregate", "cannot be set: the MCP server is made of an integration");
  }
  return {
    answer: {},
    columns: {
      name: body.name,
      aggregate: body.aggregate && (await readAggregate(call, tenant, body.aggregate)),
      description: body.description,
      settings: body.settings === undefined ? undefined : applySettings(row.settings, body.settings),
    },
  };
}

const servers = defineRecord({
  tag: "MCP servers",
  path: "/v1/mcp-servers",
  param: "slug",
  words: { one: "an MCP server", many: "MCP servers" },
  store: "mcpServers",
  audit: "mcp_servers",
  access: "mcp_servers",
  find: findMcpServer,
});

/** Endpoints of MCP servers: MCP integrations in use in a workspace. */
export const mcpServerEndpoints: readonly AdminEndpoint[] = [
  servers.list({
    response: McpServerList,
    ofWorkspaces: "The workspace, for keys of the organisation; default: all",
    query: [{ name: "id", description: "Comma-separated ids" }],
    search: ["name", "slug"],
    page: 100,
    maxPage: 100,
    select: selectServers,
    show: showServers,
  }),
  servers.create({
    body: CreateMcpServer,
    response: CreatedMcpRecord,
    slug: { letters: 24 },
    decide: createMcpServer,
  }),
  servers.show({
    response: ShownMcpServer,
    async show({ row }, call) {
      const integration = await findIntegrationOf(call, row);
      return { ...toRecord(row, call), mcp_integration_details: showIntegration(call, integration) };
    },
  }),
  servers.change({ body: UpdateMcpServer, response: NoContent, decide: updateMcpServer }),
  servers.remove({ before: (call, { row, tenant }) => removeUpstreamAccounts(call, tenant, { serverId: row.id }) }),
];

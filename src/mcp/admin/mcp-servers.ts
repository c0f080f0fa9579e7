import * as v from "valibot";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../../admin/core/endpoint.ts";
import { toJson } from "../../admin/core/json-column.ts";
import {
  createSlug,
  isRecordId,
  readPage,
  readSearch,
  readTenant,
  readText,
  refuseField,
  requireReferenced,
  requireWorkspace,
  toIso,
} from "../../admin/core/request.ts";
import { removeUpstreamAccounts } from "../../admin/core/upstream-accounts.ts";
import { showConfigurations } from "../../admin/integrations/integration-secrets.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { McpIntegrationRow, McpServerRow } from "../../db/tables/mcp.ts";
import type { Tenant } from "../../db/tenant-store.ts";
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
import { findIntegrationOf, findMcpServer, ofServer } from "./mcp-server-records.ts";

/** The address at which clients reach a server. */
function addressOf({ slug }: McpServerRow, { context: { services, url } }: AdminCall<unknown>): string {
  return `${services.mcp.settings.baseUrl ?? url.origin}/m/${slug}/mcp`;
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

async function listMcpServers(call: AdminCall<undefined>): Promise<AnswerOf<typeof McpServerList>> {
  const { stores, query } = call;
  const tenant = await readTenant(call);
  const ids = readIds(query);
  const text = readSearch(query);
  if (text !== undefined && text.length > 255) refuseField("search", "must have at most 255 characters");
  const { rows, total } = await stores.mcpServers.list(tenant, {
    page: readPage(query, { size: 100, max: 100 }),
    ...(ids && { where: { id: ids } }),
    ...(text !== undefined && { search: { columns: ["name", "slug"], text } }),
  });
  const organisation = organisationOf(tenant);
  const found = rows.flatMap(({ integrationId }) => integrationId ?? []);
  const integrations = await stores.mcpIntegrations.all(organisation, { where: { id: found } });
  const places = await stores.workspaces.all(organisation, { where: { id: rows.map((one) => one.workspaceId) } });
  const data = rows.map((one) => {
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
  return { data, total };
}

async function readMcpServer(call: AdminCall<undefined>): Promise<AnswerOf<typeof ShownMcpServer>> {
  const found = await findMcpServer(call);
  const integration = await findIntegrationOf(call, found);
  return { ...toRecord(found, call), mcp_integration_details: showIntegration(call, integration) };
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

async function createMcpServer(call: AdminCall<CreateMcpServer>): Promise<Outcome<AnswerOf<typeof CreatedMcpRecord>>> {
  const { body, stores, now, actor } = call;
  const tenant = await requireWorkspace(call, body.workspace_id ?? readText(call.query, "workspace_id"));
  const parts = await readParts(call, tenant);
  const id = crypto.randomUUID();
  const slug = body.slug ?? createSlug(body.name, { letters: 24 });
  const row = {
    id,
    ...tenant,
    slug,
    name: body.name,
    description: body.description ?? null,
    ownerId: actor,
    status: "active" as const,
    ...parts,
    settings: applySettings({}, body.settings),
    createdAt: now,
  };
  return { answer: { id, slug }, recordId: id, statements: [stores.mcpServers.insert(tenant, row)] };
}

async function updateMcpServer(call: AdminCall<UpdateMcpServer>) {
  const { body, stores, now } = call;
  const found = await findMcpServer(call);
  if (body.aggregate && found.integrationId !== null) {
    refuseField("aggregate", "cannot be set: the MCP server is made of an integration");
  }
  const changes = {
    name: body.name,
    aggregate: body.aggregate && (await readAggregate(call, ofServer(found), body.aggregate)),
    description: body.description,
    settings: body.settings === undefined ? undefined : applySettings(found.settings, body.settings),
    lastUpdatedAt: now,
  };
  const statement = stores.mcpServers.update(ofServer(found), { id: found.id }, changes);
  return { answer: {}, recordId: found.id, statements: [statement] };
}

async function deleteMcpServer(call: AdminCall<undefined>) {
  const found = await findMcpServer(call);
  const tenant = ofServer(found);
  const statements = [
    ...(await removeUpstreamAccounts(call, tenant, { serverId: found.id })),
    call.stores.mcpServers.remove(tenant, { id: found.id }),
  ];
  return { answer: {}, recordId: found.id, statements };
}

const row = { tag: "MCP servers" };
const access = (verb: string) => ({ keys: "any" as const, scopes: [`mcp_servers.${verb}`] });
const audit = (action: string) => ({ resource: "mcp_servers", action, store: "mcpServers" as const });
const one = "/v1/mcp-servers/:slug";

/** Endpoints of MCP servers: MCP integrations in use in a workspace. */
export const mcpServerEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/mcp-servers",
    summary: "List MCP servers",
    access: access("list"),
    query: [
      { name: "workspace_id", description: "The workspace, for keys of the organisation; default: all" },
      { name: "id", description: "Comma-separated ids" },
      { name: "search", description: "Text in the name or slug, 2 to 255 characters" },
      { name: "current_page", description: "Counted from 0" },
      { name: "page_size", description: "1 to 100; default 100" },
    ],
    response: McpServerList,
    handle: listMcpServers,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: "/v1/mcp-servers",
    summary: "Create an MCP server",
    access: access("create"),
    audit: audit("create"),
    body: CreateMcpServer,
    response: CreatedMcpRecord,
    handle: createMcpServer,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show an MCP server",
    access: access("read"),
    response: ShownMcpServer,
    handle: readMcpServer,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change an MCP server",
    access: access("update"),
    audit: audit("update"),
    body: UpdateMcpServer,
    response: NoContent,
    handle: updateMcpServer,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Delete an MCP server",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteMcpServer,
  }),
];

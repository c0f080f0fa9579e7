import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../../admin/core/endpoint.ts";
import { toJson } from "../../admin/core/json-column.ts";
import { requireFound } from "../../admin/core/request.ts";
import { levelOf } from "../../admin/integrations/integration-records.ts";
import { maskSecret } from "../../auth/api-key.ts";
import type { McpIntegrationRow } from "../../db/tables/mcp.ts";
import { requireScopes } from "../../endpoint/role.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import { ClientInfo, capabilityTypes, McpSuccess, SyncCapabilities, SyncMetadata } from "../../schemas/mcp.ts";
import { readUpstreamSettings } from "../registry/oauth/upstream-settings.ts";
import { mcpScopeOf, organisationOf } from "./mcp-integration-records.ts";
import { findIntegrationOf, findMcpServer, ofServer } from "./mcp-server-records.ts";

// What a server offers and says of itself, where others read it: at some servers only users have accounts.

/**
 * The integration of the server that a path names, whose records a call changes.
 *
 * @throws {PermissionError} AB03 if the key lacks the scope for its level: all workspaces that use it are affected.
 */
async function findChanged(call: AdminCall<unknown>): Promise<McpIntegrationRow> {
  const row = await findIntegrationOf(call, await findMcpServer(call));
  if (!row) throw new InvalidRequestError("Cannot do this: the MCP server joins others", { code: "AB01" });
  await requireScopes(call.context, [mcpScopeOf(levelOf(row), "update")]);
  return row;
}

type Given = SyncCapabilities["capabilities"][number];

/** A capability in the form in which servers list it. */
function toDefinition({ type, name, ...given }: Given): Record<string, unknown> {
  const isNamedByUri = type === "resource" || type === "resource_template";
  const definition = {
    name: isNamedByUri ? (given.title ?? name) : name,
    title: given.title,
    description: given.description,
    icons: given.icons,
    inputSchema: given.input_schema ?? (type === "tool" ? (given.schema ?? { type: "object" }) : undefined),
    outputSchema: given.output_schema,
    execution: given.execution,
    annotations: given.annotations,
    arguments: given.arguments,
    uri: type === "resource" ? (given.uri ?? name) : undefined,
    uriTemplate: type === "resource_template" ? (given.uri_template ?? name) : undefined,
    mimeType: given.mime_type,
    size: given.size,
  };
  return Object.fromEntries(Object.entries(definition).filter(([, value]) => value != null));
}

/** What a server said of itself, as it is stored. */
function describedIn({ metadata }: McpIntegrationRow) {
  const stored = isObject(metadata) ? metadata : {};
  return {
    protocolVersion: stringOf(stored.protocolVersion) ?? "",
    serverInfo: isObject(stored.serverInfo) ? stored.serverInfo : {},
    capabilities: isObject(stored.capabilities) ? stored.capabilities : {},
    instructions: stringOf(stored.instructions) ?? null,
  };
}

/** Stores lists as a sync would: definitions that changed wait for approval. */
async function syncCapabilities(call: AdminCall<SyncCapabilities>): Promise<Outcome<AnswerOf<typeof McpSuccess>>> {
  const row = await findChanged(call);
  const lists = capabilityTypes.flatMap((kind) => {
    const given = call.body.capabilities.filter(({ type }) => type === kind);
    return given.length === 0 ? [] : [{ kind, items: given.map(toDefinition), isComplete: true }];
  });
  const { mcpSync } = call.context.services.control;
  const { statements } = await mcpSync.store(row, { contents: { description: describedIn(row), lists } });
  return { answer: { success: true }, recordId: row.id, statements };
}

async function syncMetadata(call: AdminCall<SyncMetadata>): Promise<Outcome<AnswerOf<typeof McpSuccess>>> {
  const { body, stores } = call;
  const row = await findChanged(call);
  const { serverInfo, ...former } = describedIn(row);
  const info = {
    ...serverInfo,
    ...(body.server_name !== undefined && { name: body.server_name }),
    ...(body.server_version !== undefined && { version: body.server_version }),
    ...(body.title !== undefined && { title: body.title }),
    ...(body.description !== undefined && { description: body.description }),
    ...(body.website_url !== undefined && { websiteUrl: body.website_url }),
    ...(body.icons !== undefined && { icons: body.icons }),
  };
  const metadata = toJson({
    ...former,
    serverInfo: info,
    ...(body.protocol_version !== undefined && { protocolVersion: body.protocol_version }),
    ...(body.capability_flags !== undefined && { capabilities: body.capability_flags }),
    ...(body.instructions !== undefined && { instructions: body.instructions }),
  });
  const { id, organisationId, workspaceId } = row;
  const statement = stores.mcpIntegrations.update({ organisationId, workspaceId }, { id, workspaceId }, { metadata });
  return { answer: { success: true }, recordId: id, statements: [statement] };
}

/** The gateway's client at the authorization server of a server: the one that settings name, else the last registration. */
async function readClientInfo(call: AdminCall<undefined>): Promise<AnswerOf<typeof ClientInfo>> {
  const row = await findMcpServer(call);
  const server = requireFound(await call.context.services.mcpServers.find(ofServer(row), row.slug), "MCP server");
  const { clientId, clientSecret } = await readUpstreamSettings(server);
  if (clientId !== undefined) {
    return { client_id: clientId, client_secret: clientSecret === undefined ? null : maskSecret(clientSecret) };
  }
  const where = { integrationId: row.integrationId ?? "" };
  const registered = await call.stores.mcpRegistrations.all(organisationOf(row), { where });
  const last = requireFound(registered.toSorted((one, other) => one.createdAt - other.createdAt).at(-1), "client");
  return { client_id: last.clientId, client_secret: last.authMethod === "none" ? null : "********" };
}

const path = "/v1/mcp-servers/:slug";
const audit = (action: string) => ({ resource: "mcp_integrations", action, store: "mcpIntegrations" as const });
const access = (verb: string) => ({ keys: "any" as const, scopes: [`mcp_servers.${verb}`] });

/** Endpoints for what others read of a server, and for the gateway's client there. */
export const mcpPushEndpoints: readonly AdminEndpoint[] = [
  defineWrite({
    tag: "MCP servers",
    method: "POST",
    path: `${path}/capabilities/sync`,
    summary: "Store what a server offers, in place of the lists of the given types",
    access: access("update"),
    audit: audit("sync"),
    body: SyncCapabilities,
    response: McpSuccess,
    handle: syncCapabilities,
  }),
  defineWrite({
    tag: "MCP servers",
    method: "POST",
    path: `${path}/metadata/sync`,
    summary: "Store what a server says of itself",
    access: access("update"),
    audit: audit("sync"),
    body: SyncMetadata,
    response: McpSuccess,
    handle: syncMetadata,
  }),
  defineRead({
    tag: "MCP servers",
    method: "GET",
    path: `${path}/client-info`,
    summary: "Show the gateway's client at the authorization server of an MCP server, its secret masked",
    access: access("read"),
    response: ClientInfo,
    handle: readClientInfo,
  }),
];

import { commitAudited } from "../../admin/core/audit-values.ts";
import { type AdminCall, type AnswerOf, defineRead } from "../../admin/core/endpoint.ts";
import { requireFound, toIso } from "../../admin/core/request.ts";
import { defineUpstreamCall } from "../../admin/core/upstream-call.ts";
import type { CallerContext } from "../../context.ts";
import type { Audited } from "../../control/audit-chain.ts";
import type { McpIntegrationRow } from "../../db/tables/mcp.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import { McpMetadata, McpSyncResult, McpTestResult } from "../../schemas/mcp.ts";
import type { McpServer } from "../registry/mcp-server.ts";
import { type AccountHeaders, needsAccount } from "../registry/mcp-sync.ts";
import type { UpstreamTest } from "../registry/read-upstream.ts";
import { findMcpIntegration, mcpScopeOf, organisationOf, showAddress } from "./mcp-integration-records.ts";
import { findIntegrationOf, findMcpServer, ofServer } from "./mcp-server-records.ts";

/** Longest time that a sync takes: on demand, and while an integration is created. */
const syncMs = 60_000;
const firstSyncMs = 10_000;
/** Longest time that a test takes. */
const testMs = 15_000;

/** What a server said of itself, as responses show it. */
function showMetadata(row: McpIntegrationRow): McpMetadata {
  const stored = isObject(row.metadata) ? row.metadata : {};
  const info = isObject(stored.serverInfo) ? stored.serverInfo : {};
  return {
    server_name: info.name ?? null,
    server_version: info.version ?? null,
    title: info.title ?? null,
    description: info.description ?? null,
    website_url: info.websiteUrl ?? null,
    icons: info.icons ?? null,
    protocol_version: stringOf(stored.protocolVersion) ?? null,
    capability_flags: isObject(stored.capabilities) ? stored.capabilities : null,
    instructions: stringOf(stored.instructions) ?? null,
    sync_status: row.syncStatus,
    last_synced_at: toIso(row.lastSyncedAt),
    sync_error: row.syncError,
  };
}

/** The integration of the server that a path names. */
async function integrationOfServer(call: AdminCall<undefined>): Promise<McpIntegrationRow> {
  const server = await findMcpServer(call);
  const row = await findIntegrationOf(call, server);
  if (row) return row;
  throw new InvalidRequestError("Cannot do this: the MCP server joins others", { code: "AB01" });
}

/** The token of an account at a server: the integration's own, or that of the user of the key. */
async function tokenAt(server: McpServer, { services, principal }: CallerContext): Promise<string | undefined> {
  const { machineTokens, connections } = services.oauth.upstream;
  if (server.authType === "oauth_client_credentials") return machineTokens.get(server).catch(() => undefined);
  const { organisationId, userId } = principal;
  if (userId === null) return undefined;
  const place = { organisationId, workspaceId: server.workspaceId, userId, serverId: server.id };
  const found = await connections.token(server, place);
  return found.kind === "token" ? found.token : undefined;
}

/** Headers of an account that a call may use at the server of an integration; undefined without one. */
async function accountAt(row: McpIntegrationRow, context: CallerContext): Promise<AccountHeaders | undefined> {
  if (!needsAccount(row)) return undefined;
  const { services, principal } = context;
  const { organisationId, workspaceId } = principal;
  const where = { integrationId: row.id };
  const rows = await services.control.stores.mcpServers.all({ organisationId, workspaceId }, { where });
  for (const one of rows) {
    const server = await services.mcpServers.find(ofServer(one), one.slug);
    const token = server && (await tokenAt(server, context));
    if (token !== undefined) return { authorization: `Bearer ${token}` };
  }
  return undefined;
}

/** Reads what a server offers and stores it; nothing waits in the queue of writes meanwhile. */
async function syncIntegration(
  row: McpIntegrationRow,
  context: CallerContext,
  { totalMs, action }: { totalMs: number; action: string },
): Promise<string | null> {
  const { mcpSync, stores } = context.services.control;
  const reading = await mcpSync.read(row, totalMs, await accountAt(row, context));
  const { error } = await commitAudited(
    { resource: "mcp_integrations", action, store: "mcpIntegrations" as const },
    context,
    async () => {
      // it may have changed, or been deleted, while its server answered
      const found = await stores.mcpIntegrations.find(organisationOf(row), { id: row.id });
      const current = requireFound(found?.url === row.url ? found : undefined, "MCP integration");
      return { ...(await mcpSync.store(current, reading)), recordId: row.id };
    },
  );
  return error;
}

/** The first sync of a new integration. What fails is seen in its metadata. */
export async function syncFirst(id: string, context: CallerContext): Promise<void> {
  const { organisationId } = context.principal;
  const tenant = { organisationId, workspaceId: null };
  const row = await context.services.control.stores.mcpIntegrations.find(tenant, { id });
  if (row) await syncIntegration(row, context, { totalMs: firstSyncMs, action: "sync" }).catch(() => {});
}

async function sync(call: AdminCall<undefined>): Promise<AnswerOf<typeof McpSyncResult>> {
  const row = await findMcpIntegration(call, "update");
  const error = await syncIntegration(row, call.context, { totalMs: syncMs, action: "sync" });
  const { stores } = call;
  const synced = requireFound(
    await stores.mcpIntegrations.find(organisationOf(row), { id: row.id }),
    "MCP integration",
  );
  const message = error ?? "The capabilities were read";
  return { success: error === null, message, details: showMetadata(synced) };
}

/** The result of a test: it fails in the answer, not by its status. */
function showTest(row: McpIntegrationRow, result: UpstreamTest, startedAt: number, endedAt: number): McpTestResult {
  return {
    success: result.error === null,
    status_code: result.status,
    response_time_ms: Math.round(endedAt - startedAt),
    url: showAddress(row),
    server_name: result.serverName,
    error: result.error,
    message: result.error ?? "The server answered",
    details: null,
  };
}

async function testIntegration(row: McpIntegrationRow, context: CallerContext, audit: Audited & { recordId: string }) {
  const { clock, control } = context.services;
  const startedAt = clock.monotonic();
  const result = await control.mcpSync.test(row, testMs, await accountAt(row, context));
  const { recordId } = audit;
  await commitAudited(audit, context, async () => ({ statements: [], recordId }));
  return showTest(row, result, startedAt, clock.monotonic());
}

async function testOfIntegration(call: AdminCall<undefined>) {
  const row = await findMcpIntegration(call, "read");
  return testIntegration(row, call.context, { ...ofTest("mcp_integrations"), recordId: row.id });
}

async function testOfServer(call: AdminCall<undefined>) {
  const { id } = await findMcpServer(call);
  const row = await integrationOfServer(call);
  return testIntegration(row, call.context, { ...ofTest("mcp_servers"), recordId: id });
}

const ofTests = { mcp_integrations: "mcpIntegrations", mcp_servers: "mcpServers" } as const;
const ofTest = (resource: keyof typeof ofTests): Audited => ({ resource, action: "test", store: ofTests[resource] });

const ofIntegrations = (verb: string) => ({
  keys: "any" as const,
  scopes: [mcpScopeOf("workspace", verb), mcpScopeOf("organisation", verb)],
});
const integrations = "/v1/mcp-integrations/:slug";
const servers = "/v1/mcp-servers/:slug";
const integrationRow = { tag: "MCP integrations" };
const serverRow = { tag: "MCP servers", access: { keys: "any" as const, scopes: ["mcp_servers.read"] } };

/** Endpoints that call upstream servers, and what these said of themselves. */
export const mcpSyncEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...integrationRow,
    method: "GET",
    path: `${integrations}/metadata`,
    summary: "Show what the server of an MCP integration says of itself",
    access: ofIntegrations("read"),
    response: McpMetadata,
    handle: async (call) => showMetadata(await findMcpIntegration(call, "read")),
  }),
  defineUpstreamCall({
    ...integrationRow,
    path: `${integrations}/sync`,
    summary: "Read the tools, prompts and resources of an MCP integration again",
    access: ofIntegrations("update"),
    audit: { resource: "mcp_integrations", action: "sync", store: "mcpIntegrations" as const },
    response: McpSyncResult,
    handle: sync,
  }),
  defineUpstreamCall({
    ...integrationRow,
    path: `${integrations}/test`,
    summary: "Test whether the server of an MCP integration answers",
    access: ofIntegrations("read"),
    audit: ofTest("mcp_integrations"),
    response: McpTestResult,
    handle: testOfIntegration,
  }),
  defineRead({
    ...serverRow,
    method: "GET",
    path: `${servers}/metadata`,
    summary: "Show what the server behind an MCP server says of itself",
    response: McpMetadata,
    handle: async (call) => showMetadata(await integrationOfServer(call)),
  }),
  defineUpstreamCall({
    ...serverRow,
    path: `${servers}/test`,
    summary: "Test whether an MCP server answers",
    audit: ofTest("mcp_servers"),
    response: McpTestResult,
    handle: testOfServer,
  }),
];

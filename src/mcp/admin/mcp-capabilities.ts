import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../../admin/core/endpoint.ts";
import { toJson } from "../../admin/core/json-column.ts";
import { refuseField, requireReferenced } from "../../admin/core/request.ts";
import { asOwn } from "../../admin/integrations/integration-records.ts";
import type { McpCapabilityRow, McpServerRow } from "../../db/tables/mcp.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import {
  ApproveCapabilities,
  ApprovedCapabilities,
  CapabilityList,
  McpSuccess,
  ServerCapabilityList,
  UpdateCapabilities,
} from "../../schemas/mcp.ts";
import { capabilityKey, findShown, listCapabilities } from "./capability-rows.ts";
import { findMcpIntegration, mcpScopeOf, organisationOf } from "./mcp-integration-records.ts";
import { findMcpServer, ofServer } from "./mcp-server-records.ts";

/** Most capabilities of an integration, those that were only switched among them. */
const maxCapabilities = 5_000;

async function listOfIntegration(call: AdminCall<undefined>): Promise<AnswerOf<typeof CapabilityList>> {
  const integration = await findMcpIntegration(call, "read");
  const where = { integrationId: integration.id };
  const rows = await call.stores.mcpCapabilities.all(organisationOf(integration), { where });
  return listCapabilities(call, { rows, isEnabled: ({ enabled }) => enabled, more: () => ({}) });
}

/** A capability as its row names it. */
interface Meant {
  readonly type: McpCapabilityRow["type"];
  readonly name: string;
  readonly enabled: boolean;
}

/**
 * What the entries of a body switch, by key; of entries that mean the same, the last.
 *
 * @param mayBeUnknown Whether an entry that nothing listed has is taken as it is.
 * @throws {NotFoundError} For other entries that nothing listed has.
 */
function readSwitches(
  { capabilities }: UpdateCapabilities,
  rows: readonly McpCapabilityRow[],
  mayBeUnknown: (key: string) => boolean,
): Map<string, Meant> {
  // what a server offers may be unknown until its users call it
  const isUnread = rows.every(({ isListed }) => !isListed);
  const meant = capabilities.flatMap((one, index): Meant[] => {
    const found = findShown(rows, one);
    if (found.length === 0 && (isUnread || mayBeUnknown(capabilityKey(one)))) return [one];
    requireReferenced(found[0], `capabilities.${index}`);
    return found.map(({ type, name }) => ({ type, name, enabled: one.enabled }));
  });
  return new Map(meant.map((one) => [capabilityKey(one), one]));
}

async function updateOfIntegration(call: AdminCall<UpdateCapabilities>): Promise<Outcome<AnswerOf<typeof McpSuccess>>> {
  const { body, stores, now } = call;
  const integration = await findMcpIntegration(call, "update");
  const tenant = organisationOf(integration);
  const where = { integrationId: integration.id };
  const stored = await stores.mcpCapabilities.all(tenant, { where });
  const idOf = new Map(stored.map((row) => [capabilityKey(row), row.id]));
  const switches = readSwitches(body, stored, () => false);
  const added = [...switches.keys()].filter((key) => !idOf.has(key));
  if (stored.length + added.length > maxCapabilities) {
    refuseField("capabilities", `cannot be added: an MCP integration has at most ${maxCapabilities}`);
  }
  const statements = [...switches].map(([key, { type, name, enabled }]) => {
    const id = idOf.get(key);
    if (id !== undefined) {
      return asOwn(stores.mcpCapabilities.update(tenant, { id }, { enabled, lastUpdatedAt: now }), integration);
    }
    const { organisationId } = tenant;
    const row = { id: crypto.randomUUID(), organisationId, ...where, type, name, enabled, isListed: false };
    return asOwn(stores.mcpCapabilities.insert(tenant, { ...row, createdAt: now }), integration);
  });
  return { answer: { success: true }, recordId: integration.id, statements };
}

/** Approves definitions as they were last seen. */
async function approve(call: AdminCall<ApproveCapabilities>): Promise<Outcome<AnswerOf<typeof ApprovedCapabilities>>> {
  const { body, stores, now } = call;
  const integration = await findMcpIntegration(call, "update");
  const tenant = organisationOf(integration);
  const rows = await stores.mcpCapabilities.all(tenant, { where: { integrationId: integration.id } });
  const named = body.capabilities?.flatMap((one, index) => {
    const found = findShown(rows, one);
    requireReferenced(found[0], `capabilities.${index}`);
    return found;
  });
  const statements = [...new Set(named ?? rows)].flatMap(({ id, definitionHash, approvedHash }) => {
    if (definitionHash === null || definitionHash === approvedHash) return [];
    const changes = { approvedHash: definitionHash, approvedDefinition: toJson(null), lastUpdatedAt: now };
    return [asOwn(stores.mcpCapabilities.update(tenant, { id }, changes), integration)];
  });
  return { answer: { success: true, approved: statements.length }, recordId: integration.id, statements };
}

/** Capabilities of the integration of a server; none for one that joins others. */
async function capabilitiesOf({ stores }: AdminCall<unknown>, server: McpServerRow) {
  if (server.integrationId === null) return [];
  return stores.mcpCapabilities.all(organisationOf(server), { where: { integrationId: server.integrationId } });
}

async function listOfServer(call: AdminCall<undefined>): Promise<AnswerOf<typeof ServerCapabilityList>> {
  const server = await findMcpServer(call);
  const switches = await call.stores.mcpServerCapabilities.all(ofServer(server), { where: { serverId: server.id } });
  const enabledAt = new Map(switches.map((one) => [capabilityKey(one), one.enabled]));
  return listCapabilities(call, {
    rows: await capabilitiesOf(call, server),
    isEnabled: (row) => enabledAt.get(capabilityKey(row)) ?? true,
    more: ({ enabled }) => ({ integration_enabled: enabled }),
  });
}

async function updateOfServer(call: AdminCall<UpdateCapabilities>): Promise<Outcome<AnswerOf<typeof McpSuccess>>> {
  const { body, stores, now } = call;
  const server = await findMcpServer(call);
  const tenant = ofServer(server);
  const where = { serverId: server.id };
  const stored = await stores.mcpServerCapabilities.all(tenant, { where });
  const keys = new Set(stored.map(capabilityKey));
  const rows = await capabilitiesOf(call, server);
  const switched = readSwitches(body, rows, (key) => keys.has(key));
  const added = [...switched.keys()].filter((key) => !keys.has(key));
  if (stored.length + added.length > maxCapabilities) {
    refuseField("capabilities", `cannot be added: an MCP server has at most ${maxCapabilities}`);
  }
  const statements = [...switched].map(([key, { type, name, enabled }]) =>
    keys.has(key)
      ? stores.mcpServerCapabilities.update(tenant, { ...where, type, name }, { enabled, lastUpdatedAt: now })
      : stores.mcpServerCapabilities.insert(tenant, { ...tenant, ...where, type, name, enabled, createdAt: now }),
  );
  return { answer: { success: true }, recordId: server.id, statements };
}

const ofIntegrations = (verb: string) => ({
  keys: "any" as const,
  scopes: [mcpScopeOf("workspace", verb), mcpScopeOf("organisation", verb)],
});
const ofServers = (verb: string) => ({ keys: "any" as const, scopes: [`mcp_servers.${verb}`] });
const integrationRow = { tag: "MCP integrations", path: "/v1/mcp-integrations/:slug/capabilities" };
const serverRow = { tag: "MCP servers", path: "/v1/mcp-servers/:slug/capabilities" };
const query = [
  { name: "type", description: "tool, prompt, resource or resource_template; default: all" },
  { name: "name", description: "Those with this name, as the list shows it" },
  { name: "page", description: "Counted from 1" },
  { name: "page_size", description: "1 to 500; default 100" },
];

/** Endpoints of tools, prompts and resources: what there is, what is switched on, and what is approved. */
export const mcpCapabilityEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...integrationRow,
    method: "GET",
    summary: "List the tools, prompts and resources of an MCP integration",
    access: ofIntegrations("read"),
    query,
    response: CapabilityList,
    handle: listOfIntegration,
  }),
  defineWrite({
    ...integrationRow,
    method: "PUT",
    summary: "Switch tools, prompts and resources of an MCP integration on or off",
    access: ofIntegrations("update"),
    audit: { resource: "mcp_integrations", action: "update", store: "mcpIntegrations" as const },
    body: UpdateCapabilities,
    response: McpSuccess,
    handle: updateOfIntegration,
  }),
  defineWrite({
    ...integrationRow,
    method: "POST",
    path: "/v1/mcp-integrations/:slug/capabilities/approve",
    summary: "Approve changed definitions of an MCP integration",
    access: ofIntegrations("update"),
    audit: { resource: "mcp_integrations", action: "approve", store: "mcpIntegrations" as const },
    body: ApproveCapabilities,
    bodyOptional: true,
    response: ApprovedCapabilities,
    handle: approve,
  }),
  defineRead({
    ...serverRow,
    method: "GET",
    summary: "List the tools, prompts and resources of an MCP server",
    access: ofServers("read"),
    query,
    response: ServerCapabilityList,
    handle: listOfServer,
  }),
  defineWrite({
    ...serverRow,
    method: "PUT",
    summary: "Switch tools, prompts and resources of an MCP server on or off",
    access: ofServers("update"),
    audit: { resource: "mcp_servers", action: "update", store: "mcpServers" as const },
    body: UpdateCapabilities,
    response: McpSuccess,
    handle: updateOfServer,
  }),
];

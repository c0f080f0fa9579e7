import * as v from "valibot";
import { heldOpenMs, type SecretOpener } from "../../control/credentials.ts";
import type { Directory } from "../../control/directory.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { toRecord } from "../../control/settings.ts";
import type { McpIntegrationRow, McpServerRow } from "../../db/tables/mcp.ts";
import type { Clock } from "../../lib/clock.ts";
import { isObject } from "../../lib/json.ts";
import { maskAddress } from "../../lib/secret-values.ts";
import { capabilityTypes, McpServerSettings, type mcpAuthTypes, StoredAggregate } from "../../schemas/mcp.ts";
import { ForwardHeaders } from "../../schemas/mcp-integration-members.ts";
import { headersIn, openConfigurations } from "./configurations.ts";
import type { StoredMcpServer } from "./mcp-library.ts";
import type {
  CapabilityKind,
  DisabledCapabilities,
  ForwardedHeaders,
  McpCapabilities,
  McpCapability,
  McpGuardrail,
  McpMember,
  McpServer,
  McpServers,
} from "./mcp-server.ts";
import { createOpenapiUpstream, type OpenapiUpstream } from "./openapi/upstream.ts";

type StoredMcpServers = ReadonlyMap<string, StoredMcpServer>;

/** Options of `createMcpServers`. */
interface McpServersOptions {
  directory: Directory;
  opener: SecretOpener;
  clock: Clock;
}

/** Which headers an integration forwards, as stored. */
function readForwardedHeaders(configurations: unknown): ForwardedHeaders {
  const read = v.safeParse(ForwardHeaders, toRecord(configurations).forward_headers);
  if (!read.success) return { mode: "allowlist", headers: [] };
  const { mode, headers } = Array.isArray(read.output)
    ? { mode: "allowlist" as const, headers: read.output }
    : read.output;
  const pairs = headers.map((header) => (typeof header === "string" ? { from: header, to: header } : header));
  return { mode, headers: pairs.map(({ from, to }) => ({ from: from.toLowerCase(), to: to.toLowerCase() })) };
}

/** An object with one value for each kind of capability. */
function byKind<Value>(create: (kind: CapabilityKind) => Value): Record<CapabilityKind, Value> {
  return {
    tool: create("tool"),
    prompt: create("prompt"),
    resource: create("resource"),
    resource_template: create("resource_template"),
  };
}

function kindOf(type: string): CapabilityKind | undefined {
  return capabilityTypes.find((one) => one === type);
}

/** What an integration offers, by kind and name. */
function toCapabilities({ integration }: StoredMcpServer): McpCapabilities {
  const found = byKind(() => new Map<string, McpCapability>());
  for (const row of integration?.capabilities ?? []) {
    const kind = kindOf(row.type);
    if (!kind) continue;
    // a resource that is gone can no longer be read where only listed ones can
    const isGone = !row.isListed && kind.startsWith("resource");
    const definition = isObject(row.definition) && !isGone ? row.definition : null;
    const isApproved = row.approvedHash !== null && row.approvedHash === row.definitionHash;
    const former = isObject(row.approvedDefinition) ? row.approvedDefinition : null;
    const { id, isListed } = row;
    found[kind].set(row.name, { id, definition, approved: isApproved ? definition : former, isListed });
  }
  return found;
}

/** What is switched off at the integration or at the server. */
function toDisabled({ integration, switches }: StoredMcpServer): DisabledCapabilities {
  const disabled = byKind(() => new Set<string>());
  for (const { type, name, enabled } of [...(integration?.capabilities ?? []), ...switches]) {
    const kind = kindOf(type);
    if (kind && !enabled) disabled[kind].add(name);
  }
  return disabled;
}

function toGuardrails({ guardrails }: StoredMcpServer): McpGuardrail[] {
  return guardrails.map(({ guardrailId, runOn, capabilityIds }) => {
    const phases = Array.isArray(runOn) ? runOn : [];
    const ids = Array.isArray(capabilityIds) ? capabilityIds : [];
    return {
      guardrailId,
      runsOn: new Set((["input", "output"] as const).filter((phase) => phases.includes(phase))),
      capabilityIds: new Set(ids.filter((id) => typeof id === "string")),
    };
  });
}

function isAuthType(text: string): text is (typeof mcpAuthTypes)[number] {
  return ["none", "headers", "oauth_auto", "oauth_client_credentials", "external"].includes(text);
}

/** Opens the configurations of a server; what was opened is held for a while. */
function createConfigurationOpener(stored: StoredMcpServer, options: McpServersOptions) {
  let held: { value: Promise<Readonly<Record<string, unknown>>>; openedAt: number } | undefined;
  const { integration, references } = stored;
  const { opener, clock } = options;
  const open = async () =>
    integration ? openConfigurations(integration.row, { ...integration, references }, opener) : {};
  return () => {
    if (held && clock.monotonic() - held.openedAt < heldOpenMs) return held.value;
    const current = { value: open(), openedAt: clock.monotonic() };
    held = current;
    current.value.catch(() => {
      if (held === current) held = undefined;
    });
    return current.value;
  };
}

/** A text of a server's description of itself. */
function textIn(info: Readonly<Record<string, unknown>>, name: string, length: number): string | null {
  const value = info[name];
  return typeof value === "string" && value !== "" ? value.slice(0, length) : null;
}

function toAbout({ row, integration }: StoredMcpServer): McpServer["about"] {
  const metadata = toRecord(integration?.row.metadata);
  const info = toRecord(metadata.serverInfo);
  const { icons } = info;
  return {
    description: row.description,
    version: textIn(info, "version", 64),
    title: textIn(info, "title", 255),
    websiteUrl: textIn(info, "websiteUrl", 2_048),
    icons: Array.isArray(icons) ? icons.slice(0, 20) : null,
    instructions: textIn(metadata, "instructions", 4_096),
    createdAt: row.createdAt,
    updatedAt: Math.max(row.createdAt, row.lastUpdatedAt, integration?.row.lastUpdatedAt ?? 0),
  };
}

/** Names in a list as stored. */
function namesIn(list: unknown): ReadonlySet<string> | null {
  return Array.isArray(list) ? new Set(list.filter((name) => typeof name === "string")) : null;
}

/** What a server joins; null for those of an integration. */
function toAggregate(
  { aggregate }: McpServerRow,
  findById: (id: string) => McpServer | undefined,
): McpServer["aggregate"] {
  const read = v.safeParse(StoredAggregate, aggregate);
  if (!read.success) return null;
  const { members, prefix_mode: prefixMode } = read.output;
  const found = members.flatMap(({ server_id, prefix, include, exclude }): McpMember[] => {
    const server = findById(server_id);
    // a server that joins others is part of none: calls never go in circles
    if (!server || server.aggregate) return [];
    return [{ server, prefix, include: namesIn(include), exclude: namesIn(exclude) ?? new Set() }];
  });
  return { members: found, prefixMode };
}

/** Servers of OpenAPI documents, by the row they are of: documents are read once. */
const openapiServers = new WeakMap<McpIntegrationRow, OpenapiUpstream>();

/** The server that an integration is made of a document; null for real ones. */
function openapiOf(row: McpIntegrationRow | undefined): OpenapiUpstream | null {
  if (row?.transport !== "openapi" || row.openapi === null) return null;
  const server = openapiServers.get(row) ?? createOpenapiUpstream(row.url, row.openapi);
  openapiServers.set(row, server);
  return server;
}

/** A server as calls see it. */
function toMcpServer(
  stored: StoredMcpServer,
  options: McpServersOptions,
  findById: (id: string) => McpServer | undefined,
): McpServer {
  const { row, integration, users, hasAccess } = stored;
  const aggregate = row.integrationId === null ? toAggregate(row, findById) : null;
  const upstream = integration?.row;
  const openOwn = createConfigurationOpener(stored, options);
  const authType = upstream?.authType ?? "none";
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    organisationId: row.organisationId,
    workspaceId: row.workspaceId,
    integrationId: upstream?.id ?? "",
    isActive: row.status === "active" && hasAccess && (aggregate !== null || upstream?.status === "active"),
    url: upstream?.url ?? "",
    shownUrl: maskAddress(upstream?.url ?? "").replace(/\?.*$/s, ""),
    transport: upstream?.transport === "sse" ? "sse" : "http",
    authType: isAuthType(authType) ? authType : "external",
    configurations: toRecord(upstream?.configurations),
    forwardedHeaders: readForwardedHeaders(upstream?.configurations),
    disabled: toDisabled(stored),
    settings: v.parse(McpServerSettings, row.settings),
    about: toAbout(stored),
    aggregate,
    openapi: openapiOf(upstream),
    capabilities: toCapabilities(stored),
    guardrails: toGuardrails(stored),
    credentialVersion: (integration?.secrets ?? []).map(({ field, sealed }) => `${field} ${sealed}`).join("\n"),
    isOpenTo: (userId) => userId === null || (users.get(userId) ?? row.defaultUserAccess === "allow"),
    openHeaders: async () => headersIn(await openOwn()),
    openConfigurations: openOwn,
  };
}

/** Creates what finds the MCP servers of workspaces in the directory. */
export function createMcpServers(options: McpServersOptions): McpServers {
  const known = new WeakMap<StoredMcpServer, McpServer>();
  const toServer = (stored: StoredMcpServer, all: StoredMcpServers): McpServer => {
    const held = known.get(stored);
    if (held) return held;
    const findById = (id: string) => {
      const found = [...all.values()].find(({ row }) => row.id === id);
      return found && found.row.integrationId !== null ? toServer(found, all) : undefined;
    };
    const server = toMcpServer(stored, options, findById);
    known.set(stored, server);
    return server;
  };
  const findIn = (view: WorkspaceView | undefined, slug: string) => {
    const stored = view?.mcpServers.get(slug);
    return view && stored ? toServer(stored, view.mcpServers) : undefined;
  };
  const listIn = (view: WorkspaceView | undefined) =>
    view ? [...view.mcpServers.values()].map((stored) => toServer(stored, view.mcpServers)) : [];
  return {
    find({ organisationId, workspaceId }, slug) {
      if (workspaceId === null) return undefined;
      const view = options.directory.workspace({ organisationId, workspaceId });
      return view instanceof Promise ? view.then((read) => findIn(read, slug)) : findIn(view, slug);
    },
    list({ organisationId, workspaceId }) {
      if (workspaceId === null) return [];
      const view = options.directory.workspace({ organisationId, workspaceId });
      return view instanceof Promise ? view.then(listIn) : listIn(view);
    },
  };
}

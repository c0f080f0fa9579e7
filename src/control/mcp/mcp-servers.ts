import * as v from "valibot";
import type { Clock } from "../../lib/clock.ts";
import { isObject } from "../../lib/json.ts";
import { capabilityTypes, McpServerSettings, type mcpAuthTypes } from "../../schemas/mcp.ts";
import { ForwardHeaders } from "../../schemas/mcp-integration-members.ts";
import { heldOpenMs, type SecretOpener } from "../credentials.ts";
import type { Directory } from "../directory.ts";
import { toRecord } from "../settings.ts";
import { headersIn, openConfigurations } from "./configurations.ts";
import type { StoredMcpServer } from "./mcp-library.ts";
import type {
  CapabilityKind,
  DisabledCapabilities,
  ForwardedHeaders,
  McpCapabilities,
  McpCapability,
  McpGuardrail,
  McpServer,
  McpServers,
} from "./mcp-server.ts";

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
    found[kind].set(row.name, { id: row.id, definition, approved: isApproved ? definition : former });
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

/** A server as calls see it. */
function toMcpServer(stored: StoredMcpServer, options: McpServersOptions): McpServer {
  const { row, integration, users, hasAccess } = stored;
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
    isActive: row.status === "active" && hasAccess && upstream?.status === "active",
    url: upstream?.url ?? "",
    transport: upstream?.transport === "sse" ? "sse" : "http",
    authType: isAuthType(authType) ? authType : "external",
    configurations: toRecord(upstream?.configurations),
    forwardedHeaders: readForwardedHeaders(upstream?.configurations),
    disabled: toDisabled(stored),
    settings: v.parse(McpServerSettings, row.settings),
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
  const toServer = (stored: StoredMcpServer | undefined): McpServer | undefined => {
    if (!stored) return undefined;
    const server = known.get(stored) ?? toMcpServer(stored, options);
    known.set(stored, server);
    return server;
  };
  return {
    find({ organisationId, workspaceId }, slug) {
      if (workspaceId === null) return undefined;
      const view = options.directory.workspace({ organisationId, workspaceId });
      if (view instanceof Promise) return view.then((read) => toServer(read?.mcpServers.get(slug)));
      return toServer(view?.mcpServers.get(slug));
    },
  };
}

import * as v from "valibot";
import type { McpServer, McpServers } from "../../src/mcp/registry/mcp-server.ts";
import { McpServerSettings } from "../../src/schemas/mcp.ts";
import { createTestGateway, type TestGateway, type TestGatewayOptions, workspaceKey } from "../support/gateway.ts";

/** A server without anything switched off, at an address; with changes. */
export function mcpServer(url: string, changes: Partial<McpServer> = {}): McpServer {
  return {
    id: "11111111-1111-4111-8111-111111111111",
    slug: "everything",
    name: "Everything",
    organisationId: "of the caller",
    workspaceId: "of the caller",
    integrationId: "22222222-2222-4222-8222-222222222222",
    isActive: true,
    url,
    shownUrl: url.replace(/[?#].*$/, ""),
    transport: "http",
    authType: "none",
    configurations: {},
    forwardedHeaders: { mode: "allowlist", headers: [] },
    disabled: { tool: new Set(), prompt: new Set(), resource: new Set(), resource_template: new Set() },
    settings: v.parse(McpServerSettings, {}),
    about: {
      description: null,
      version: null,
      title: null,
      websiteUrl: null,
      icons: null,
      instructions: null,
      createdAt: 0,
      updatedAt: 0,
    },
    aggregate: null,
    openapi: null,
    capabilities: { tool: new Map(), prompt: new Map(), resource: new Map(), resource_template: new Map() },
    guardrails: [],
    credentialVersion: "",
    isOpenTo: () => true,
    openHeaders: async () => ({}),
    openConfigurations: async () => ({}),
    ...changes,
  };
}

/** What is switched off, by kind. */
export function disabled(
  changes: Partial<Record<keyof McpServer["disabled"], readonly string[]>>,
): McpServer["disabled"] {
  const of = (kind: keyof McpServer["disabled"]) => new Set(changes[kind] ?? []);
  return {
    tool: of("tool"),
    prompt: of("prompt"),
    resource: of("resource"),
    resource_template: of("resource_template"),
  };
}

/** Finds servers by slug in every workspace; a server can be replaced by setting it. */
export function serversOf(...servers: McpServer[]): McpServers & { set(server: McpServer): void } {
  const bySlug = new Map(servers.map((server) => [server.slug, server]));
  return {
    find: (_, slug) => bySlug.get(slug),
    list: () => [...bySlug.values()],
    set: (server) => void bySlug.set(server.slug, server),
  };
}

/** A gateway in front of MCP servers. */
export function createMcpGateway(servers: McpServers, options: TestGatewayOptions = {}): Promise<TestGateway> {
  return createTestGateway({ mcpServers: servers, ...options });
}

/** Headers of a legacy client. */
export const legacyHeaders = {
  "x-gateway-api-key": workspaceKey,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2025-11-25",
};

/** A JSON-RPC request. */
export function rpc(method: string, params: object = {}, id: string | number = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** Metadata of a modern request. */
export const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Posts a message of a legacy client. */
export function postLegacy(
  { gateway }: Pick<TestGateway, "gateway">,
  body: string,
  headers: Readonly<Record<string, string>> = {},
  path = "/m/everything/mcp",
): Promise<Response> {
  const init = { method: "POST", headers: { ...legacyHeaders, ...headers }, body };
  return gateway.fetch(new Request(`http://gateway.test${path}`, init));
}

/** Posts a request of a modern client. */
export function postModern(
  { gateway }: Pick<TestGateway, "gateway">,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const name = params.name ?? params.uri;
  const init = {
    method: "POST",
    headers: {
      ...legacyHeaders,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...headers,
    },
    body: rpc(method, { ...params, _meta: modernMeta }),
  };
  return gateway.fetch(new Request("http://gateway.test/m/everything/mcp", init));
}

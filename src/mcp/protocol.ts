import type { Era } from "./registry/mcp-state.ts";

/** Revisions with a handshake and optional sessions, oldest first. */
const legacyVersions: readonly string[] = ["2025-03-26", "2025-06-18", "2025-11-25"];
/** The newest of them. */
export const newestLegacy = "2025-11-25";
/** Revisions whose requests describe themselves. */
export const modernVersions: readonly string[] = ["2026-07-28"];

/** The era of a revision; undefined for unknown ones. */
export function eraOf(version: string): Era | undefined {
  if (legacyVersions.includes(version)) return "legacy";
  return modernVersions.includes(version) ? "modern" : undefined;
}

/** Keys of `_meta` that belong to the protocol. */
export const meta = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

/** Codes of JSON-RPC errors: of JSON-RPC 2.0, of the protocol, and those of the gateway's own refusals. */
export const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  notFound: -32000,
  sessionNotFound: -32001,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  resourceNotFound: -32002,
  urlElicitation: -32042,
  unavailable: 503,
  rateLimited: 429,
  guardrailDenied: 446,
} as const;

/** Requests of modern clients; others are unknown there. */
const modernMethods = new Set([
  "server/discover",
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "completion/complete",
  "subscriptions/listen",
  // of the tasks extension
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
]);

/** Requests that only legacy revisions have. */
const legacyOnly = new Set(["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]);

/** Whether a request was removed from the modern revisions. */
export function isRemoved(method: string): boolean {
  return !modernMethods.has(method) && (legacyOnly.has(method) || method.startsWith("tasks/"));
}

/** Requests that change nothing and may be sent twice. */
export const repeatable: ReadonlySet<string> = new Set([
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
]);

/** Requests whose results say how long they may be used again. */
export function isCacheable(method: string): boolean {
  return repeatable.has(method);
}

/** The member of `params` that `Mcp-Name` repeats, by method. */
export const namedBy: Readonly<Record<string, "name" | "uri" | "taskId">> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

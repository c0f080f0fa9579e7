import type { Principal } from "./principal.ts";

/** Role of a person in an organisation or a workspace. */
export type Role = "owner" | "admin" | "manager" | "member";

/** Switches that say what managers and members may do. */
export type SecuritySettings = Readonly<Record<string, boolean>>;

/** Kinds of record the switches speak of, and whose scopes they bind. */
const groups: Readonly<Record<string, string>> = {
  configs: "Configs",
  prompts: "Prompts",
  guardrails: "Guardrails",
  providers: "VirtualKeys",
  virtual_keys: "VirtualKeys",
  workspace_service_api_keys: "ApiKeys",
  workspace_user_api_keys: "ApiKeys",
  logs: "Logs",
  analytics: "Analytics",
};

/** Switches with a name of their own, by scope. */
const single: Readonly<Record<string, string>> = {
  "workspaces.update": "managersUpdateWs",
  "workspace_users.create": "managersWriteWsUsers",
  "workspace_users.update": "managersWriteWsUsers",
  "workspace_users.delete": "managersWriteWsUsers",
  "workspace_integrations.create": "managersWriteWsIntegrations",
  "workspace_integrations.update": "managersWriteWsIntegrations",
  "workspace_integrations.delete": "managersWriteWsIntegrations",
  "workspace_mcp_integrations.create": "managersWriteWsMcpIntegrations",
  "workspace_mcp_integrations.update": "managersWriteWsMcpIntegrations",
  "workspace_mcp_integrations.delete": "managersWriteWsMcpIntegrations",
  "mcp_servers.create": "managersWriteMcpServers",
  "mcp_servers.update": "managersWriteMcpServers",
  "mcp_servers.delete": "managersWriteMcpServers",
};

const bothRoles = ["managers", "members"].flatMap((role) => [
  ...["Logs", "LogMetadata", "AllData", "Analytics", "ApiKeys", "Configs", "Prompts", "Guardrails", "VirtualKeys"].map(
    (group) => `${role}View${group}`,
  ),
  ...["ApiKeys", "Configs", "Prompts", "Guardrails", "VirtualKeys"].map((group) => `${role}Write${group}`),
]);

/** Every switch with its default: open, but for what members may not write. */
export const defaultSecuritySettings: SecuritySettings = {
  organisationAdminsViewLogs: true,
  organisationAdminsViewLogMetadata: true,
  ...Object.fromEntries(bothRoles.map((name) => [name, true])),
  ...Object.fromEntries([...new Set(Object.values(single))].map((name) => [name, true])),
  membersWriteConfigs: false,
  membersWriteGuardrails: false,
};

/** The switch that decides about a scope for a role; undefined when none does. */
function switchOf(scope: string, role: "managers" | "members"): string | undefined {
  const own = single[scope];
  if (own !== undefined) return role === "managers" ? own : undefined;
  const [family = "", verb = ""] = scope.split(".");
  const group = groups[family];
  if (group === undefined) return undefined;
  const reads = ["read", "list", "view", "export"].includes(verb) || family === "logs" || family === "analytics";
  return `${role}${reads ? "View" : "Write"}${group}`;
}

/** Scopes only managers and admins of a workspace hold, whatever a member's key says. */
const managersOnly = new Set(Object.keys(single));

/** Family of scopes no member uses: a service's key is bound by no role, so whoever made one would have escaped theirs. */
const serviceKeys = "workspace_service_api_keys.";

/**
 * Whether a person's role lets them use a scope. Services are not bound by roles.
 *
 * @param role Role in the workspace; owners and admins of the organisation are admins in each.
 */
export function roleAllows(role: Role, scope: string, settings: SecuritySettings): boolean {
  if (role === "owner" || role === "admin") return true;
  if (role === "member" && (managersOnly.has(scope) || scope.startsWith(serviceKeys))) return false;
  const name = switchOf(scope, role === "manager" ? "managers" : "members");
  return name === undefined || (settings[name] ?? defaultSecuritySettings[name] ?? true);
}

/** Whether the caller is a person with a role that binds it. */
export function isPerson(principal: Principal): boolean {
  return principal.userId !== null;
}

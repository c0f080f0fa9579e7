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
  if (family === "logs") return logSwitchOf(verb, role);
  const group = groups[family];
  // using a record without seeing it is neither
  if (group === undefined || verb === "invoke") return undefined;
  return `${role}${readingVerbs.has(verb) ? "View" : "Write"}${group}`;
}

/** Verbs that show records; the others change them. A rendered prompt is its text. */
const readingVerbs = new Set(["read", "list", "view", "export", "render"]);

/** The switch of a verb on logs: exports hold contents, and writing shows nothing. */
function logSwitchOf(verb: string, role: "managers" | "members"): string | undefined {
  if (verb === "export") return `${role}ViewLogs`;
  return verb === "write" ? undefined : `${role}ViewLogMetadata`;
}

/** What members may not change, whatever the switches say: limits that hold for themselves. */
const policyWrites = ["policies.create", "policies.update", "policies.delete"];
const managersOnly = new Set([...Object.keys(single), ...policyWrites]);

/** Whether only managers and admins of a workspace hold a scope, whatever a member's key says. */
function isManagersOnly(scope: string): boolean {
  return managersOnly.has(scope) || scope.startsWith("workspace_service_api_keys.");
}

/**
 * Whether a person's role lets them use a scope. Services are not bound by roles.
 *
 * @param role Role in the workspace; owners and admins of the organisation are admins in each.
 */
export function roleAllows(role: Role, scope: string, settings: SecuritySettings): boolean {
  if (role === "owner" || role === "admin") return true;
  if (role === "member" && isManagersOnly(scope)) return false;
  const name = switchOf(scope, role === "manager" ? "managers" : "members");
  return name === undefined || (settings[name] ?? defaultSecuritySettings[name] ?? true);
}

/** What of the log a caller may see. */
export interface LogSight {
  /** Rows at all: times, models, figures. */
  metadata: boolean;
  /** What was sent and answered. */
  content: boolean;
  /** Rows of others too. */
  others: boolean;
}

/** Services and admins of a workspace see all of the log; of admins of the organisation the switches can say otherwise. */
export function logSightOf(
  person: { role: Role; isOrganisationAdmin: boolean; settings: SecuritySettings } | undefined,
): LogSight {
  if (!person) return { metadata: true, content: true, others: true };
  const { role, isOrganisationAdmin, settings } = person;
  const isOn = (name: string) => settings[name] ?? defaultSecuritySettings[name] ?? true;
  const names = { manager: "managers", member: "members", owner: "", admin: "" } as const;
  const prefix = isOrganisationAdmin ? "organisationAdmins" : names[role];
  if (prefix === "") return { metadata: true, content: true, others: true };
  return {
    metadata: isOn(`${prefix}ViewLogMetadata`),
    content: isOn(`${prefix}ViewLogs`),
    others: isOrganisationAdmin || isOn(`${prefix}ViewAllData`),
  };
}

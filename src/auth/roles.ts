/** Role of a user in an organisation or a workspace. */
export type Role = "owner" | "admin" | "manager" | "member";

/** Settings that determine what managers and members may do. */
export type SecuritySettings = Readonly<Record<string, boolean>>;

/** Record types in the names of settings, by the scopes they apply to. */
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

/** Settings with a separate name, by scope. */
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

/** Every setting with its default: allowed, except for what members may not write. */
export const defaultSecuritySettings: SecuritySettings = {
  organisationAdminsViewLogs: true,
  organisationAdminsViewLogMetadata: true,
  ...Object.fromEntries(bothRoles.map((name) => [name, true])),
  ...Object.fromEntries([...new Set(Object.values(single))].map((name) => [name, true])),
  membersWriteConfigs: false,
  membersWriteGuardrails: false,
};

/** The setting that decides on a scope for a role; undefined without one. */
function switchOf(scope: string, role: "managers" | "members"): string | undefined {
  const own = single[scope];
  if (own !== undefined) return role === "managers" ? own : undefined;
  const [family = "", verb = ""] = scope.split(".");
  // writing rows reads none; whether contents may be seen is the reader's part
  if (family === "logs") return verb === "write" ? undefined : `${role}ViewLogMetadata`;
  const group = groups[family];
  // `use` neither reads nor writes
  if (group === undefined || verb === "invoke") return undefined;
  return `${role}${readingVerbs.has(verb) ? "View" : "Write"}${group}`;
}

/** Verbs that read records; the others change them. A rendered prompt reveals its text. */
const readingVerbs = new Set(["read", "list", "view", "export", "render"]);

/** What members may not change, whatever the switches say: limits that hold for themselves. */
const policyWrites = ["policies.create", "policies.update", "policies.delete"];
const managersOnly = new Set([...Object.keys(single), ...policyWrites]);

/** Whether a scope requires an admin or manager of a workspace, whatever a member's key has. */
function isManagersOnly(scope: string): boolean {
  return managersOnly.has(scope) || scope.startsWith("workspace_service_api_keys.");
}

/**
 * Whether a user's role allows a scope. Services have no role.
 *
 * @param role Role in the workspace; owners and admins of the organisation count as admin.
 */
export function roleAllows(role: Role, scope: string, settings: SecuritySettings): boolean {
  if (role === "owner" || role === "admin") return true;
  if (role === "member" && isManagersOnly(scope)) return false;
  const name = switchOf(scope, role === "manager" ? "managers" : "members");
  return name === undefined || (settings[name] ?? defaultSecuritySettings[name] ?? true);
}

/** What a caller may see of the log. */
export interface LogSight {
  /** Rows: times, models, figures. */
  metadata: boolean;
  /** Request and response bodies. */
  content: boolean;
  /** Rows of others. */
  others: boolean;
}

/** Services and admins of a workspace see the whole log; for admins of the organisation it depends on the settings. */
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

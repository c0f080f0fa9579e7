import type { keyKinds } from "../schemas/api-keys.ts";

const crud = ["create", "read", "update", "delete", "list"];

/** Verbs of a family of scopes, and the kinds of key that may have them: admin, workspace service, workspace user. */
interface ScopeFamily {
  verbs: readonly string[];
  admin?: readonly string[];
  service?: readonly string[];
  user?: readonly string[];
}

function shared(verbs: readonly string[]): ScopeFamily {
  return { verbs, admin: verbs, service: verbs, user: verbs };
}

function adminOnly(verbs: readonly string[]): ScopeFamily {
  return { verbs, admin: verbs };
}

function workspaceOnly(verbs: readonly string[]): ScopeFamily {
  return { verbs, service: verbs, user: verbs };
}

function organisationLevel(verbs: readonly string[]): ScopeFamily {
  return { verbs, admin: verbs, service: ["list"], user: ["list"] };
}

/** Every scope that a key can have. */
const scopeFamilies = {
  organisation_users: adminOnly(crud),
  organisation_guardrails: adminOnly(crud),
  deployments: adminOnly(crud),
  secret_references: adminOnly(crud),
  organisation_service_api_keys: adminOnly([...crud, "rotate"]),
  organisation_settings: adminOnly(["read", "update"]),
  organisation_mcp_identity: adminOnly(["update"]),
  organisation_exclusions: adminOnly(["update", "list"]),
  plugins: adminOnly(["create", "update", "list"]),
  audit_logs: adminOnly(["list"]),
  workspaces: { verbs: crud, admin: crud, service: ["read", "update", "list"], user: ["read", "update", "list"] },
  workspace_service_api_keys: { verbs: [...crud, "rotate"], admin: [...crud, "rotate"], service: [...crud, "rotate"] },
  workspace_user_api_keys: { verbs: [...crud, "rotate"], admin: [...crud, "rotate"], service: [...crud, "rotate"] },
  workspace_users: shared(crud),
  configs: shared(crud),
  providers: shared(crud),
  policies: shared(crud),
  workspace_integrations: shared(crud),
  workspace_mcp_integrations: shared(crud),
  workspace_agent_integrations: shared(crud),
  agent_servers: shared(crud),
  mcp_servers: shared(crud),
  prompts: {
    verbs: [...crud, "publish", "render"],
    admin: [...crud, "publish"],
    service: [...crud, "publish", "render"],
    user: [...crud, "publish", "render"],
  },
  guardrails: { verbs: [...crud, "invoke"], admin: crud, service: [...crud, "invoke"], user: [...crud, "invoke"] },
  virtual_keys: shared([...crud, "duplicate", "copy"]),
  organisation_integrations: organisationLevel(crud),
  organisation_mcp_integrations: organisationLevel(crud),
  organisation_agent_integrations: organisationLevel(crud),
  completions: workspaceOnly(["write"]),
  mcp: workspaceOnly(["invoke"]),
  agents: workspaceOnly(["invoke"]),
  analytics: shared(["view"]),
  logs: {
    verbs: ["export", "list", "view", "write"],
    admin: ["export", "list", "view"],
    service: ["export", "list", "view", "write"],
    user: ["export", "list", "view", "write"],
  },
} satisfies Readonly<Record<string, ScopeFamily>>;

/** Beginning of scopes: what they are for. */
export type ScopeFamilyName = keyof typeof scopeFamilies;

/** Kind of a key, which determines its possible scopes and routes. */
export type KeyKind = (typeof keyKinds)[number];

/** All scopes that a kind of key may have, in dot notation. */
export function scopesOfKind(kind: KeyKind): string[] {
  const column = { "organisation-service": "admin", "workspace-service": "service", "workspace-user": "user" } as const;
  return Object.entries<ScopeFamily>(scopeFamilies).flatMap(([family, verbs]) =>
    (verbs[column[kind]] ?? []).map((verb) => `${family}.${verb}`),
  );
}

/** Scopes that only tokens use: accepted there, never offered for keys. */
const tokenOnly = new Set([
  "completions.read",
  "logs.read",
  "feedbacks.read",
  "feedbacks.write",
  "generations.create",
  "organisations.read",
  "providers.duplicate",
]);

/** A scope in its stored form: `configs:read` becomes `configs.read`, and a leading `gateway.` is removed. */
export function normaliseScope(scope: string): string {
  return scope
    .trim()
    .replace(/^gateway[.:]/, "")
    .replace(":", ".");
}

/** Whether a kind of key, or a token, may have a scope. */
export function mayHoldScope(kind: KeyKind | "token", scope: string): boolean {
  if (kind === "token") return tokenOnly.has(scope) || workspaceScopes.has(scope);
  return scopeSets[kind].has(scope);
}

const scopeSets = {
  "organisation-service": new Set(scopesOfKind("organisation-service")),
  "workspace-service": new Set(scopesOfKind("workspace-service")),
  "workspace-user": new Set(scopesOfKind("workspace-user")),
};
const workspaceScopes = scopeSets["workspace-service"];

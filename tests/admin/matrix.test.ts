import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { type KeyKind, scopesOfKind } from "../../src/auth/scopes.ts";
import { isAdminEndpoint } from "../../src/endpoint.ts";
import { keyKinds } from "../../src/schemas/api-keys.ts";
import { call } from "../support/control.ts";
import { createTestGateway, insertKey, type TestGateway } from "../support/gateway.ts";
import { requireListed } from "../support/listed.ts";

/** The callers of a route: keys of the organisation, of a workspace, or both; and the scopes of which one is enough. */
type Rule = readonly [route: string, takes: "admin" | "workspace" | "any", ...scopes: string[]];

/** Routes of a resource whose verbs follow the methods. */
function crud(path: string, takes: Rule[1], families: readonly string[], parameter = "{id}"): Rule[] {
  const scopes = (verb: string) => families.map((family) => `${family}.${verb}`);
  return [
    [`GET ${path}`, takes, ...scopes("list")],
    [`POST ${path}`, takes, ...scopes("create")],
    [`GET ${path}/${parameter}`, takes, ...scopes("read")],
    [`PUT ${path}/${parameter}`, takes, ...scopes("update")],
    [`DELETE ${path}/${parameter}`, takes, ...scopes("delete")],
  ];
}

/** Routes of a resource whose verbs all need one of the same scopes. */
const crudOf = (path: string, takes: Rule[1], ...scopes: string[]): Rule[] =>
  crud(path, takes, []).map(([route]) => [route, takes, ...scopes]);

const integrations = ["organisation_integrations", "workspace_integrations"];
const mcpIntegrations = ["organisation_mcp_integrations", "workspace_mcp_integrations"];
const stored = ["providers", "virtual_keys"];
const keys = ["organisation_service_api_keys", "workspace_service_api_keys", "workspace_user_api_keys"];
const ofKeys = (verb: string) => keys.map((family) => `${family}.${verb}`);
const ofIntegrations = (verb: string) => integrations.map((family) => `${family}.${verb}`);

const analytics = [
  ...["requests", "cost", "latency", "tokens", "users", "users/requests", "requests/rescued"].map(
    (name) => `graphs/${name}`,
  ),
  ...["errors", "errors/rate", "errors/stacks", "errors/status-codes"].map((name) => `graphs/${name}`),
  ...["cache/hit-rate", "cache/latency", "cache/prompt", "auto/savings"].map((name) => `graphs/${name}`),
  ...["feedbacks", "feedbacks/scores", "feedbacks/weighted", "feedbacks/ai-models"].map((name) => `graphs/${name}`),
  "graphs/users-requests",
  "graphs/errors-rate",
  "graphs/errors-stack",
  "graphs/errors-status-code",
  "graphs/requests-rescued",
  "graphs/cache-hit-rate",
  "graphs/cache-latency",
  "graphs/feedbacks/score",
  ...["cache", "requests"].map((name) => `summary/${name}`),
  ...["users", "ai-models", "metadata/{key}", "labels/{name}", "provider", "integration", "ai_service", "model"].map(
    (name) => `groups/${name}`,
  ),
  ...[
    "status_code",
    "requested_model",
    "mcp_server",
    "api_key",
    "region",
    "session",
    "zero_retention",
    "config",
    "prompt",
    "variant",
    "workspace",
    "workspaces",
  ].map((name) => `groups/${name}`),
];

const rules: readonly Rule[] = [
  ...crud("/configs", "any", ["configs"], "{slug}"),
  ["GET /configs/{slug}/versions", "any", "configs.read"],
  ...crud("/model-aliases", "any", ["configs"]),
  ["DELETE /cache", "any", "configs.update"],
  ...crud("/guardrails", "any", ["guardrails", "organisation_guardrails"]),
  ...crud("/admin/v2/guardrails", "admin", ["organisation_guardrails"]),
  ...crud("/prompts", "any", ["prompts"]),
  ["GET /prompts/{id}/versions", "any", "prompts.read"],
  ["GET /prompts/{id}/versions/{versionId}", "any", "prompts.read"],
  ["PUT /prompts/{id}/versions/{versionId}", "any", "prompts.publish"],
  ["PUT /prompts/{id}/makeDefault", "any", "prompts.publish"],
  ...crud("/prompts/partials", "any", ["prompts"]),
  ["GET /prompts/partials/{id}/versions", "any", "prompts.read"],
  ["PUT /prompts/partials/{id}/makeDefault", "any", "prompts.publish"],
  ...crud("/labels", "any", ["prompts"]),
  ...crud("/collections", "any", ["prompts"]),
  ...crud("/example-sets", "any", ["prompts"]),
  ["POST /example-sets/{id}/versions", "any", "prompts.update"],
  ["GET /example-sets/{id}/versions", "any", "prompts.read"],
  ["GET /example-sets/{id}/examples", "any", "prompts.read"],
  ["GET /eval-runs", "any", "prompts.list"],
  ["POST /eval-runs", "workspace", "prompts.create"],
  ["GET /eval-runs/{id}", "any", "prompts.read"],
  ["DELETE /eval-runs/{id}", "any", "prompts.delete"],
  ["POST /eval-runs/{id}/cancel", "any", "prompts.update"],
  ["POST /eval-runs/{id}/ratings", "any", "prompts.update"],
  ["POST /eval-runs/{id}/promote", "any", "prompts.update"],
  ["GET /eval-runs/{id}/results", "any", "prompts.read"],
  ["GET /eval-runs/{id}/export", "any", "prompts.read"],
  ...crud("/policies/usage-limits", "any", ["policies"]),
  ["GET /policies/usage-limits/{id}/entities", "any", "policies.read"],
  ["PUT /policies/usage-limits/{id}/entities/{id}/reset", "any", "policies.update"],
  ...crud("/policies/rate-limits", "any", ["policies"]),
  ...crud("/policies/labels", "any", ["policies"]),
  ...crudOf("/saved-views", "any", "analytics.view", "logs.list", "logs.view"),
  ...crudOf("/playground-runs", "workspace", "completions.write"),
  ["PUT /saved-views/{id}/default", "any", "analytics.view", "logs.list", "logs.view"],
  ["DELETE /saved-views/{id}/default", "any", "analytics.view", "logs.list", "logs.view"],
  ...crud("/alert-rules", "any", ["policies"]),
  ["GET /alert-rules/{id}/events", "any", "policies.read"],
  ["POST /alert-rules/{id}/test", "any", "policies.update"],
  ["GET /policies/explain", "any", "policies.read", "policies.list"],
  ...crud("/integrations", "any", integrations, "{slug}"),
  ["GET /integrations/{slug}/models", "any", ...ofIntegrations("read")],
  ["PUT /integrations/{slug}/models", "any", ...ofIntegrations("update")],
  ["DELETE /integrations/{slug}/models", "any", ...ofIntegrations("update")],
  ["GET /integrations/{slug}/workspaces", "admin", ...ofIntegrations("read")],
  ["PUT /integrations/{slug}/workspaces", "admin", ...ofIntegrations("update")],
  ...crud("/providers", "any", stored, "{slug}"),
  ["POST /providers/{slug}/test", "any", ...stored.map((family) => `${family}.read`)],
  ["POST /integrations/{slug}/test", "any", ...ofIntegrations("read")],
  ...crud("/virtual-keys", "any", stored, "{slug}"),
  ...crud("/mcp-integrations", "any", mcpIntegrations, "{slug}"),
  ["GET /mcp-integrations/{slug}/workspaces", "admin", ...mcpIntegrations.map((family) => `${family}.read`)],
  ["PUT /mcp-integrations/{slug}/workspaces", "admin", ...mcpIntegrations.map((family) => `${family}.update`)],
  ["GET /mcp-integrations/{slug}/capabilities", "any", ...mcpIntegrations.map((family) => `${family}.read`)],
  ...["PUT /mcp-integrations/{slug}/capabilities", "POST /mcp-integrations/{slug}/capabilities/approve"].map(
    (route): Rule => [route, "any", ...mcpIntegrations.map((family) => `${family}.update`)],
  ),
  ...["GET /mcp-integrations/{slug}/metadata", "POST /mcp-integrations/{slug}/test"].map(
    (route): Rule => [route, "any", ...mcpIntegrations.map((family) => `${family}.read`)],
  ),
  ["POST /mcp-integrations/{slug}/sync", "any", ...mcpIntegrations.map((family) => `${family}.update`)],
  ["GET /mcp-servers/{slug}/metadata", "any", "mcp_servers.read"],
  ["POST /mcp-servers/{slug}/test", "any", "mcp_servers.read"],
  ["POST /mcp-servers/{slug}/capabilities/sync", "any", "mcp_servers.update"],
  ["POST /mcp-servers/{slug}/metadata/sync", "any", "mcp_servers.update"],
  ["GET /mcp-servers/{slug}/client-info", "any", "mcp_servers.read"],
  ...crud("/mcp-servers", "any", ["mcp_servers"], "{slug}"),
  ...["capabilities", "user-access"].flatMap((part): Rule[] => [
    [`GET /mcp-servers/{slug}/${part}`, "any", "mcp_servers.read"],
    [`PUT /mcp-servers/{slug}/${part}`, "any", "mcp_servers.update"],
  ]),
  ...["connections", "tokens"].flatMap((part): Rule[] => [
    [`GET /mcp-servers/{slug}/${part}`, "any", "mcp_servers.read"],
    [`DELETE /mcp-servers/{slug}/${part}`, "any", "mcp_servers.update"],
  ]),
  ["PUT /mcp-servers/{slug}/tokens", "any", "mcp_servers.update"],
  ["GET /mcp-oauth-clients", "any", "mcp_servers.list"],
  ["POST /mcp-oauth-clients", "any", "mcp_servers.create"],
  ["GET /mcp-oauth-clients/{id}", "any", "mcp_servers.read"],
  ["DELETE /mcp-oauth-clients/{id}", "any", "mcp_servers.delete"],
  ["GET /mcp-servers/{slug}/user-access/check", "any", "mcp_servers.read"],
  ["GET /guardrails/checks", "any", "guardrails.list", "organisation_guardrails.list"],
  ["POST /guardrails/{id}/test", "any", "guardrails.read", "organisation_guardrails.read"],
  ["GET /guardrails/{id}/mcp-servers", "any", "guardrails.read", "organisation_guardrails.read"],
  ...["PUT /guardrails/{id}/mcp-servers", "PUT /guardrails/{id}/mcp-servers/{id}"].map(
    (route): Rule => [route, "any", "guardrails.update", "organisation_guardrails.update"],
  ),
  ["GET /admin/v2/guardrails/{id}/mcp-servers", "admin", "organisation_guardrails.read"],
  ["PUT /admin/v2/guardrails/{id}/mcp-servers", "admin", "organisation_guardrails.update"],
  ["PUT /admin/v2/guardrails/{id}/mcp-servers/{id}", "admin", "organisation_guardrails.update"],
  ["GET /api-keys", "any", ...ofKeys("list")],
  ["POST /api-keys/organisation/service", "admin", "organisation_service_api_keys.create"],
  ["POST /api-keys/workspace/service", "any", "workspace_service_api_keys.create"],
  ["POST /api-keys/workspace/user", "any", "workspace_user_api_keys.create"],
  ["GET /api-keys/{id}", "any", ...ofKeys("read")],
  ["PUT /api-keys/{id}", "any", ...ofKeys("update")],
  ["DELETE /api-keys/{id}", "any", ...ofKeys("delete")],
  ["POST /api-keys/{id}/rotate", "any", ...ofKeys("rotate")],
  ["GET /admin/users", "admin", "organisation_users.list"],
  ["GET /admin/users/{id}", "admin", "organisation_users.read"],
  ["PUT /admin/users/{id}", "admin", "organisation_users.update"],
  ["DELETE /admin/users/{id}", "admin", "organisation_users.delete"],
  ["GET /admin/users/invites", "admin", "organisation_users.list"],
  ["POST /admin/users/invites", "admin", "organisation_users.create"],
  ["GET /admin/users/invites/{id}", "admin", "organisation_users.read"],
  ["DELETE /admin/users/invites/{id}", "admin", "organisation_users.delete"],
  ["POST /admin/users/invites/{id}/resend", "admin", "organisation_users.create", "organisation_users.update"],
  ["GET /admin/workspaces", "any", "workspaces.list"],
  ["POST /admin/workspaces", "admin", "workspaces.create"],
  ["GET /admin/workspaces/{id}", "any", "workspaces.read"],
  ["PUT /admin/workspaces/{id}", "any", "workspaces.update"],
  ["DELETE /admin/workspaces/{id}", "admin", "workspaces.delete"],
  ["GET /admin/workspaces/{id}/users", "any", "workspace_users.list"],
  ["POST /admin/workspaces/{id}/users", "any", "workspace_users.create"],
  ["GET /admin/workspaces/{id}/users/{id}", "any", "workspace_users.read"],
  ["PUT /admin/workspaces/{id}/users/{id}", "any", "workspace_users.update"],
  ["DELETE /admin/workspaces/{id}/users/{id}", "any", "workspace_users.delete"],
  ["GET /admin/organisation/defaults", "admin", "organisation_settings.read"],
  ["PUT /admin/organisation/defaults", "admin", "organisation_settings.update"],
  ["GET /organisations/self", "admin", "organisation_settings.read"],
  ["GET /organisations/{id}", "admin", "organisation_settings.read"],
  ["PUT /organisations/{id}", "admin", "organisation_settings.update"],
  ["GET /organisations/{id}/auth-settings", "admin", "organisation_settings.read"],
  ["PUT /organisations/{id}/auth-settings", "admin", "organisation_settings.update"],
  ...["input-guardrails", "output-guardrails"].flatMap((direction): Rule[] => [
    [`GET /workspace-exclusions/${direction}`, "admin", "organisation_exclusions.list"],
    [`PUT /workspace-exclusions/${direction}`, "admin", "organisation_exclusions.update"],
  ]),
  ["GET /scim/workspaces", "admin", "organisation_users.list"],
  ["POST /scim/workspaces", "admin", "organisation_users.create"],
  ["DELETE /scim/workspaces/{id}", "admin", "organisation_users.delete"],
  ["GET /scim/groups", "admin", "organisation_users.list"],
  ["GET /admin/scim/tokens", "admin", "organisation_users.list"],
  ["POST /admin/scim/tokens", "admin", "organisation_users.create"],
  ["DELETE /admin/scim/tokens/{id}", "admin", "organisation_users.delete"],
  ...crud("/secret-references", "admin", ["secret_references"]),
  ...crud("/deployments", "admin", ["deployments"]),
  ["GET /deployments/{id}/ping", "admin", "deployments.read"],
  ["GET /audit-logs", "admin", "audit_logs.list"],
  ["GET /audit-logs/verification", "admin", "audit_logs.list"],
  ...["GET /logs/exports", "POST /logs/exports", "GET /logs/exports/field-restrictions"].map(
    (route): Rule => [route, "any", "logs.export"],
  ),
  ...["GET", "PUT"].map((method): Rule => [`${method} /logs/exports/{id}`, "any", "logs.export"]),
  ...["POST /logs/exports/{id}/start", "POST /logs/exports/{id}/cancel", "GET /logs/exports/{id}/download"].map(
    (route): Rule => [route, "any", "logs.export"],
  ),
  ...analytics
    .filter((path) => path.startsWith("groups/") && !/(?:ai-models|workspaces)$/.test(path))
    .map((path): Rule => [`GET /analytics/${path.replace("groups/", "series/")}`, "any", "analytics.view"]),
  ...analytics.map((path): Rule => [`GET /analytics/${path}`, "any", "analytics.view"]),
  ["GET /health/summary", "any", "analytics.view"],
  ["GET /health/targets", "any", "analytics.view"],
];

let gateway: TestGateway;
let ready: Promise<(options: { kind: KeyKind; scopes: readonly string[] }) => Promise<string>>;
before(async () => {
  // each route refuses an unknown key once
  gateway = await createTestGateway({ inFile: true, authFailuresPerMinute: 1_000 });
  ready = gateway.openFile().then((database) => {
    return async ({ kind, scopes }) => {
      const { key } = mintApiKey("gk");
      const isAdmin = kind === "organisation-service";
      await insertKey(database, key, { kind, scopes: JSON.stringify(scopes), ...(isAdmin && { workspaceId: null }) });
      return key;
    };
  });
});
after(() => gateway.close());

const allScopes = [
  ...new Set([...scopesOfKind("organisation-service"), ...scopesOfKind("workspace-service"), "providers.duplicate"]),
];

/** The response of a route that refuses a caller, and whether it lets one in. */
async function outcome(route: string, key: string): Promise<string> {
  const [method = "", path = ""] = route.split(" ");
  const body = method === "GET" || method === "DELETE" ? undefined : {};
  const { status, body: answer } = await call<{ data?: { errorCode?: string }; error?: { code?: string } }>(
    gateway,
    `${method} ${path.replace(/\{\w+\}/g, "00000000-0000-4000-8000-000000000000")}`,
    { key, ...(body && { body }) },
  );
  const code = answer.error?.code ?? "";
  if (status === 401 || status === 403) return `${status} ${code}`;
  // authorised: a response, a body that lacks a field, or an unknown record
  return ["200", "400 AB01", "404 AB08", "404 AB02"].includes(`${status} ${code}`.trim())
    ? "allowed"
    : `${status} ${code}`;
}

for (const [route, takes, ...scopes] of rules) {
  test(`${route} accepts ${takes} keys with ${scopes.join(" or ")}`, async () => {
    const make = await ready;
    const others = allScopes.filter((scope) => !scopes.includes(scope));
    for (const kind of keyKinds) {
      const fits = takes === "any" || (takes === "admin") === (kind === "organisation-service");
      for (const scope of scopes) {
        const key = await make({ kind, scopes: [scope] });
        assert.equal(await outcome(route, key), fits ? "allowed" : "403 AB03", `${kind} with ${scope}`);
      }
      const without = await make({ kind, scopes: others });
      assert.equal(await outcome(route, without), "403 AB03", `${kind} with every other scope`);
    }
    assert.equal(await outcome(route, "no-such-key-000000000000"), "401 AB05");
  });
}

test("the table lists every route of the control plane", () => {
  const form = (route: string) => route.replace(/\{\w+\}|:\w+/g, "{}").replace(" /v1", " ");
  const served = adminEndpoints
    .filter(isAdminEndpoint)
    .map(({ method, path }) => form(`${method} ${path}`))
    .filter((route) => route !== "POST /api-keys/{}/{}");
  const named = rules.map(([route]) => form(route));
  requireListed(served, named, "rules");
});

test("an admin key cannot use inference", async () => {
  const make = await ready;
  const key = await make({ kind: "organisation-service", scopes: allScopes });
  for (const route of [
    "POST /chat/completions",
    "POST /embeddings",
    "GET /models",
    "POST /moderations",
    "GET /files",
    "POST /prompts/pp-x/render",
    "POST /prompts/pp-x/completions",
  ]) {
    assert.equal(await outcome(route, key), "403 AB03", route);
  }
});

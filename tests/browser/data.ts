import { scopesOfKind } from "../../src/auth/scopes.ts";
import { eventually } from "../support/eventually.ts";
import type { ConsoleStand } from "./support.ts";

/** Records of each kind and some requests, so that no page is empty. */
export async function fillStand({ gateway, call, workspaceId }: ConsoleStand, name = "Example"): Promise<void> {
  const { workspaceKey, adminKey } = gateway;
  const make = (row: string, body: object) => call(`POST ${row}`, workspaceKey, body);
  await make("/v1/integrations", {
    name,
    ai_provider_id: "echo",
    slug: "example",
    create_default_provider: true,
    default_provider_slug: "echo",
  });
  await make("/v1/configs", {
    name,
    config: {
      strategy: { mode: "fallback" },
      targets: [{ provider: "echo" }, { provider: "echo", override_params: { model: "echo-2" } }],
    },
  });
  await make("/v1/model-aliases", { name: "example-alias", target: { model: "@echo/echo-1" } });
  await make("/v1/guardrails", {
    name,
    checks: [{ id: "default.contains", parameters: { words: ["forbidden"], operator: "none" } }],
    actions: { deny: true },
  });
  const conditions = [{ key: "workspace_id", value: workspaceId }];
  const group = [{ key: "api_key" }];
  await make("/v1/policies/usage-limits", { name, conditions, group_by: group, type: "cost", credit_limit: 10 });
  // requests of tests have no such metadata
  const secret = [{ key: "metadata.class", value: "secret" }];
  const destinations = [{ type: "email", to: ["ada@example.com"] }];
  await make("/v1/alert-rules", { name, metric: "requests", threshold: 0, destinations });
  await make("/v1/policies/labels", { name, conditions: secret, require_labels: { region: "eu" } });
  await make("/v1/policies/rate-limits", {
    name,
    conditions,
    group_by: group,
    type: "requests",
    unit: "rpm",
    value: 6000,
  });
  const collection = await make("/v1/collections", { name });
  await make("/v1/prompts", {
    name,
    collection_id: collection.id,
    string: JSON.stringify([{ role: "user", content: "Hello {{name}}" }]),
    parameters: {},
    virtual_key: "echo",
    model: "echo-1",
  });
  const pinned = { page: "analytics", pinned: true, question: { group: "metadata/team", figure: "requests" } };
  for (const view of [pinned, { page: "logs", question: {} }, { page: "sessions", question: {} }])
    await make("/v1/saved-views", { name, shared: true, ...view });
  const message = { role: "user", content: name };
  const answer = { text: name, reasoning: name, finish: name, ran: [{ name, output: name }], error: name };
  const column = { target: { model: name }, turns: [{ message }, { answer }] };
  await make("/v1/playground-runs", { name, shared: true, contents: { columns: [column], messages: [message] } });
  const examples = [{ body: { model: "echo-1", messages: [{ role: "user", content: "Hello" }] }, expected: "Hello" }];
  const set = await make("/v1/example-sets", { name, examples });
  const variants = [{ model: "@echo/echo-1" }];
  const checks = [{ type: "exact" }];
  await make("/v1/eval-runs", { name, example_set: set.id, variants, checks, budget_usd: 1 });
  await make("/v1/prompts/partials", { name, string: "Kind regards" });
  await make("/v1/labels", { name: "reviewed" });
  const server = { url: "https://tools.example/mcp", auth_type: "none", transport: "http" };
  await make("/v1/mcp-integrations", { name, slug: "example-tools", ...server });
  await make("/v1/mcp-servers", { name, slug: "example-server", mcp_integration_id: "example-tools" });
  await call("POST /v1/admin/users/invites", adminKey, {
    email: "invited@example.com",
    role: "member",
    workspaces: [{ id: workspaceId, role: "member" }],
  });
  await call("POST /v1/admin/scim/tokens", adminKey, { name });
  await make("/v1/logs/exports", { filters: {}, requested_data: ["id"], description: name });
  await call("POST /v1/secret-references", adminKey, {
    name,
    slug: "example-secret",
    manager_type: "hashicorp_vault",
    secret_path: "team/key",
    auth_config: { vault_auth_type: "token", vault_addr: "https://vault.example", vault_token: "not-a-real-token" },
  });
  await call("POST /v1/scim/workspaces", adminKey, {
    workspace_id: workspaceId,
    role: "member",
    scim_group_name: name,
  });
}

/** Lines of a file for a batch that the built-in provider answers, one for each text. */
export function toBatchLines(texts: readonly string[]): string {
  return texts
    .map((content, index) =>
      JSON.stringify({
        custom_id: `line-${index}`,
        method: "POST",
        url: "/v1/chat/completions",
        body: { model: "echo-1", messages: [{ role: "user", content }] },
      }),
    )
    .join("\n");
}

/** Uploads a file and runs it as a batch with the built-in provider, to its end. */
export async function runBatch({ gateway, call }: ConsoleStand, texts: readonly string[]): Promise<void> {
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new File([toBatchLines(texts)], "requests.jsonl"));
  const headers = { "x-gateway-api-key": gateway.workspaceKey };
  const response = await fetch(`${gateway.url}/v1/files`, { method: "POST", headers, body: form });
  const { id } = await response.json();
  const batch = await call("POST /v1/batches", gateway.workspaceKey, {
    input_file_id: id,
    endpoint: "/v1/chat/completions",
    completion_window: "immediate",
    gateway_options: { "x-gateway-provider": "echo" },
  });
  await eventually("the batch to end", async () => {
    const { status } = await call(`GET /v1/batches/${String(batch.id)}`, gateway.workspaceKey);
    return status === "completed";
  });
}

/** Sends a chat request to the built-in provider, which answers with the last user message. */
export async function chat(
  stand: ConsoleStand,
  content: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { gateway } = stand;
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "x-gateway-api-key": gateway.workspaceKey,
      "x-gateway-provider": "echo",
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content }], ...more }),
  });
  await response.arrayBuffer();
  return response;
}

/** Key of a new user with a role in the workspace, with each scope that such a key can hold. */
export async function keyOf({ gateway, call, workspaceId }: ConsoleStand, role: string, email = role): Promise<string> {
  const invite = await call("POST /v1/admin/users/invites", gateway.adminKey, {
    email: `${email}@example.com`,
    role: "member",
    workspaces: [{ id: workspaceId, role }],
    workspace_api_key_details: { scopes: scopesOfKind("workspace-user") },
  });
  const token = new URL(String(invite.invite_link)).searchParams.get("token");
  const accepted = await call(`POST /v1/admin/users/invites/${String(invite.id)}/accept`, "", { token });
  const keys = Array.isArray(accepted.api_keys) ? accepted.api_keys : [];
  return String(keys[0]?.key);
}

/** The settings of the organisation. */
export async function readOrganisation({ gateway, call }: ConsoleStand): Promise<Record<string, unknown>> {
  const { data } = await call("GET /v1/organisations/self", gateway.adminKey);
  return { ...Object(data) };
}

/** Changes settings of the organisation. */
export async function changeOrganisation(stand: ConsoleStand, changes: object): Promise<void> {
  const { id } = await readOrganisation(stand);
  await stand.call(`PUT /v1/organisations/${id}`, stand.gateway.adminKey, changes);
}

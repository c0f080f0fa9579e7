// Every method of the Python client `portkey-ai`, with the keyword arguments of one call. See npm-calls.ts for the names.

import type { ClientCall } from "./run.ts";

const period = { time_of_generation_min: "2026-01-01T00:00:00Z", time_of_generation_max: "2026-12-31T00:00:00Z" };
const figures = { ...period, order_by: "requests", order_by_type: "desc", page_size: 10 };
const inWorkspace = { workspace_id: "$workspace" };
const checks = [{ id: "default.contains", parameters: { words: ["x"], operator: "none" } }];
const graphs =
  "cache_hit_rate cache_latency cost errors errors_rate errors_stacks errors_status_codes feedbacks feedbacks_ai_models feedbacks_scores feedbacks_weighted latency requests requests_rescued tokens users users_requests";

const call = (method: string, args: object, more: Partial<ClientCall> = {}): ClientCall => ({
  method,
  args: [args],
  ...more,
});
const ofAdmins = { admin: 200 };
const ofWorkspaces = { admin: 403 };
/** The client names no workspace here, and an admin key needs one. */
const withoutWorkspace = { admin: 400 };

const people: readonly ClientCall[] = [
  call("admin.workspaces.create", { name: "W $run", description: "d" }, { admin: 200, made: { other: "id" } }),
  call("admin.workspaces.retrieve", { workspace_id: "$other" }, ofAdmins),
  call("admin.workspaces.list", { page_size: 10 }),
  call("admin.workspaces.update", { workspace_id: "$other", name: "W2 $run" }, ofAdmins),
  call("admin.workspaces.users.create", { workspace_id: "$other", users: [{ id: "$user", role: "admin" }] }, ofAdmins),
  call("admin.workspaces.users.list", { workspace_id: "$other" }, ofAdmins),
  call("admin.workspaces.users.retrieve", { workspace_id: "$other", user_id: "$user" }, ofAdmins),
  call("admin.workspaces.users.update", { workspace_id: "$other", user_id: "$user", role: "member" }, ofAdmins),
  call("admin.workspaces.users.delete", { workspace_id: "$other", user_id: "$user" }, ofAdmins),
  call("admin.workspaces.delete", { workspace_id: "$other", name: "W2 $run" }, ofAdmins),
  call("admin.users.list", { role: "member" }, ofAdmins),
  call("admin.users.retrieve", { user_id: "$user" }, ofAdmins),
  call("admin.users.update", { user_id: "$user", role: "admin" }, ofAdmins),
  call(
    "admin.users.invites.create",
    {
      email: "$run@example.com",
      role: "member",
      workspaces: [{ id: "$workspace", role: "member" }],
      workspace_api_key_details: { name: "k", scopes: ["completions.write"] },
    },
    { admin: 200, made: { invite: "id" } },
  ),
  call("admin.users.invites.retrieve", { invite_id: "$invite" }, ofAdmins),
  call("admin.users.invites.list", { role: "member" }, ofAdmins),
  call("admin.users.invites.resend", { invite_id: "$invite" }, ofAdmins),
  call("admin.users.invites.delete", { invite_id: "$invite" }, ofAdmins),
  call("admin.users.delete", { user_id: "$leaver" }, ofAdmins),
  call(
    "api_keys.create",
    { type: "workspace", sub_type: "service", name: "k", ...inWorkspace, scopes: ["completions.write"] },
    { made: { key: "id" } },
  ),
  call("api_keys.retrieve", { id: "$key" }),
  call("api_keys.list", inWorkspace),
  call("api_keys.update", { id: "$key", name: "k2" }),
  call("api_keys.delete", { id: "$key" }),
];

const routing: readonly ClientCall[] = [
  call(
    "configs.create",
    { name: "c", config: { provider: "echo" }, is_default: 0, ...inWorkspace },
    { made: { config: "slug" } },
  ),
  call("configs.retrieve", { slug: "$config" }),
  call("configs.list", inWorkspace),
  call("configs.update", { slug: "$config", name: "c2", config: { provider: "echo" } }),
  call("configs.delete", { slug: "$config" }),
  call(
    "integrations.create",
    {
      name: "i $run",
      slug: "i-$run",
      ai_provider_id: "openai",
      key: "sk-fake",
      configurations: { custom_host: "$upstream/v1" },
      create_default_provider: false,
      ...inWorkspace,
    },
    { made: { integration: "slug" } },
  ),
  call("integrations.list", inWorkspace),
  call("integrations.retrieve", { slug: "$integration" }),
  call("integrations.update", { slug: "$integration", name: "i2" }),
  call("integrations.models.update", {
    slug: "$integration",
    allow_all_models: true,
    models: [{ slug: "own", is_custom: true, enabled: true }],
  }),
  call("integrations.models.list", { slug: "$integration" }),
  call("integrations.models.delete", { slug: "$integration", slugs: "own" }),
  call(
    "integrations.create",
    { name: "o $run", slug: "o-$run", ai_provider_id: "openai", key: "sk-fake" },
    { made: { shared: "slug" } },
  ),
  call("integrations.workspaces.list", { slug: "$shared" }, { workspace: 403 }),
  call(
    "integrations.workspaces.update",
    { slug: "$shared", workspaces: [{ id: "$workspace", enabled: true }] },
    { workspace: 403 },
  ),
  call(
    "providers.create",
    { name: "p", slug: "p-$run", integration_id: "$integration", ...inWorkspace },
    { made: { provider: "slug" } },
  ),
  call("providers.list", inWorkspace),
  call("providers.retrieve", { slug: "$provider", ...inWorkspace }),
  call("providers.update", { slug: "$provider", name: "p2", ...inWorkspace }),
  call("providers.delete", { slug: "$provider", ...inWorkspace }),
  call("integrations.delete", { slug: "$integration" }),
  call(
    "virtual_keys.create",
    {
      name: "v $run",
      provider: "openai",
      key: "sk-fake",
      note: null,
      apiVersion: null,
      resourceName: null,
      deploymentName: null,
      api_version: null,
      ...inWorkspace,
    },
    { made: { virtual: "data.slug" } },
  ),
  call("virtual_keys.create", {
    name: "az $run",
    provider: "azure-openai",
    key: "sk-fake",
    api_version: "2024-10-21",
    resource_name: "res",
    deployment_name: "dep",
    ...inWorkspace,
  }),
  call("virtual_keys.list", inWorkspace),
  call("virtual_keys.retrieve", { slug: "$virtual" }, withoutWorkspace),
  call("virtual_keys.update", { slug: "$virtual", name: "v2", ...inWorkspace }),
  call("virtual_keys.delete", { slug: "$virtual" }, withoutWorkspace),
  call(
    "guardrails.create",
    { name: "g", checks, actions: { deny: false }, ...inWorkspace },
    { made: { guardrail: "id" } },
  ),
  call("guardrails.list", inWorkspace),
  call("guardrails.retrieve", { guardrail_id: "$guardrail" }),
  call("guardrails.update", { guardrail_id: "$guardrail", name: "g2", checks }),
  call("guardrails.delete", { guardrail_id: "$guardrail" }),
];

const prompts: readonly ClientCall[] = [
  call("collections.create", { name: "col $run", ...inWorkspace }, { made: { collection: "id" } }),
  call("collections.list", inWorkspace),
  call("collections.retrieve", { collection_id: "$collection" }),
  call("collections.update", { collection_id: "$collection", name: "col2 $run" }),
  call("labels.create", { name: "label-$run", ...inWorkspace }, { made: { label: "id" } }),
  call("labels.list", inWorkspace),
  call("labels.retrieve", { label_id: "$label" }),
  call("labels.update", { label_id: "$label", description: "d" }),
  call(
    "prompts.create",
    {
      name: "prompt",
      collection_id: "$collection",
      string: JSON.stringify([{ role: "user", content: "Hi {{name}}" }]),
      parameters: {},
      virtual_key: "$stored",
      model: "m",
    },
    { made: { prompt: "slug", version: "version_id" } },
  ),
  call("prompts.list", inWorkspace),
  call("prompts.retrieve", { prompt_slug: "$prompt" }),
  call("prompts.update", { prompt_slug: "$prompt", name: "prompt2", collection_id: "$collection" }),
  call("prompts.versions.list", { prompt_slug: "$prompt" }),
  call("prompts.versions.retrieve", { prompt_slug: "$prompt", version_id: "$version" }),
  call("prompts.versions.update", { prompt_slug: "$prompt", version_id: "$version", label_id: "$label" }),
  call("prompts.publish", { prompt_slug: "$prompt", version: 1 }),
  call("prompts.render", { prompt_id: "$prompt", variables: { name: "Ada" } }, ofWorkspaces),
  call("prompts.completions.create", { prompt_id: "$prompt", variables: { name: "Ada" } }, ofWorkspaces),
  call("prompts.delete", { prompt_slug: "$prompt" }),
  call("labels.delete", { label_id: "$label" }),
  call("collections.delete", { collection_id: "$collection" }),
  call("prompts.partials.create", { name: "partial", string: "text", ...inWorkspace }, { made: { partial: "slug" } }),
  call("prompts.partials.list", {}),
  call("prompts.partials.retrieve", { partial_slug: "$partial" }),
  call("prompts.partials.update", { partial_slug: "$partial", name: "partial2", string: "more" }),
  call("prompts.partials.versions.list", { partial_slug: "$partial" }),
  call("prompts.partials.publish", { partial_slug: "$partial", version: 1 }),
  call("prompts.partials.delete", { partial_slug: "$partial" }),
];

const logs: readonly ClientCall[] = [
  call("logs.create", { request: { url: "u", body: {} }, response: { body: {} }, metadata: {} }, ofWorkspaces),
  call("feedback.create", { trace_id: "t-$run", value: 5 }, { admin: 403, made: { feedback: "feedback_ids.0" } }),
  call("feedback.bulk_create", { feedbacks: [{ trace_id: "t2-$run", value: 5 }] }, ofWorkspaces),
  call("feedback.update", { feedback_id: "$feedback", value: 4 }, ofWorkspaces),
  call(
    "logs.exports.create",
    { ...inWorkspace, description: "d", filters: period, requested_data: ["id"] },
    { made: { export: "id" } },
  ),
  call("logs.exports.retrieve", { export_id: "$export" }),
  call("logs.exports.list", inWorkspace),
  call("logs.exports.update", { export_id: "$export", ...inWorkspace, filters: period, requested_data: ["id"] }),
  call("logs.exports.start", { export_id: "$export" }),
  call("logs.exports.cancel", { export_id: "$export" }, { isLate: true }),
  call("logs.exports.download", { export_id: "$export" }, { isLate: true }),
  ...graphs.split(" ").map((name) => call(`analytics.graphs.${name}`, figures)),
  call("analytics.summary.cache", figures),
  call("analytics.groups.users", figures),
  call("analytics.groups.ai_models", figures),
  call("analytics.groups.workspaces", figures),
  call("analytics.groups.metadata", { metadata_key: "team", ...figures }),
  call("analytics.groups.group_by", {
    group_by: "provider",
    ...figures,
    columns: "requests,cost",
    include_total: true,
  }),
];

const ofServer = { mcp_server_id: "$mcpServer" };
const ofIntegration = { mcp_integration_id: "$mcpIntegration" };

const mcp: readonly ClientCall[] = [
  call(
    "mcp_integrations.create",
    { name: "mi $run", url: "$upstream/mcp", auth_type: "none", transport: "http", configurations: {}, ...inWorkspace },
    { made: { mcpIntegration: "slug" } },
  ),
  call("mcp_integrations.list", inWorkspace),
  call("mcp_integrations.retrieve", ofIntegration),
  call("mcp_integrations.update", { ...ofIntegration, name: "mi2" }),
  call("mcp_integrations.test", ofIntegration),
  call("mcp_integrations.sync", ofIntegration),
  call("mcp_integrations.metadata.retrieve", ofIntegration),
  call("mcp_integrations.capabilities.list", ofIntegration),
  call("mcp_integrations.capabilities.update", {
    ...ofIntegration,
    capabilities: [{ name: "echo", type: "tool", enabled: true }],
  }),
  call(
    "mcp_integrations.create",
    { name: "mo $run", url: "$upstream/mcp", auth_type: "none", transport: "http" },
    { made: { sharedMcp: "slug" } },
  ),
  call("mcp_integrations.workspaces.list", { mcp_integration_id: "$sharedMcp" }, { workspace: 403 }),
  call(
    "mcp_integrations.workspaces.update",
    { mcp_integration_id: "$sharedMcp", workspaces: [{ id: "$workspace", enabled: true }] },
    { workspace: 403 },
  ),
  call(
    "mcp_servers.create",
    { name: "ms $run", slug: "ms-$run", ...ofIntegration, ...inWorkspace },
    { made: { mcpServer: "slug" } },
  ),
  call("mcp_servers.list", inWorkspace),
  call("mcp_servers.retrieve", ofServer),
  call("mcp_servers.update", { ...ofServer, name: "ms2" }),
  call("mcp_servers.test", ofServer),
  call("mcp_servers.capabilities.list", ofServer),
  call("mcp_servers.capabilities.sync", {
    ...ofServer,
    capabilities: [{ name: "echo", type: "tool", schema: { type: "object" } }],
  }),
  call("mcp_servers.capabilities.update", {
    ...ofServer,
    capabilities: [{ name: "echo", type: "tool", enabled: true }],
  }),
  call("mcp_servers.metadata.retrieve", ofServer),
  call("mcp_servers.metadata.sync", { ...ofServer, server_name: "s" }),
  // it wants an object in default_user_access, which it sends as a string itself
  call("mcp_servers.user_access.list", ofServer, { isUnreadable: true }),
  call("mcp_servers.user_access.check", ofServer, { needsUser: true }),
  call("mcp_servers.user_access.update", { ...ofServer, default_user_access: "allow" }),
  call("mcp_servers.update_tokens", { ...ofServer, access_token: "fake" }, { needsUser: true }),
  call("mcp_servers.get_tokens", ofServer, { needsUser: true }),
  call("mcp_servers.delete_tokens", ofServer, { needsUser: true }),
  call("mcp_servers.get_client_info", ofServer, { needsUser: true }),
  call("mcp_servers.delete", ofServer),
  call("mcp_integrations.delete", ofIntegration),
];

/** What both keys may call, in an order in which records exist when they are named. */
export const controlCalls: readonly ClientCall[] = [...people, ...routing, ...prompts, ...logs, ...mcp];

const messages = [{ role: "user", content: "Hello" }];

/** Calls of a provider that the client makes by itself, and some of those that its copy of `openai` makes. */
export const inferenceCalls: readonly ClientCall[] = [
  call("chat.completions.create", { model: "m", messages }, ofWorkspaces),
  call("completions.create", { model: "m", prompt: "p" }, ofWorkspaces),
  call("embeddings.create", { model: "m", input: "text" }, ofWorkspaces),
  call("moderations.create", { model: "m", input: "text" }, ofWorkspaces),
  call("models.list", {}, ofWorkspaces),
  call("files.list", {}, ofWorkspaces),
  call("responses.create", { model: "m", input: "text" }, ofWorkspaces),
  call("images.generate", { model: "m", prompt: "p" }, ofWorkspaces),
];

/**
 * Resources whose methods the client hands to its copy of `openai`: the paths and bodies are those that npm-calls.ts calls.
 * The names of methods and groups without a separate call are here too.
 */
export const withoutCall: readonly string[] = [
  ..."audio batches beta chat completions containers conversations evals files fine_tuning images models realtime responses skills".split(
    " ",
  ),
  ..."uploads vector_stores videos webhooks".split(" "),
  // settings of the client, and requests of any path
  ..."close copy is_closed with_options post get put delete".split(" "),
  // a route of a former API
  "generations",
];

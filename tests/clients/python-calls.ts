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
const file = "$file";

const inference = (method: string, args: object = {}): ClientCall => call(method, args, ofWorkspaces);
const response = { response_id: "id-1" };
const conversation = { conversation_id: "id-1" };
const item = { ...conversation, item_id: "id-2" };
const completion = { completion_id: "id-1" };
const job = { fine_tuning_job_id: "id-1" };
const checkpoint = { fine_tuned_model_checkpoint: "id-1" };
const store = { vector_store_id: "id-1" };
const storeFile = { ...store, file_id: "id-2" };
const storeBatch = { ...store, batch_id: "id-2" };
const upload = { upload_id: "id-1" };
const evaluation = { eval_id: "id-1" };
const evalRun = { ...evaluation, run_id: "id-2" };
const container = { container_id: "id-1" };
const containerFile = { ...container, file_id: "id-2" };
const skill = { skill_id: "id-1" };
const skillVersion = { ...skill, version: "1" };
const video = { video_id: "id-1" };
const realtimeCall = { call_id: "id-1" };
const assistant = { assistant_id: "id-1" };
const thread = { thread_id: "id-1" };
const threadMessage = { ...thread, message_id: "id-2" };
const run = { ...thread, run_id: "id-2" };

/** Calls of a provider, most of which the client's copy of `openai` makes; an admin key makes none. */
export const inferenceCalls: readonly ClientCall[] = [
  inference("chat.completions.create", { model: "m", messages }),
  inference("chat.completions.parse", { model: "m", messages }),
  inference("chat.completions.retrieve", completion),
  inference("chat.completions.update", { ...completion, metadata: { a: "b" } }),
  inference("chat.completions.list"),
  inference("chat.completions.delete", completion),
  inference("chat.completions.messages.list", completion),
  inference("beta.chat.completions.parse", { model: "m", messages }),
  inference("completions.create", { model: "m", prompt: "p" }),
  inference("embeddings.create", { model: "m", input: "text" }),
  inference("moderations.create", { model: "m", input: "text" }),
  inference("images.generate", { model: "m", prompt: "p" }),
  inference("images.edit", { model: "m", prompt: "p", image: file }),
  inference("images.create_variation", { image: file }),
  inference("audio.speech.create", { model: "m", input: "text", voice: "alloy" }),
  inference("audio.transcriptions.create", { model: "m", file }),
  inference("audio.translations.create", { model: "m", file }),
  inference("models.list"),
  inference("models.retrieve", { model: "m" }),
  inference("models.delete", { model: "m" }),
  inference("responses.create", { model: "m", input: "text" }),
  inference("responses.parse", { model: "m", input: "text" }),
  inference("responses.compact", { model: "m", input: "text" }),
  inference("responses.retrieve", response),
  inference("responses.cancel", response),
  inference("responses.input_items.list", response),
  inference("responses.input_tokens.count", { model: "m", input: "text" }),
  inference("responses.delete", response),
  inference("files.create", { file, purpose: "batch" }),
  inference("files.list"),
  inference("files.retrieve", { file_id: "id-1" }),
  inference("files.content", { file_id: "id-1" }),
  inference("files.retrieve_content", { file_id: "id-1" }),
  inference("files.delete", { file_id: "id-1" }),
  inference("batches.create", {
    input_file_id: "id-1",
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  }),
  inference("batches.list"),
  inference("batches.retrieve", { batch_id: "id-1" }),
  inference("batches.cancel", { batch_id: "id-1" }),
  inference("fine_tuning.jobs.create", { model: "m", training_file: "id-1" }),
  inference("fine_tuning.jobs.list"),
  inference("fine_tuning.jobs.retrieve", job),
  inference("fine_tuning.jobs.cancel", job),
  inference("fine_tuning.jobs.list_events", job),
  inference("fine_tuning.jobs.checkpoints.list", job),
  inference("fine_tuning.checkpoints.permissions.create", { ...checkpoint, project_ids: ["p"] }),
  inference("fine_tuning.checkpoints.permissions.list", checkpoint),
  inference("fine_tuning.checkpoints.permissions.retrieve", checkpoint),
  inference("fine_tuning.checkpoints.permissions.delete", { ...checkpoint, permission_id: "id-2" }),
  inference("fine_tuning.alpha.graders.run", { grader: { type: "string_check" }, model_sample: "s" }),
  inference("fine_tuning.alpha.graders.validate", { grader: { type: "string_check" } }),
  inference("vector_stores.create", { name: "v" }),
  inference("vector_stores.list"),
  inference("vector_stores.retrieve", store),
  inference("vector_stores.update", { ...store, name: "w" }),
  inference("vector_stores.delete", store),
  inference("vector_stores.files.create", storeFile),
  inference("vector_stores.files.list", store),
  inference("vector_stores.files.retrieve", storeFile),
  inference("vector_stores.files.delete", storeFile),
  inference("vector_stores.file_batches.create", { ...store, file_ids: ["id-2"] }),
  inference("vector_stores.file_batches.retrieve", storeBatch),
  inference("vector_stores.file_batches.cancel", storeBatch),
  inference("vector_stores.file_batches.list_files", storeBatch),
  inference("uploads.create", { filename: "f", bytes: 5, mime_type: "text/plain", purpose: "batch" }),
  inference("uploads.parts.create", { ...upload, data: file }),
  inference("uploads.complete", { ...upload, part_ids: ["p"] }),
  inference("uploads.cancel", upload),
  inference("evals.create", { data_source_config: { type: "custom" }, testing_criteria: [] }),
  inference("evals.list"),
  inference("evals.retrieve", evaluation),
  inference("evals.update", { ...evaluation, name: "e" }),
  inference("evals.delete", evaluation),
  inference("evals.runs.create", { ...evaluation, data_source: { type: "jsonl" } }),
  inference("evals.runs.list", evaluation),
  inference("evals.runs.retrieve", evalRun),
  inference("evals.runs.cancel", evalRun),
  inference("evals.runs.delete", evalRun),
  inference("evals.runs.output_items.list", evalRun),
  inference("evals.runs.output_items.retrieve", { ...evalRun, output_item_id: "id-3" }),
  inference("containers.create", { name: "c" }),
  inference("containers.list"),
  inference("containers.retrieve", container),
  inference("containers.delete", container),
  inference("containers.files.create", containerFile),
  inference("containers.files.list", container),
  inference("containers.files.retrieve", containerFile),
  inference("containers.files.delete", containerFile),
  inference("containers.files.content.retrieve", containerFile),
  inference("conversations.create"),
  inference("conversations.retrieve", conversation),
  inference("conversations.update", { ...conversation, metadata: { a: "b" } }),
  inference("conversations.delete", conversation),
  inference("conversations.items.create", { ...conversation, items: [] }),
  inference("conversations.items.list", conversation),
  inference("conversations.items.retrieve", item),
  inference("conversations.items.delete", item),
  inference("skills.create", { files: [file] }),
  inference("skills.list"),
  inference("skills.retrieve", skill),
  inference("skills.update", { ...skill, default_version: "1" }),
  inference("skills.delete", skill),
  inference("skills.content.retrieve", skill),
  inference("skills.versions.create", { ...skill, files: [file] }),
  inference("skills.versions.list", skill),
  inference("skills.versions.retrieve", skillVersion),
  inference("skills.versions.delete", skillVersion),
  inference("skills.versions.content.retrieve", skillVersion),
  inference("videos.create", { model: "m", prompt: "p" }),
  inference("videos.list"),
  inference("videos.retrieve", video),
  inference("videos.download_content", video),
  inference("videos.remix", { ...video, prompt: "p" }),
  inference("videos.edit", { prompt: "p", video: file }),
  inference("videos.extend", { prompt: "p", seconds: "4", video: file }),
  inference("videos.create_character", { name: "c", video: file }),
  inference("videos.get_character", { character_id: "id-1" }),
  inference("videos.delete", video),
  inference("realtime.client_secrets.create", {
    expires_after: { anchor: "created_at", seconds: 60 },
    session: { type: "realtime", model: "m" },
  }),
  inference("realtime.calls.create", { sdp: "v=0" }),
  inference("realtime.calls.accept", { ...realtimeCall, type: "realtime", model: "m" }),
  inference("realtime.calls.hangup", realtimeCall),
  inference("realtime.calls.refer", { ...realtimeCall, target_uri: "tel:+10" }),
  inference("realtime.calls.reject", realtimeCall),
  inference("beta.realtime.sessions.create", { model: "m" }),
  inference("beta.realtime.transcription_sessions.create"),
  inference("beta.chatkit.sessions.create", { user: "u", workflow: { id: "w" } }),
  inference("beta.chatkit.sessions.cancel", { session_id: "id-1" }),
  inference("beta.chatkit.threads.list"),
  inference("beta.chatkit.threads.list_items", thread),
  inference("beta.chatkit.threads.retrieve", thread),
  inference("beta.chatkit.threads.delete", thread),
  inference("beta.assistants.create", { model: "m" }),
  inference("beta.assistants.list"),
  inference("beta.assistants.retrieve", assistant),
  inference("beta.assistants.update", { ...assistant, name: "a" }),
  inference("beta.assistants.delete", assistant),
  inference("beta.threads.create"),
  inference("beta.threads.retrieve", thread),
  inference("beta.threads.update", { ...thread, metadata: { a: "b" } }),
  inference("beta.threads.delete", thread),
  inference("beta.threads.create_and_run", assistant),
  inference("beta.threads.messages.create", { ...thread, role: "user", content: "Hello" }),
  inference("beta.threads.messages.list", thread),
  inference("beta.threads.messages.retrieve", threadMessage),
  inference("beta.threads.messages.update", { ...threadMessage, metadata: { a: "b" } }),
  inference("beta.threads.messages.delete", threadMessage),
  inference("beta.threads.runs.create", { ...thread, ...assistant }),
  inference("beta.threads.runs.list", thread),
  inference("beta.threads.runs.retrieve", run),
  inference("beta.threads.runs.update", { ...run, metadata: { a: "b" } }),
  inference("beta.threads.runs.submit_tool_outputs", { ...run, tool_outputs: [] }),
  inference("beta.threads.runs.cancel", run),
  inference("beta.threads.runs.steps.list", run),
  inference("beta.threads.runs.steps.retrieve", { ...run, step_id: "id-3" }),
];

const composed = "calls methods of the table one after another";
const part = "is the part of a method of the table that it calls by itself";
const local = "makes no request";
const socket = "opens a WebSocket: tests/realtime";

/** Methods without a separate call, and why. */
export const withoutCall: Readonly<Record<string, string>> = {
  "generations.create": "asks for a route of a former API that no server has",
  "batches.output":
    "reads GET /v1/batches/{id}/output, a route of files that the gateway's own batches have: tests/inference/gateway-batches",
  "chat.completions.stream": composed,
  "chat.completions.normal_create": part,
  "chat.completions.stream_create": part,
  "completions.normal_create": part,
  "completions.stream_create": part,
  "beta.chat.completions.stream": composed,
  "beta.realtime.connect": socket,
  "realtime.connect": socket,
  "responses.connect": socket,
  "responses.stream": composed,
  "files.wait_for_processing": composed,
  "uploads.upload_file_chunked": composed,
  "vector_stores.files.create_and_poll": composed,
  "vector_stores.files.poll": composed,
  "vector_stores.files.upload": composed,
  "vector_stores.files.upload_and_poll": composed,
  "vector_stores.file_batches.create_and_poll": composed,
  "vector_stores.file_batches.poll": composed,
  "vector_stores.file_batches.upload_and_poll": composed,
  "videos.create_and_poll": composed,
  "videos.poll": composed,
  "beta.threads.create_and_run_poll": composed,
  "beta.threads.create_and_run_stream": composed,
  "beta.threads.normal_create_and_run": part,
  "beta.threads.stream_create_and_run": part,
  "beta.threads.runs.create_and_poll": composed,
  "beta.threads.runs.create_and_stream": composed,
  "beta.threads.runs.normal_create": part,
  "beta.threads.runs.stream_create": part,
  "beta.threads.runs.poll": composed,
  "beta.threads.runs.stream": composed,
  "beta.threads.runs.submit_tool_outputs_and_poll": composed,
  "beta.threads.runs.submit_tool_outputs_stream": composed,
  "webhooks.unwrap": local,
  "webhooks.verify_signature": local,
  // settings of the client, and requests of any path
  ...Object.fromEntries(
    ["close", "copy", "is_closed", "with_options", "post", "get", "put", "delete"].map((name) => [name, "of any path"]),
  ),
};

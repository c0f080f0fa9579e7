import assert from "node:assert/strict";
import { isObject, parseJson } from "../../src/lib/json.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import type { Made } from "./run.ts";

/** A gateway with what calls name, and a server in place of providers and MCP servers. */
export interface ClientHost {
  readonly gateway: GatewayProcess;
  /** Names of records: the workspace, a user, one who leaves, a stored provider. */
  createNames(run: string): Promise<Made>;
  close(): Promise<void>;
}

const message = { role: "assistant", content: "Hello" };

const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };

/** Fields that records of some route have. */
const anyRecord = {
  id: "id-1",
  created_at: 1,
  name: "n",
  description: "d",
  version: "1",
  default_version: "1",
  latest_version: "1",
  skill_id: "id-1",
  project_id: "p",
  deleted: true,
};

/** Fields that some route of a provider has. */
const anyResponse = {
  ...anyRecord,
  object: "list",
  created: 1,
  model: "m",
  status: "completed",
  has_more: false,
  data: [{ ...anyRecord, object: "embedding", index: 0, embedding: [0.5], url: "https://files.example/1.png" }],
  choices: [{ index: 0, message, text: "Hello", finish_reason: "stop" }],
  output: [],
  tools: [],
  tool_choice: "auto",
  parallel_tool_calls: true,
  results: [{ flagged: false, categories: {}, category_scores: {} }],
  text: "Hello",
  input_tokens: 1,
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, input_tokens: 1, output_tokens: 1, ...details },
};

const flag = { enabled: true };
const chatkit = {
  chatkit_configuration: {
    automatic_thread_titling: flag,
    file_upload: flag,
    history: flag,
  },
  client_secret: "fake",
  expires_at: 1,
  max_requests_per_1_minute: 1,
  rate_limits: { max_requests_per_1_minute: 1 },
  status: "active",
  user: "u",
  workflow: { id: "w", tracing: flag },
};

/**
 * What `object` says of the records of paths, where a client refuses another one, and their own fields. The first that fits
 * counts.
 */
const objects: readonly (readonly [path: RegExp, object: string, own?: object])[] = [
  [/\/videos\/characters\b/, "video.character"],
  [/\/videos\b/, "video", { progress: 0, seconds: "4", size: "720x1280", model: "m", status: "completed" }],
  [/\/chatkit\/sessions\b/, "chatkit.session", chatkit],
  [/\/chatkit\/threads\/[^/]+\/items$/, "chatkit.thread_item"],
  [/\/chatkit\/threads\b/, "chatkit.thread", { status: { type: "active" }, user: "u" }],
  [/\/uploads\/[^/]+\/parts$/, "upload.part"],
  [/\/uploads\b/, "upload"],
  [/\/output_items\b/, "eval.run.output_item"],
  [/\/runs\b.*\/steps\b/, "thread.run.step"],
  [/\/evals\/[^/]+\/runs\b/, "eval.run"],
  [/\/evals\b/, "eval"],
  [/\/skills\/[^/]+\/versions\b/, "skill.version"],
  [/\/skills\b/, "skill"],
  [/\/responses\/compact$/, "response.compaction"],
  [/\/responses\/input_tokens$/, "response.input_tokens"],
  [/\/responses(?:\/[^/]+(?:\/cancel)?)?$/, "response", { text: {} }],
  [/\/permissions$/, "checkpoint.permission"],
];

/** A response of a provider: a record, or a list of them. */
function respondTo({ method, path }: ReceivedRequest): object {
  const plain = path.replace(/\?.*/, "");
  const [, named, own] = objects.find(([pattern]) => pattern.test(plain)) ?? [];
  if (named === undefined) return anyResponse;
  const data = anyResponse.data.map((one) => ({ ...one, ...own, object: named }));
  if (method === "GET" && /\/[a-z_]+$/.test(plain)) return { ...anyResponse, data };
  return { ...anyResponse, ...own, data, object: method === "DELETE" ? `${named}.deleted` : named };
}

/** Results of an MCP server with one tool. */
const mcpResults: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "fake", version: "1" },
  },
  "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
};

function answerTo(request: ReceivedRequest): { status: number; body: string } {
  const asked = parseJson(request.text);
  if (!isObject(asked) || asked.jsonrpc !== "2.0") return { status: 200, body: JSON.stringify(respondTo(request)) };
  if (asked.id === undefined) return { status: 202, body: "" };
  const result = mcpResults[String(asked.method)];
  const error = { code: -32601, message: "no such method" };
  return { status: 200, body: JSON.stringify({ jsonrpc: "2.0", id: asked.id, ...(result ? { result } : { error }) }) };
}

async function send(gateway: GatewayProcess, route: string, { key = gateway.adminKey, body = {} } = {}) {
  const [method = "", path = ""] = route.split(" ");
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method,
    headers: { "x-gateway-api-key": key, "content-type": "application/json" },
    ...(method !== "GET" && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  assert.equal(response.status, 200, `${route}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Invites somebody, who accepts; returns the id of the user. */
async function addUser(gateway: GatewayProcess, workspace: string, email: string): Promise<string> {
  const body = { email, role: "member", workspaces: [{ id: workspace, role: "member" }] };
  const { id, invite_link } = await send(gateway, "POST /admin/users/invites", { body });
  const token = new URL(invite_link).searchParams.get("token");
  return (await send(gateway, `POST /admin/users/invites/${id}/accept`, { body: { token } })).id;
}

async function createNames(gateway: GatewayProcess, upstream: RecordingUpstream, run: string): Promise<Made> {
  const { data } = await send(gateway, "GET /admin/workspaces");
  const workspace = data[0].id;
  const configurations = { custom_host: `${upstream.url}/v1` };
  const slug = `stored-${run}`;
  const stored = { name: slug, slug, ai_provider_id: "openai", key: "sk-fake", configurations };
  await send(gateway, "POST /integrations", { key: gateway.workspaceKey, body: stored });
  return new Map<string, unknown>([
    ["run", run],
    ["workspace", workspace],
    ["upstream", upstream.url],
    ["stored", slug],
    ["user", await addUser(gateway, workspace, `user-${run}@example.com`)],
    ["leaver", await addUser(gateway, workspace, `leaver-${run}@example.com`)],
  ]);
}

export async function startClientHost(): Promise<ClientHost> {
  const upstream = await startRecordingUpstream((request, response) => {
    const { status, body } = answerTo(request);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body);
  });
  const gateway = await startGatewayProcess({ env: { GATEWAY_HEADER_ALIASES: "x-portkey-" } });
  return {
    gateway,
    createNames: (run) => createNames(gateway, upstream, run),
    async close() {
      await gateway.stop("SIGKILL");
      await upstream.close();
    },
  };
}

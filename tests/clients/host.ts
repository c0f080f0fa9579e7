import assert from "node:assert/strict";
import { isObject, parseJson } from "../../src/lib/json.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import type { Made } from "./run.ts";

/** A gateway with what calls name, and a server in place of providers and MCP servers. */
export interface ClientHost {
  readonly gateway: GatewayProcess;
  /** Names of records: the workspace, a user, one who leaves, a stored provider. */
  createNames(run: string): Promise<Made>;
  close(): Promise<void>;
}

const message = { role: "assistant", content: "Hello" };

/** Fields that some route of a provider has. */
const anyResponse = {
  id: "id-1",
  object: "list",
  created: 1,
  model: "m",
  status: "completed",
  data: [{ id: "id-1", object: "embedding", index: 0, embedding: [0.5], url: "https://files.example/1.png" }],
  choices: [{ index: 0, message, text: "Hello", finish_reason: "stop" }],
  output: [],
  results: [{ flagged: false, categories: {}, category_scores: {} }],
  text: "Hello",
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, input_tokens: 1, output_tokens: 1 },
};

/** Results of an MCP server with one tool. */
const mcpResults: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "fake", version: "1" },
  },
  "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
};

function answerTo(text: string): { status: number; body: string } {
  const asked = parseJson(text);
  if (!isObject(asked) || asked.jsonrpc !== "2.0") return { status: 200, body: JSON.stringify(anyResponse) };
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
    const { status, body } = answerTo(request.text);
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

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { toolAnswer, toolRequest } from "../../src/guardrails/strings/tool-calls.ts";
import { readJson, workspaceKey } from "../support/gateway.ts";
import { eventually } from "../support/upstream.ts";
import {
  type Answer,
  events,
  json,
  type Message,
  messagesOf,
  type RpcAnswer,
  type Scripted,
  startScripted,
} from "./scripted.ts";
import { mcpServer, postModern } from "./support.ts";

let parts: Scripted;
before(async () => {
  parts = await startScripted({ mcp: { requestTimeoutMs: 1_500 } });
});
after(() => parts.close());

let count = 0;

/** A server of the older revisions, whose beginning of a session a test decides. */
function legacyServer(begin: (message: Message) => Answer): void {
  const id = `${String(++count).padStart(8, "0")}-2222-4222-8222-222222222222`;
  parts.servers.set(mcpServer(`${parts.upstream.url}/mcp`, { id }));
  parts.script = (message, { headers, method }) => {
    if (method === "DELETE") return { status: 200 };
    if (String(headers["mcp-protocol-version"]).startsWith("2026")) {
      return { ...json({ jsonrpc: "2.0", id: message.id, error: { code: -32000, message: "no" } }), status: 400 };
    }
    if (message.method === "initialize") return begin(message);
    return message.id === undefined ? { status: 202 } : json({ jsonrpc: "2.0", id: message.id, result: { tools: [] } });
  };
}

const about = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} };

for (const [what, begin] of [
  [
    "a version that nobody knows",
    ({ id }: Message) => json({ jsonrpc: "2.0", id, result: { ...about, protocolVersion: "1999" } }),
  ],
  [
    "a session id without end",
    ({ id }: Message) => json({ jsonrpc: "2.0", id, result: about }, { "mcp-session-id": "x".repeat(2_000) }),
  ],
  ["the answer to another request", () => json({ jsonrpc: "2.0", id: "gw:1", result: about })],
  ["no result", ({ id }: Message) => json({ jsonrpc: "2.0", id, error: { code: -32603, message: "broken" } })],
  ["nothing that is JSON", () => ({ headers: { "content-type": "application/json" }, body: "{" })],
  ["a redirect", () => ({ status: 307, headers: { location: "http://169.254.169.254/" } })],
  ["a stream that ends at once", () => ({ headers: { "content-type": "text/event-stream" }, body: ": hello\n\n" })],
] as const) {
  test(`a session that begins with ${what} ends in 502`, async () => {
    legacyServer(begin);
    const response = await postModern(parts.gateway, "tools/list");
    assert.equal(response.status, 502);
    assert.equal((await readJson<RpcAnswer>(response)).error.code, -32603);
  });
}

test("a server that never begins a session is given up in time", async () => {
  legacyServer(() => ({ headers: { "content-type": "text/event-stream" }, body: ": hello\n\n", open: true }));
  const response = await postModern(parts.gateway, "tools/list");
  assert.equal(response.status, 504);
  assert.equal((await readJson<RpcAnswer>(response)).error.data?.type, "timeout");
});

test("a caller that leaves while a session begins costs others nothing", async () => {
  let begun = 0;
  legacyServer(({ id }) => {
    if (++begun > 1) return json({ jsonrpc: "2.0", id, result: about }, { "mcp-session-id": "s" });
    return { headers: { "content-type": "text/event-stream" }, body: ": wait\n\n", open: true };
  });
  const controller = new AbortController();
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const init = {
    method: "POST",
    headers: {
      "x-gateway-api-key": "test-workspace-key-000000",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/list",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } }),
    signal: controller.signal,
  };
  const leaving = parts.gateway.fetch("/m/everything/mcp", init);
  await eventually(() => begun === 1, "the session begins");
  const staying = postModern(parts.gateway, "tools/list");
  controller.abort();
  await leaving.catch(() => {});
  assert.equal((await staying).status, 200);
});

test("names of members are never those of prototypes", () => {
  const given = JSON.parse('{"arguments":{"__proto__":"secret","constructor":{"prototype":"secret"}}}');
  const changed = toolRequest(given, () => "hidden");
  assert.equal(JSON.stringify(changed), '{"arguments":{"__proto__":"hidden","constructor":{"prototype":"hidden"}}}');
  assert.equal(Reflect.get({}, "prototype"), undefined);
  const answer = JSON.parse('{"content":[{"type":"text","__proto__":"secret"}]}');
  assert.equal(
    JSON.stringify(toolAnswer(answer, () => "hidden")),
    '{"content":[{"type":"text","__proto__":"hidden"}]}',
  );
});

const floods: Readonly<Record<string, object>> = {
  notifications: { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } },
  progress: { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } },
  requests: { jsonrpc: "2.0", id: 7, method: "sampling/createMessage", params: {} },
};
const answerOf = (id: Message["id"]) => ({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "done" }] } });

for (const [name, message] of Object.entries(floods)) {
  test(`a server cannot send ${name} without end before its answer: a call has at most 10,000 messages`, async () => {
    // with the usual time limits: a busy machine takes longer than those of the other tests
    const patient = await startScripted();
    for (const [count, isWhole] of [
      [9_000, true],
      [11_000, false],
    ] as const) {
      const flood = Array.from({ length: count }, () => message);
      patient.script = ({ id }) => events(...flood, answerOf(id));
      const response = await postModern(patient.gateway, "tools/call", { name: "echo", arguments: {} });
      const last = messagesOf(await response.text()).at(-1);
      assert.equal(last?.result !== undefined, isWhole, JSON.stringify(last));
      if (!isWhole) assert.match(JSON.stringify(last?.error), /it has more than 10000 messages/);
    }
    await patient.close();
  });
}

test("an error of a newer server that is larger than results may be is not read whole", async () => {
  const tool = { name: "echo", inputSchema: { type: "object" } };
  parts.servers.set(mcpServer(`${parts.upstream.url}/mcp`, { id: "99999999-2222-4222-8222-222222222222" }));
  parts.script = ({ id, method }) => {
    if (method === "tools/list") return json({ jsonrpc: "2.0", id, result: { resultType: "complete", tools: [tool] } });
    if (method !== "tools/call") return { status: 202 };
    const error = { code: -32_000, message: "x".repeat(2 * 1024 * 1024) };
    return { ...json({ jsonrpc: "2.0", id, error }), status: 400 };
  };
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: {} } });
  const init = { method: "POST", headers: { ...headers, "x-gateway-api-key": workspaceKey }, body };
  const response = await parts.gateway.fetch("/m/everything/mcp", init);
  const { error } = await readJson<RpcAnswer>(response);
  assert.match(error.message, /too large/);
});

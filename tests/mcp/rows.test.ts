import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { toSpans } from "../../src/observability/otlp/spans.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { adminKey, waitForLog, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";
import { json, type Scripted, startScripted } from "./scripted.ts";
import { mcpServer, postLegacy, postModern, rpc } from "./support.ts";

let parts: Scripted;
before(async () => {
  parts = await startScripted({ metrics: { isOpen: true } });
});
after(() => parts.close());

type Row = LogDetails & { request: { headers: Record<string, string>; body: unknown }; response: { body: unknown } };

async function rowOf(trace: string): Promise<Row> {
  return (await waitForLog(parts.gateway, trace)) as unknown as Row;
}

const callTool = (trace: string, headers: Record<string, string> = {}, name = "t") => {
  const body = rpc("tools/call", { name, arguments: { secret: "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789" } });
  return postLegacy(parts.gateway, body, { "x-gateway-trace-id": trace, ...headers });
};

for (const [outcome, prepare, wanted] of [
  ["ok", () => json({ jsonrpc: "2.0", id: "gw:1", result: { content: [] } }), { status: 200, is_error: undefined }],
  [
    "a tool error",
    () => json({ jsonrpc: "2.0", id: "gw:1", result: { content: [], isError: true } }),
    { status: 200, is_error: true },
  ],
  [
    "an error of the server",
    () => json({ jsonrpc: "2.0", id: "gw:1", error: { code: -32050, message: "no" } }),
    { status: 200, rpc_code: -32050 },
  ],
  [
    "a redirect",
    () => ({ status: 302, headers: { location: "http://elsewhere.test" } }),
    { status: 502, rpc_code: -32603 },
  ],
  [
    "a broken answer",
    () => ({ headers: { "content-type": "application/json" }, body: "{" }),
    { status: 502, rpc_code: -32603 },
  ],
] as const) {
  test(`a call that ends in ${outcome} leaves one row that says so`, async () => {
    parts.script = prepare;
    const trace = `rows-${outcome.replaceAll(" ", "-")}`;
    await callTool(trace);
    const { status, mcp, operation } = await rowOf(trace);
    assert.equal((await waitForLogs(parts.gateway, `trace_id=${trace}`)).length, 1);
    assert.deepEqual([status, operation], [wanted.status, "mcp"]);
    assert.ok(mcp);
    const { auth_type, transport, server, name } = mcp;
    assert.deepEqual([auth_type, transport, server, name], ["api_key", "http", "everything", "t"]);
    if ("rpc_code" in wanted) assert.equal(mcp.rpc_code, wanted.rpc_code);
    if ("is_error" in wanted) assert.equal(mcp.is_error, wanted.is_error);
  });
}

test("rows of a user's key name the user, sessions are digests, and no credential is in a row", async () => {
  parts.script = ({ id, method }) =>
    json(
      { jsonrpc: "2.0", id, result: { content: [] } },
      method === "initialize" ? { "mcp-session-id": "upstream-session-id" } : {},
    );
  const server = mcpServer(`${parts.upstream.url}/mcp`, {
    openHeaders: async () => ({ authorization: "Bearer upstream-secret-000" }),
  });
  parts.servers.set(server);
  const { id: userId, key } = await addPerson(parts.gateway, "rows@example.com", {
    workspaces: [{ id: "default", role: "member" }],
    scopes: ["mcp.invoke"],
  });
  const clientInfo = { name: "a client", version: "1" };
  const hello = rpc("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  const begin = await postLegacy(parts.gateway, hello, {
    "x-gateway-api-key": key,
    "x-gateway-trace-id": "rows-hello",
  });
  const session = begin.headers.get("mcp-session-id") ?? "";
  await callTool("rows-user", { "x-gateway-api-key": key, "mcp-session-id": session });
  const [first, row] = [await rowOf("rows-hello"), await rowOf("rows-user")];
  assert.equal(first.mcp?.client_name, "a client");
  assert.equal(row.user_id, userId);
  assert.match(row.mcp?.session ?? "", /^[0-9a-f]{16}$/);
  const text = JSON.stringify([first, row]);
  for (const secret of [key, "upstream-secret-000", "sk-proj-abcdef", "upstream-session-id"]) {
    assert.ok(!text.includes(secret), secret);
  }
});

test("without contents, rows have neither arguments nor results", async () => {
  parts.script = ({ id }) => json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "a result" }] } });
  await callTool("rows-figures", { "x-gateway-debug": "false" });
  const row = await rowOf("rows-figures");
  assert.deepEqual([row.request.body, row.response.body], [null, null]);
  assert.ok((row.mcp?.result_bytes ?? 0) > 0);
});

/** The metrics, once they hold a text: rows are counted after they are stored. */
async function metricsWith(wanted: string): Promise<string> {
  let text = "";
  await eventually(`metrics with ${wanted}`, async () => {
    text = await (await parts.gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } })).text();
    return text.includes(wanted);
  });
  return text;
}

test("metrics count messages by server, tool and outcome", async () => {
  for (const outcome of ["ok", "tool_error", "error"]) await metricsWith(`tool="t",outcome="${outcome}"`);
  const text = await metricsWith("gateway_mcp_call_duration_milliseconds_count");
  const lines = text.split("\n").filter((line) => line.startsWith("gateway_mcp_calls_total"));
  assert.ok(lines.every((line) => line.includes('server="everything"')));
});

test("tool calls that change nothing are repeated once where the server allows it", async () => {
  const definition = { name: "t", annotations: { readOnlyHint: true } };
  const tool = new Map([["t", { id: "t1", definition, approved: definition, isListed: true }]]);
  const server = mcpServer(`${parts.upstream.url}/mcp`);
  const capabilities = { ...server.capabilities, tool };
  const statuses: number[] = [];
  for (const retry_calls of [false, true]) {
    let count = 0;
    parts.script = ({ id }) =>
      ++count === 1 ? { status: 503 } : json({ jsonrpc: "2.0", id, result: { content: [] } });
    parts.servers.set({ ...server, capabilities, settings: { ...server.settings, retry_calls } });
    statuses.push((await callTool(`rows-retry-${retry_calls}`)).status);
  }
  parts.servers.set(server);
  assert.deepEqual(statuses, [502, 200]);
});

test("spans are named by method and tool", async () => {
  parts.script = ({ id }) => json({ jsonrpc: "2.0", id, result: { resultType: "complete", content: [] } });
  await postModern(
    parts.gateway,
    "tools/call",
    { name: "t" },
    { "x-gateway-trace-id": "0af7651916cd43dd8448eb211c80319c" },
  );
  const details = await rowOf("0af7651916cd43dd8448eb211c80319c");
  const spans = await toSpans({ details, measures: null, index: 0, contents: {} }, {});
  assert.deepEqual(
    spans.map(({ name, kind }) => [name, kind]),
    [
      ["tools/call t", "server"],
      ["tools/call t", "client"],
    ],
  );
  const { attributes = {} } = spans[1] ?? {};
  assert.equal(attributes["gen_ai.operation.name"], "execute_tool");
  assert.equal(attributes["gen_ai.tool.name"], "t");
  assert.equal(attributes["mcp.method.name"], "tools/call");
  assert.equal(attributes["mcp.protocol.version"], "2026-07-28");
});

test("a guardrail's denial counts among denials", async () => {
  const body = {
    name: "rows",
    checks: [{ id: "default.contains", parameters: { words: ["sk-proj"], operator: "none" } }],
    actions: { deny: true },
    target: "mcp_tools",
  };
  const { id } = await done(call<{ id: string }>(parts.gateway, "POST /guardrails", { key: workspaceKey, body }));
  const guardrails = [{ guardrailId: id, runsOn: new Set(["input"] as const), capabilityIds: new Set<string>() }];
  parts.servers.set(mcpServer(`${parts.upstream.url}/mcp`, { guardrails }));
  await callTool("rows-denied");
  await rowOf("rows-denied");
  const text = await metricsWith('outcome="denied"');
  assert.match(text, /^gateway_guardrail_denials_total 1$/m);
});

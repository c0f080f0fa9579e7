import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { awayRedis } from "../support/away-redis.ts";
import { call, done } from "../support/control.ts";
import { readJson, waitForLog, workspaceKey } from "../support/gateway.ts";
import { json, type RpcAnswer, type Scripted, startScripted } from "./scripted.ts";
import { mcpServer, postLegacy, rpc } from "./support.ts";

let parts: Scripted;
before(async () => {
  parts = await startScripted();
});
after(() => parts.close());

/** Saves a rate limit on tool calls; the result archives it. */
async function limit(body: object): Promise<{ id: string; remove(): Promise<unknown> }> {
  const policy = { type: "requests", unit: "rpm", target: "mcp_tools", ...body };
  const answer = await call<{ id: string }>(parts.gateway, "POST /policies/rate-limits", {
    key: workspaceKey,
    body: policy,
  });
  const { id } = await done(Promise.resolve(answer));
  const remove = () => call(parts.gateway, `DELETE /policies/rate-limits/${id}`, { key: workspaceKey });
  return { id, remove };
}

/** Calls a tool; status and body. */
async function callTool(name: string, { headers = {}, slug = "everything", given = {} as object } = {}) {
  const body = rpc("tools/call", { name, arguments: given });
  const response = await postLegacy(parts.gateway, body, headers, `/m/${slug}/mcp`);
  return { response, body: await readJson<RpcAnswer>(response) };
}

const everyCall = [{ key: "mcp_tool", value: "*" }];

test("one more call than the limit allows is refused with 429 that names policy and time, and reaches no server", async () => {
  const { id, remove } = await limit({
    name: "few calls",
    value: 4,
    conditions: everyCall,
    group_by: [{ key: "mcp_tool" }],
  });
  const before = parts.upstream.requests.length;
  const answers = await Promise.all(Array.from({ length: 5 }, () => callTool("parallel")));
  await remove();
  assert.deepEqual(answers.map(({ response }) => response.status).sort(), [200, 200, 200, 200, 429]);
  assert.equal(parts.upstream.requests.length, before + 4);
  const refused = answers.find(({ response }) => response.status === 429);
  const seconds = Number(refused?.response.headers.get("retry-after"));
  assert.ok(seconds >= 1 && seconds <= 60);
  const { error } = refused?.body ?? assert.fail();
  assert.equal(error.code, 429);
  assert.deepEqual(error.data, {
    type: "rate_limited",
    policy: { id, name: "few calls" },
    retry_after_ms: seconds * 1_000,
  });
  assert.match(error.message, /"few calls".*resets in \d+ s/);
  assert.equal(refused?.response.headers.get("x-ratelimit-remaining-requests"), "0");
});

for (const [what, policy, calls] of [
  [
    "tools count apart",
    { conditions: everyCall, group_by: [{ key: "mcp_tool" }] },
    [
      ["a", {}, 200],
      ["a", {}, 429],
      ["b", {}, 200],
    ],
  ],
  [
    "servers count apart",
    { conditions: [{ key: "mcp_server", value: "*" }], group_by: [{ key: "mcp_server" }] },
    [
      ["a", {}, 200],
      ["b", {}, 429],
      ["a", { slug: "second" }, 200],
    ],
  ],
  [
    "an excluded tool is free",
    { conditions: [{ key: "mcp_tool", value: "*", excludes: "free" }], group_by: [{ key: "workspace_id" }] },
    [
      ["a", {}, 200],
      ["free", {}, 200],
      ["b", {}, 429],
      ["free", {}, 200],
    ],
  ],
  [
    "metadata decides, and calls without it are free",
    { conditions: [{ key: "metadata.team", value: ["x", "y"] }], group_by: [{ key: "metadata.team" }] },
    [
      ["a", { headers: { "x-gateway-metadata": '{"team":"x"}' } }, 200],
      ["a", { headers: { "x-gateway-metadata": '{"team":"x"}' } }, 429],
      ["a", { headers: { "x-gateway-metadata": '{"team":"y"}' } }, 200],
      ["a", {}, 200],
    ],
  ],
  [
    "a limit by user leaves out keys of services",
    { conditions: everyCall, group_by: [{ key: "user_id" }] },
    [
      ["a", {}, 200],
      ["a", {}, 200],
    ],
  ],
] as const) {
  test(`rate limits on tool calls: ${what}`, async () => {
    parts.servers.set(
      mcpServer(`${parts.upstream.url}/mcp`, { slug: "second", id: "33333333-3333-4333-8333-333333333333" }),
    );
    const { remove } = await limit({ value: 1, ...policy });
    const statuses: number[] = [];
    for (const [name, options] of calls) statuses.push((await callTool(name, options)).response.status);
    await remove();
    assert.deepEqual(
      statuses,
      calls.map(([, , status]) => status),
    );
  });
}

test("a limit on tokens counts estimated arguments and results", async () => {
  const { remove } = await limit({
    type: "tokens",
    value: 1_000,
    conditions: everyCall,
    group_by: [{ key: "workspace_id" }],
  });
  parts.script = ({ id }) =>
    json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "x".repeat(3_000) }] } });
  const headers = { "x-gateway-trace-id": "mcp-tokens" };
  assert.equal((await callTool("long", { given: { text: "y".repeat(400) }, headers })).response.status, 200);
  const row = (await waitForLog(parts.gateway, "mcp-tokens")) as unknown as { mcp: { tokens: number } };
  assert.ok(row.mcp.tokens > 800 && row.mcp.tokens < 1_000, String(row.mcp.tokens));
  const { response, body } = await callTool("long", { given: { text: "y".repeat(1_000) } });
  await remove();
  assert.equal(response.status, 429, JSON.stringify(body));
});

test("a refused call takes nothing, lists are free, and a server may ask for status 200", async () => {
  const { remove } = await limit({ value: 2, conditions: everyCall, group_by: [{ key: "api_key" }] });
  const server = mcpServer(`${parts.upstream.url}/mcp`);
  parts.servers.set({ ...server, settings: { ...server.settings, soft_429: true } });
  const list = () => postLegacy(parts.gateway, rpc("tools/list"));
  const codes: (number | undefined)[] = [];
  for (let count = 0; count < 4; count++) {
    assert.equal((await list()).status, 200);
    const { response, body } = await callTool("t");
    assert.equal(response.status, 200);
    codes.push(body.error?.code);
  }
  parts.servers.set(server);
  await remove();
  assert.deepEqual(codes, [undefined, undefined, 429, 429]);
});

test("limits on tool calls leave requests to models alone, and the reverse", async () => {
  const { remove } = await limit({ value: 1, conditions: everyCall, group_by: [{ key: "workspace_id" }] });
  const models = await limit({
    value: 1,
    target: "llm",
    conditions: [{ key: "workspace_id", value: "*" }],
    group_by: [{ key: "workspace_id" }],
  });
  const statuses = [(await callTool("a")).response.status, (await callTool("a")).response.status];
  await remove();
  statuses.push((await callTool("a")).response.status, (await callTool("a")).response.status);
  await models.remove();
  assert.deepEqual(statuses, [200, 429, 200, 200]);
});

test("GET /policies/explain shows the limits of a tool call, and what is left of them", async () => {
  const { id, remove } = await limit({ value: 3, conditions: everyCall, group_by: [{ key: "mcp_tool" }] });
  await callTool("explained");
  type Entry = { id: string; applies: boolean; why: string; bucket: string | null; left: number | null };
  const explain = async (query: string) => {
    const path = `GET /policies/explain?${query}`;
    const { policies } = await done(call<{ policies: Entry[] }>(parts.gateway, path, { key: workspaceKey }));
    return policies.find((entry) => entry.id === id);
  };
  const ofTool = await explain("mcp_server=everything&mcp_tool=explained");
  const ofModel = await explain("model=gpt-4o");
  await remove();
  assert.deepEqual([ofTool?.applies, ofTool?.bucket, ofTool?.left], [true, "mcp_tool:explained", 2]);
  assert.deepEqual([ofModel?.applies, ofModel?.why], [false, "It limits calls of MCP tools"]);
});

for (const strictLimits of [true, false]) {
  test(`without its counters a gateway ${strictLimits ? "that is strict refuses" : "still admits"} tool calls with limits`, async () => {
    const away = await startScripted({ ...awayRedis, strictLimits, warn: () => {} });
    try {
      const body = { type: "requests", unit: "rpm", target: "mcp_tools", value: 10, conditions: everyCall };
      const group_by = [{ key: "api_key" }];
      await done(call(away.gateway, "POST /policies/rate-limits", { key: workspaceKey, body: { ...body, group_by } }));
      const server = mcpServer(`${away.upstream.url}/mcp`);
      away.servers.set({ ...server, settings: { ...server.settings, soft_429: true } });
      const message = rpc("tools/call", { name: "a", arguments: {} });
      const response = await postLegacy(away.gateway, message, {}, "/m/everything/mcp");
      if (!strictLimits) return assert.equal(response.status, 200);
      assert.equal(response.status, 503);
      const seconds = Number(response.headers.get("retry-after"));
      assert.ok(seconds >= 1 && seconds <= 9, String(seconds));
      const { error } = await readJson<RpcAnswer>(response);
      assert.equal(error.code, 503);
      assert.deepEqual(error.data, { type: "limits_unavailable", retry_after_ms: seconds * 1_000 });
      assert.deepEqual(away.upstream.requests, []);
      const free = await postLegacy(away.gateway, rpc("tools/list"), {}, "/m/everything/mcp");
      assert.equal(free.status, 200, "a request that no limit counts");
    } finally {
      await away.close();
    }
  });
}

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { readJson, waitForLog } from "../support/gateway.ts";
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
import { mcpServer, postLegacy, postModern, rpc } from "./support.ts";

let parts: Scripted;
before(async () => {
  parts = await startScripted();
});
after(() => parts.close());

let servers = 0;
beforeEach(() => {
  // what is known of a server's revisions, and sessions there, belong to its id
  const id = `${String(++servers).padStart(8, "0")}-1111-4111-8111-111111111111`;
  parts.servers.set(mcpServer(`${parts.upstream.url}/mcp`, { id }));
  sessions = 0;
});

let sessions = 0;

/** A server of the older revisions with sessions. */
function legacyServer(answer: (message: Message, session: string | undefined) => Answer): void {
  parts.script = (message, { headers, method }) => {
    const { id } = message;
    const session = headers["mcp-session-id"];
    if (method === "DELETE") return { status: 200 };
    if (String(headers["mcp-protocol-version"]).startsWith("2026")) return refused(400, id, -32000);
    if (message.method === "initialize") {
      const about = {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "old", version: "1" },
      };
      return json({ jsonrpc: "2.0", id, result: about }, { "mcp-session-id": `s${++sessions}` });
    }
    if (id === undefined) return { status: 202 };
    if (session === undefined) return refused(400, id, -32000);
    return answer(message, String(session));
  };
}

const refused = (status: number, id: unknown, code: number): Answer => ({
  ...json({ jsonrpc: "2.0", id: id ?? null, error: { code, message: "refused" } }),
  status,
});

/** A server of the newest revision. */
function modernServer(answer: (message: Message) => Answer): void {
  parts.script = (message, { headers }) => {
    const { id, method, params } = message;
    if (headers["mcp-protocol-version"] !== "2026-07-28" || params?._meta === undefined)
      return refused(400, id, -32022);
    if (method === "server/discover") {
      const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, extensions: { a: {} } };
      const _meta = { "io.modelcontextprotocol/serverInfo": { name: "new", version: "2" } };
      const result = {
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities,
        instructions: "hi",
        _meta,
      };
      return json({ jsonrpc: "2.0", id, result });
    }
    return answer(message);
  };
}

const received = (method: string) =>
  parts.upstream.requests.filter(({ text }) => text !== "" && JSON.parse(text).method === method);

test("modern calls at a legacy server share one session, which begins once", async () => {
  legacyServer(({ id, params }, session) =>
    json({ jsonrpc: "2.0", id, result: { content: [], structuredContent: { session, params } } }),
  );
  const [before, ids] = [received("initialize").length, new Set<unknown>()];
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const params = { name: "t", arguments: {}, progressToken: 1 };
      return readJson<RpcAnswer>(await postModern(parts.gateway, "tools/call", params));
    }),
  );
  for (const { id, result } of answers) {
    assert.deepEqual([id, result.resultType], [1, "complete"]);
    assert.deepEqual(result.structuredContent, {
      session: "s1",
      params: { name: "t", arguments: {}, progressToken: 1 },
    });
  }
  assert.equal(received("initialize").length, before + 1);
  const calls = received("tools/call").filter(({ headers }) => headers["mcp-session-id"] === "s1");
  for (const { text, headers } of calls) {
    ids.add(JSON.parse(text).id);
    assert.equal(headers["mcp-protocol-version"], "2025-06-18");
    assert.equal(headers["mcp-method"], undefined);
  }
  assert.equal(ids.size, 20);
});

test("discover is answered from what the legacy server said of itself", async () => {
  legacyServer(() => ({ status: 500 }));
  const { result } = await readJson<RpcAnswer>(await postModern(parts.gateway, "server/discover"));
  assert.deepEqual(result, {
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: "private",
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "old", version: "1" } },
  });
});

for (const [what, lost] of [
  ["404", { status: 404 }],
  ["400 with a complaint about it", { ...json({ error: { message: "No valid session ID provided" } }), status: 400 }],
] as const) {
  test(`a session that is over (${what}) begins anew, and the call is repeated once`, async () => {
    let isLost = true;
    legacyServer(({ id }, session) => {
      if (isLost && session === "s1") return lost;
      return json({ jsonrpc: "2.0", id, result: { tools: [] } });
    });
    const answer = await postModern(parts.gateway, "tools/list");
    assert.deepEqual([answer.status, sessions], [200, 2]);
    isLost = false;
    assert.equal((await postModern(parts.gateway, "tools/list")).status, 200);
    assert.equal(sessions, 2);
  });
}

test("sessions end when they were idle or are old, and no other key or forwarded header uses them", async () => {
  legacyServer(({ id }) => json({ jsonrpc: "2.0", id, result: { tools: [] } }));
  const list = (headers: Record<string, string> = {}) => postModern(parts.gateway, "tools/list", {}, headers);
  await list();
  await list();
  assert.equal(sessions, 1);
  parts.clock.advance(300_001);
  await list();
  assert.equal(sessions, 2);
  const deleted = () =>
    parts.upstream.requests.filter(({ method, headers }) => method === "DELETE" && headers["mcp-session-id"] === "s1");
  await eventually(() => deleted().length > 0, "the first session is ended at the server");
  const id = `${String(servers).padStart(8, "0")}-1111-4111-8111-111111111111`;
  const forwardedHeaders = { mode: "allowlist", headers: [{ from: "x-who", to: "x-who" }] } as const;
  parts.servers.set(mcpServer(`${parts.upstream.url}/mcp`, { id, forwardedHeaders }));
  await list({ "x-who": "a" });
  await list({ "x-who": "b" });
  await list({ "x-who": "a" });
  assert.equal(sessions, 4);
});

for (const [what, given, status, wanted] of [
  ["a missing resource", { code: -32002, message: "gone" }, 200, { code: -32602, message: "gone" }],
  ["an unknown method", { code: -32601, message: "no" }, 404, { code: -32601, message: "no" }],
  [
    "a URL that the user must visit",
    { code: -32042, message: "visit", data: { elicitations: [] } },
    400,
    { code: -32021, message: "visit", data: { elicitations: [], requiredCapabilities: { elicitation: { url: {} } } } },
  ],
] as const) {
  test(`an error of a legacy server becomes that of the newest revision: ${what}, whole or streamed`, async () => {
    for (const answer of [json, events]) {
      legacyServer(({ id }) => answer({ jsonrpc: "2.0", id, error: given }));
      const response = await postModern(parts.gateway, "resources/read", { uri: "a://b" });
      assert.equal(response.status, status);
      assert.deepEqual((await readJson<RpcAnswer>(response)).error, wanted);
    }
  });
}

test("of a legacy stream, progress and log messages that were asked for reach a modern client; requests are refused", async () => {
  const log = (level: string) => ({ jsonrpc: "2.0", method: "notifications/message", params: { level, data: level } });
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } };
  const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
  const asks = { jsonrpc: "2.0", id: 77, method: "sampling/createMessage", params: {} };
  legacyServer(({ id }) =>
    events(progress, log("debug"), log("error"), changed, asks, { jsonrpc: "2.0", id, result: {} }),
  );
  const methods = async (level?: string) => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
      ...(level !== undefined && { "io.modelcontextprotocol/logLevel": level }),
    };
    const init = {
      method: "POST",
      headers: {
        "x-gateway-api-key": "test-workspace-key-000000",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "t",
      },
      body: rpc("tools/call", { name: "t", _meta }),
    };
    const text = await (await parts.gateway.fetch("/m/everything/mcp", init)).text();
    return messagesOf(text).map(({ method, params }) => params?.data ?? method ?? "answer");
  };
  assert.deepEqual(await methods(), ["notifications/progress", "answer"]);
  assert.deepEqual(await methods("warning"), ["notifications/progress", "error", "answer"]);
  const refusal = () => parts.upstream.requests.find(({ text }) => text.includes('"id":77') && text.includes("-32601"));
  await eventually(() => refusal() !== undefined, "the server learns that nobody answers");
});

test("a modern client that listens at a legacy server gets an acknowledgement, and changes where the server streams them", async () => {
  for (const streams of [true, false]) {
    const id = `${String(++servers).padStart(8, "0")}-1111-4111-8111-111111111111`;
    parts.servers.set(mcpServer(`${parts.upstream.url}/mcp`, { id }));
    parts.script = (message, { method }) => {
      if (method === "GET") {
        const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
        return streams ? { ...events(changed), open: true } : { status: 405 };
      }
      if (message.method === "initialize") {
        const capabilities = { tools: { listChanged: true } };
        const result = { protocolVersion: "2025-11-25", capabilities, serverInfo: {} };
        return json({ jsonrpc: "2.0", id: message.id, result }, { "mcp-session-id": "listening" });
      }
      return message.method === "subscriptions/listen" ? refused(400, message.id, -32000) : { status: 202 };
    };
    const params = { notifications: { toolsListChanged: true, promptsListChanged: true } };
    const response = await postModern(parts.gateway, "subscriptions/listen", params);
    const reader = response.body?.getReader();
    let text = "";
    while (reader && messagesOf(text).length < (streams ? 2 : 1)) {
      const { value } = await reader.read();
      text += new TextDecoder().decode(value);
    }
    await reader?.cancel();
    const [first, second] = messagesOf(text);
    const _meta = { "io.modelcontextprotocol/subscriptionId": 1 };
    assert.deepEqual(first?.params, { notifications: streams ? { toolsListChanged: true } : {}, _meta });
    if (streams)
      assert.deepEqual(second, { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: { _meta } });
  }
});

test("a legacy client begins, lists and calls at a server of the newest revision", async () => {
  modernServer(({ id, method, params }) =>
    json({
      jsonrpc: "2.0",
      id,
      result: { resultType: "complete", ttlMs: 5, cacheScope: "public", method, given: params?.arguments },
    }),
  );
  const begin = await postLegacy(parts.gateway, rpc("initialize", { protocolVersion: "2025-03-26", capabilities: {} }));
  assert.equal(begin.headers.get("mcp-session-id"), null);
  const { result } = await readJson<RpcAnswer>(begin);
  assert.deepEqual(result, {
    protocolVersion: "2025-03-26",
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: "new", version: "2" },
    instructions: "hi",
  });
  const started = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
  assert.equal((await postLegacy(parts.gateway, started)).status, 202);
  const ask = async (method: string, params: object = {}) =>
    readJson<RpcAnswer>(await postLegacy(parts.gateway, rpc(method, params)));
  assert.deepEqual((await ask("ping")).result, {});
  assert.deepEqual((await ask("logging/setLevel", { level: "info" })).result, {});
  assert.equal((await ask("resources/subscribe", { uri: "a://b" })).error.code, -32601);
  assert.deepEqual((await ask("tools/list")).result, { method: "tools/list" });
  assert.deepEqual((await ask("tools/call", { name: "t", arguments: { a: 1 } })).result, {
    method: "tools/call",
    given: { a: 1 },
  });
});

test("a legacy client reads which input a server of the newest revision misses", async () => {
  const inputRequests = {
    a: { method: "elicitation/create", params: {} },
    b: { method: "sampling/createMessage", params: {} },
  };
  modernServer(({ id }) => json({ jsonrpc: "2.0", id, result: { resultType: "input_required", inputRequests } }));
  const call = await readJson<RpcAnswer>(await postLegacy(parts.gateway, rpc("tools/call", { name: "t" })));
  assert.equal(call.result.isError, true);
  assert.match(JSON.stringify(call.result.content), /elicitation\/create, sampling\/createMessage/);
  const prompt = await readJson<RpcAnswer>(await postLegacy(parts.gateway, rpc("prompts/get", { name: "p" })));
  assert.equal(prompt.error.data?.type, "input_required");
});

test("arguments of a legacy client are repeated in the headers that the schema of the tool names", async () => {
  const inputSchema = {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      deep: { properties: { n: { type: "integer", "x-mcp-header": "N" } } },
    },
  };
  modernServer(({ id, method }) => {
    if (method === "tools/list")
      return json({ jsonrpc: "2.0", id, result: { resultType: "complete", tools: [{ name: "t", inputSchema }] } });
    const { headers } = parts.upstream.requests.at(-1) ?? assert.fail();
    if (headers["mcp-param-region"] === undefined) return refused(400, id, -32020);
    const seen = [headers["mcp-param-region"], headers["mcp-param-n"]];
    return json({ jsonrpc: "2.0", id, result: { resultType: "complete", seen } });
  });
  const body = rpc("tools/call", { name: "t", arguments: { region: "é", deep: { n: 7 } } });
  const { result } = await readJson<RpcAnswer>(await postLegacy(parts.gateway, body));
  assert.deepEqual(result, { seen: ["=?base64?w6k=?=", "7"] });
});

test("a server that was updated to the newest revision is called directly again", async () => {
  legacyServer(({ id }) => json({ jsonrpc: "2.0", id, result: { tools: [{ name: "old" }] } }));
  const names = async () => {
    const { result } = await readJson<RpcAnswer>(await postModern(parts.gateway, "tools/list"));
    return (result.tools as { name: string }[]).map(({ name }) => name);
  };
  assert.deepEqual(await names(), ["old"]);
  modernServer(({ id }) => json({ jsonrpc: "2.0", id, result: { resultType: "complete", tools: [{ name: "new" }] } }));
  parts.clock.advance(300_001);
  assert.deepEqual(await names(), ["new"]);
});

test("a server that speaks neither is answered with 502", async () => {
  parts.script = ({ id }) => refused(400, id, -32601);
  for (const response of [
    await postModern(parts.gateway, "server/discover"),
    await postLegacy(parts.gateway, rpc("initialize", { protocolVersion: "2025-11-25" })),
  ]) {
    assert.equal(response.status, 502);
    assert.equal((await readJson<RpcAnswer>(response)).error.code, -32603);
  }
});

test("rows say that a call was translated", async () => {
  legacyServer(({ id }) => json({ jsonrpc: "2.0", id, result: { tools: [] } }));
  const headers = { "x-gateway-trace-id": "bridged" };
  await postModern(parts.gateway, "tools/list", {}, headers);
  const { mcp } = (await waitForLog(parts.gateway, "bridged")) as unknown as { mcp: Record<string, unknown> };
  assert.deepEqual([mcp.era, mcp.bridged_to], ["modern", "legacy"]);
});

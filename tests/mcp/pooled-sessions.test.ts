import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { McpCapabilities } from "../../src/mcp/registry/mcp-server.ts";
import { createTestClock, type TestClock, type TestGateway } from "../support/gateway.ts";
import { eventually, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { createMcpGateway, mcpServer, modernMeta, postLegacy, rpc, serversOf } from "./support.ts";

// Sessions that the gateway itself has at servers of the older revisions, and calls that run in them.

let upstream: RecordingUpstream;
let gateway: TestGateway;
let clock: TestClock;
/** Calls that the server has not answered. */
let waiting: { session: string; id: unknown; response: ServerResponse }[] = [];
let sessions = 0;
let ended: string[] = [];

before(async () => {
  upstream = await startRecordingUpstream(({ method, headers, text }, response) => {
    const session = String(headers["mcp-session-id"]);
    const message = JSON.parse(text || "{}");
    const answer = (status: number, value?: object, more = {}) => {
      response.writeHead(status, { "content-type": "application/json", ...more });
      response.end(value && JSON.stringify({ jsonrpc: "2.0", id: message.id, ...value }));
    };
    if (method === "DELETE") {
      ended.push(session);
      // as the official library does: the end of a session closes its streams
      for (const one of waiting) if (one.session === session) one.response.end();
      return answer(200);
    }
    if (String(headers["mcp-protocol-version"]).startsWith("2026") || message.params?._meta) {
      return answer(400, { error: { code: -32000, message: "no" } });
    }
    if (message.method === "initialize") {
      const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "old" } };
      return answer(200, { result }, { "mcp-session-id": `s${++sessions}` });
    }
    if (message.id === undefined) return answer(202);
    if (ended.includes(session)) return answer(404);
    if (message.params?.name !== "slow") return answer(200, { result: { content: [], session } });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": begins\n\n");
    waiting.push({ session, id: message.id, response });
  });
});
after(() => upstream.close());

beforeEach(() => {
  clock = createTestClock();
  waiting = [];
  ended = [];
});
afterEach(() => gateway.close());

const tool = (name: string) => ({ id: name, definition: { name }, approved: { name }, isListed: true });
const capabilities: McpCapabilities = {
  tool: new Map(["slow", "quick"].map((name) => [name, tool(name)])),
  prompt: new Map(),
  resource: new Map(),
  resource_template: new Map(),
};
let servers = 0;

/** A gateway whose callers are distinguished by a header. */
async function start(pool: { sessions?: number } = {}): Promise<void> {
  const id = () => `${String(++servers).padStart(8, "0")}-1111-4111-8111-111111111111`;
  const forwardedHeaders = { mode: "allowlist", headers: [{ from: "x-who", to: "x-who" }] } as const;
  const plain = mcpServer(`${upstream.url}/mcp`, { id: id(), forwardedHeaders, capabilities });
  const member = { prefix: "old", server: plain, include: null, exclude: new Set<string>() };
  const aggregate = { prefixMode: "never", members: [member] } as const;
  const joined = mcpServer("", { id: id(), slug: "joined", aggregate });
  const settings = { isEnabled: true, idleMs: 300_000, lifeMs: 600_000, cleanupMs: 0, tokenExpiryBufferMs: 60_000 };
  gateway = await createMcpGateway(serversOf(plain, joined), {
    clock,
    mcp: { pool: { ...settings, sessions: 1_000, ...pool } },
  });
}

/** Calls a tool, in one of the ways in which the gateway has the session. */
async function use(way: string, name: string, who = "a"): Promise<Record<string, never>> {
  const newest = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
  const isModern = way !== "an older client of a joined server";
  const params = { name, arguments: {}, ...(isModern && { _meta: modernMeta }) };
  const headers = { "x-who": who, ...(isModern && newest) };
  const slug = way === "a newer client" ? "everything" : "joined";
  const text = await (await postLegacy(gateway, rpc("tools/call", params), headers, `/m/${slug}/mcp`)).text();
  const [, data = text] = /^data: (.*"jsonrpc".*)$/m.exec(text) ?? [];
  const { result, error } = JSON.parse(data);
  assert.equal(error, undefined, text);
  return result;
}

/** Begins a call that runs until it is finished. */
async function begin(way: string, who = "a") {
  const before = waiting.length;
  const answer = use(way, "slow", who);
  answer.catch(() => {});
  await eventually(() => waiting.length > before, "the call runs at the server");
  const { session, id, response } = waiting[before] ?? assert.fail();
  return {
    session,
    finish: () => {
      const result = { content: [], session };
      response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
      return answer;
    },
  };
}
const hasEnded = (session: string) => eventually(() => ended.includes(session), `the session ${session} ends`);

const ways = ["a newer client", "a newer client of a joined server", "an older client of a joined server"];
for (const way of ways) {
  test(`a call of ${way} outlives the life of its session, whoever calls next`, async () => {
    await start();
    for (const who of ["a", "b"]) {
      const running = await begin(way);
      clock.advance(600_001);
      const next = await use(way, "quick", who);
      assert.notEqual(next.session, running.session);
      const result = await running.finish();
      assert.equal(result.session, running.session);
      await hasEnded(running.session);
      assert.ok(!ended.includes(next.session ?? ""));
    }
  });

  test(`a session of ${way} is idle from the end of its last call on`, async () => {
    await start();
    const running = await begin(way);
    clock.advance(400_000);
    await use(way, "quick", "b");
    await running.finish();
    clock.advance(150_000);
    assert.equal((await use(way, "quick")).session, running.session);
    clock.advance(300_001);
    assert.notEqual((await use(way, "quick")).session, running.session);
    await hasEnded(running.session);
  });

  test(`a full pool begins sessions of ${way} for one call each`, async () => {
    await start({ sessions: 1 });
    const first = await begin(way, "a");
    const others: Awaited<ReturnType<typeof begin>>[] = [];
    for (const who of ["b", "c", "b", "c"]) others.push(await begin(way, who));
    assert.equal(new Set([first, ...others].map(({ session }) => session)).size, 5);
    for (const call of others) {
      await call.finish();
      await hasEnded(call.session);
    }
    await first.finish();
    assert.equal((await use(way, "quick", "a")).session, first.session);
    assert.equal(ended.length, 4);
  });
}

test("an idle session ends without another call", async () => {
  await start();
  const { session = "" } = await use("a newer client", "quick");
  clock.advance(300_001);
  await hasEnded(session);
});

test("a gateway that closes ends sessions of the pool and those for one call", async () => {
  await start({ sessions: 1 });
  const { session = "" } = await use("a newer client", "quick");
  const running = await begin("a newer client", "b");
  await gateway.close();
  await eventually(() => ended.length > 1, "both end");
  assert.deepEqual([...new Set(ended)].sort(), [session, running.session].sort());
});

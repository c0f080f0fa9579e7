import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { readJson, type TestGateway } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { type Message, messagesOf, type RpcAnswer } from "./scripted.ts";
import { createMcpGateway, mcpServer, postLegacy, postModern, rpc, serversOf } from "./support.ts";

let upstream: RecordingUpstream;
let gateway: TestGateway;
/** What the server names as the address of messages. */
let endpoint = "/messages?session=";
/** Streams that are open now. */
const streams = new Map<string, ServerResponse>();

function answer(stream: ServerResponse | undefined, { id, method, params }: Message): void {
  if (id === undefined) return;
  const about = {
    protocolVersion: "2024-11-05",
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "sse" },
  };
  const result = method === "initialize" ? about : { content: [{ type: "text", text: JSON.stringify(params) }] };
  const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "error", data: "a" } };
  if (method === "tools/call") stream?.write(`event: message\ndata: ${JSON.stringify(log)}\n\n`);
  stream?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
}

before(async () => {
  upstream = await startRecordingUpstream(({ method, path, text }, response) => {
    if (method === "GET") {
      const session = crypto.randomUUID();
      streams.set(session, response);
      response.on("close", () => streams.delete(session));
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: ${endpoint}${session}\n\n`);
      return;
    }
    response.writeHead(202).end();
    answer(streams.get(path.split("session=")[1] ?? ""), JSON.parse(text));
  });
  const server = mcpServer(`${upstream.url}/sse`, {
    transport: "sse",
    openHeaders: async () => ({ authorization: "Bearer x" }),
  });
  gateway = await createMcpGateway(serversOf(server));
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

test("a server of the older transport serves clients of both eras, and sees its credential", async () => {
  const begin = await readJson<RpcAnswer>(
    await postLegacy(gateway, rpc("initialize", { protocolVersion: "2025-06-18" })),
  );
  assert.deepEqual(begin.result, {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "sse" },
  });
  const given = { name: "t", arguments: { a: 1 } };
  const legacy = messagesOf(await (await postLegacy(gateway, rpc("tools/call", given, "x"))).text());
  assert.deepEqual(
    legacy.map(({ id, method }) => id ?? method),
    ["notifications/message", "x"],
  );
  const modern = messagesOf(await (await postModern(gateway, "tools/call", given)).text());
  assert.deepEqual(
    modern.map(({ id }) => id),
    [1],
  );
  assert.deepEqual(modern[0]?.result, {
    content: [{ type: "text", text: JSON.stringify(given) }],
    resultType: "complete",
  });
  const discovered = await readJson<RpcAnswer>(await postModern(gateway, "server/discover"));
  assert.deepEqual(discovered.result.capabilities, { tools: {} });
  assert.ok(upstream.requests.every(({ headers }) => headers.authorization === "Bearer x"));
});

test("its streams end with their calls", async () => {
  await (await postModern(gateway, "tools/call", { name: "t" })).text();
  const until = performance.now() + 10_000;
  while (streams.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(streams.size, 0);
});

test("an address of messages at another origin is refused: the credential goes there", async () => {
  const other = await startRecordingUpstream((_, response) => response.writeHead(202).end());
  for (const foreign of [`${other.url}/messages?session=`, "//elsewhere.example.com/", "http://[", "file:///etc/"]) {
    endpoint = foreign;
    assert.equal((await postLegacy(gateway, rpc("tools/call", { name: "t" }))).status, 502, foreign);
  }
  endpoint = "/messages?session=";
  await other.close();
  assert.equal(other.requests.length, 0);
});

test("what needs a lasting session is refused", async () => {
  const listening = await postModern(gateway, "subscriptions/listen", { notifications: {} });
  assert.deepEqual([listening.status, (await readJson<RpcAnswer>(listening)).error.code], [404, -32601]);
  const subscribing = await postLegacy(gateway, rpc("resources/subscribe", { uri: "a://b" }));
  assert.deepEqual([subscribing.status, (await readJson<RpcAnswer>(subscribing)).error.code], [200, -32601]);
});

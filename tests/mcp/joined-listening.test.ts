import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { legacyHeaders, modernMeta, rpc } from "./support.ts";

// Clients of the newest revision that listen at a server that joins others.

interface Message {
  id?: string | number;
  method?: string;
  params?: { notifications?: Record<string, unknown>; uri?: string; _meta?: Record<string, unknown> };
  result?: unknown;
}

const names = ["crm", "wiki"];
const subscription = "io.modelcontextprotocol/subscriptionId";
let gateway: TestGateway;
const upstreams: Record<string, RecordingUpstream> = {};
/** Streams on which each member listens, with the id of the request. */
let streams: Record<string, { response: ServerResponse; id: string; asked: Record<string, unknown> }[]> = {};
let tools: Record<string, string[]> = {};

function answer(name: string, message: Required<Message>, response: ServerResponse): void {
  const { id, method, params } = message;
  if (method === "subscriptions/listen") {
    const asked = params.notifications ?? {};
    response.writeHead(200, { "content-type": "text/event-stream" });
    streams[name] = [...(streams[name] ?? []), { response, id: String(id), asked }];
    send(name, "notifications/subscriptions/acknowledged", { notifications: asked });
    return;
  }
  const lists: Record<string, object> = {
    "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {}, resources: {} } },
    "tools/list": { tools: tools[name]?.map((tool) => ({ name: tool, inputSchema: { type: "object" } })) },
    "resources/list": { resources: [{ uri: `file:///${name}`, name }] },
    "resources/templates/list": { resourceTemplates: [] },
  };
  response.setHeader("content-type", "application/json");
  const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...lists[method] };
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

/** Sends a notification on the last stream of a member. */
function send(name: string, method: string, params: object = {}): void {
  const { response, id } = streams[name]?.at(-1) ?? assert.fail(`${name} has no stream`);
  const value = { jsonrpc: "2.0", method, params: { ...params, _meta: { [subscription]: id } } };
  response.write(`data: ${JSON.stringify(value)}\n\n`);
}

before(async () => {
  gateway = await createTestGateway({ inFile: true });
  tools = { crm: ["export"], wiki: ["search"] };
  for (const name of names) {
    const upstream = await startRecordingUpstream((request, response) =>
      answer(name, JSON.parse(request.text), response),
    );
    upstreams[name] = upstream;
    const body = { name, slug: `${name}-up`, url: `${upstream.url}/mcp`, auth_type: "none", transport: "http" };
    await done(call(gateway, "POST /mcp-integrations", { key: workspaceKey, body }));
    const server = { name, slug: name, mcp_integration_id: `${name}-up` };
    await done(call(gateway, "POST /mcp-servers", { key: workspaceKey, body: server }));
  }
  const members = names.map((name) => ({ mcp_server_id: name, prefix: name }));
  const body = { name: "Office", slug: "office", aggregate: { members } };
  await done(call(gateway, "POST /mcp-servers", { key: workspaceKey, body }));
});
after(async () => {
  await gateway.close();
  for (const upstream of Object.values(upstreams)) await upstream.close();
});
beforeEach(() => {
  streams = {};
});

function post(method: string, params: object, trace = "", signal?: AbortSignal): Promise<Response> {
  return gateway.gateway.fetch(
    new Request("http://gateway.test/m/office/mcp", {
      method: "POST",
      headers: {
        ...legacyHeaders,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(trace !== "" && { "x-gateway-trace-id": trace }),
      },
      body: rpc(method, { ...params, _meta: modernMeta }, "mine"),
      ...(signal && { signal }),
    }),
  );
}

/** Listens; `next` reads the next message. */
async function listen(notifications: object, trace = "") {
  const { status, body, headers } = await post("subscriptions/listen", { notifications }, trace);
  assert.equal(status, 200);
  assert.match(headers.get("content-type") ?? "", /event-stream/);
  const reader = body?.getReader() ?? assert.fail();
  let text = "";
  const next = async (): Promise<Message> => {
    for (;;) {
      const [, data] = /^data: (.*)\n\n/m.exec(text) ?? [];
      if (data !== undefined) {
        text = text.slice(text.indexOf(data) + data.length + 2);
        return JSON.parse(data);
      }
      const { done: isOver, value } = await reader.read();
      assert.ok(!isOver, "the stream ended");
      text += new TextDecoder().decode(value);
    }
  };
  return { reader, next };
}

const all = {
  toolsListChanged: true,
  resourceSubscriptions: ["gw+crm+file:///crm", "gw+wiki+file:///wiki", "file:///x"],
};

test("a stream at a joined server carries the notifications of its members, by its own names and its own id", async () => {
  const { reader, next } = await listen(all, "joined-listening");
  const acknowledged = await next();
  assert.equal(acknowledged.method, "notifications/subscriptions/acknowledged");
  const { resourceSubscriptions, ...others } = acknowledged.params?.notifications ?? {};
  assert.deepEqual(others, { toolsListChanged: true });
  assert.deepEqual((resourceSubscriptions as string[]).sort(), ["gw+crm+file:///crm", "gw+wiki+file:///wiki"]);
  assert.deepEqual(
    names.map((name) => streams[name]?.map(({ asked }) => asked)),
    names.map((name) => [{ toolsListChanged: true, resourceSubscriptions: [`file:///${name}`] }]),
  );
  send("wiki", "notifications/resources/updated", { uri: "file:///wiki" });
  const updated = await next();
  assert.deepEqual(
    [updated.method, updated.params?.uri, updated.params?._meta?.[subscription]],
    ["notifications/resources/updated", "gw+wiki+file:///wiki", "mine"],
  );
  await reader.cancel();
  const rows = await waitForLogs(gateway, "trace_id=joined-listening", 3);
  assert.deepEqual(
    rows.map(({ status }) => status),
    [200, 200, 200],
  );
});

test("when a member says that its tools changed, the joined list has them before the client hears of it", async () => {
  const { reader, next } = await listen({ toolsListChanged: true });
  await next();
  tools = { ...tools, crm: ["export", "import"] };
  send("crm", "notifications/tools/list_changed");
  assert.equal((await next()).method, "notifications/tools/list_changed");
  const listed = (await (await post("tools/list", {})).json()) as { result: { tools: { name: string }[] } };
  assert.deepEqual(
    listed.result.tools.map(({ name }) => name),
    ["crm__export", "crm__import", "wiki__search"],
  );
  await reader.cancel();
});

test("a member whose stream ends is asked again, and members that were not asked are not", async () => {
  const { reader, next } = await listen({ resourceSubscriptions: ["gw+crm+file:///crm"] });
  await next();
  assert.deepEqual([streams.crm?.length, streams.wiki], [1, undefined]);
  streams.crm?.[0]?.response.end();
  while (streams.crm?.length !== 2) await new Promise((resolve) => setTimeout(resolve, 50));
  send("crm", "notifications/resources/updated", { uri: "file:///crm" });
  assert.equal((await next()).params?.uri, "gw+crm+file:///crm");
  await reader.cancel();
});

test("when the client leaves, the streams at the members end", async () => {
  const { reader, next } = await listen({ toolsListChanged: true });
  await next();
  const closed = names.map((name) => {
    const { response } = streams[name]?.[0] ?? assert.fail();
    return new Promise((resolve) => response.on("close", resolve));
  });
  await reader.cancel();
  await Promise.all(closed);
});

test("a client may listen on sixteen streams, however many members each has", async () => {
  const open = await Promise.all(Array.from({ length: 16 }, () => listen({ toolsListChanged: true })));
  const refused = await post("subscriptions/listen", { notifications: { toolsListChanged: true } });
  assert.equal(refused.status, 503);
  await Promise.all(open.map(({ reader }) => reader.cancel()));
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, readJson, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";
import { eventually } from "../support/upstream.ts";
import { createSocketHost, type SocketHost } from "../support/websocket-host.ts";
import {
  handshakeHeaders,
  type Refusal,
  type SocketUpstream,
  startSocketUpstream,
} from "../support/websocket-upstream.ts";

const providerKey = "fake-stored-credential-1234567890";

let gateway: TestGateway;
let upstream: SocketUpstream;
const script: { refuse?: Refusal } = {};
before(async () => {
  gateway = await createTestGateway({ inFile: true, realtimeOrigins: ["https://app.example.com"] });
  upstream = await startSocketUpstream(
    Object.assign(script, { open: (socket: { send(text: string): void }) => socket.send("early") }),
  );
  const options = { key: workspaceKey };
  const configurations = { custom_host: `${upstream.url}/v1` };
  const integration = { name: "main", slug: "main-integration", ai_provider_id: "openai", key: providerKey };
  const body = { ...integration, configurations, create_default_provider: false };
  await done(call(gateway, "POST /integrations", { ...options, body }));
  const provider = { name: "main", slug: "main", integration_id: "main-integration" };
  await done(call(gateway, "POST /providers", { ...options, body: provider }));
  const config = { provider: "@main", override_params: { model: "gpt-realtime" } };
  const { slug } = await done(call(gateway, "POST /configs", { ...options, body: { name: "Talk", config } }));
  for (const [name, target] of [
    ["talk", { model: "@main/gpt-realtime" }],
    ["talk-pool", { config: slug }],
  ]) {
    await done(call(gateway, "POST /model-aliases", { ...options, body: { name, target } }));
  }
  const models = [{ slug: "closed", enabled: false }];
  await done(call(gateway, "PUT /integrations/main-integration/models", { ...options, body: { models } }));
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

type Host = Pick<SocketHost, "upgrade">;

/** Requests a session. */
function ask(query: string, headers: Record<string, string> = {}, host?: Host): Promise<Response> {
  const own = { ...handshakeHeaders, "x-gateway-api-key": workspaceKey, ...headers };
  return gateway.fetch(`/v1/realtime${query}`, { headers: own }, host && { upgrade: host.upgrade });
}

async function refusalOf(response: Response): Promise<[number, string | null]> {
  const { error } = await readJson<{ error: { code: string | null } }>(response);
  return [response.status, error.code];
}

for (const [query, headers, path] of [
  ["?model=@main/gpt-realtime", {}, "/v1/realtime?model=gpt-realtime"],
  ["?model=@main/gpt-realtime&a=1&a=2", { "x-gateway-provider": "@main" }, "/v1/realtime?model=gpt-realtime&a=1&a=2"],
  ["?model=gpt-realtime", { "x-gateway-virtual-key": "main" }, "/v1/realtime?model=gpt-realtime"],
  ["?model=talk", {}, "/v1/realtime?model=gpt-realtime"],
  ["?model=talk-pool", {}, "/v1/realtime?model=gpt-realtime"],
] as const) {
  test(`a stored provider is called with its own credential: ${query} ${JSON.stringify(headers)}`, async () => {
    const host = createSocketHost();
    const response = await ask(query, { ...headers, authorization: "Bearer the-callers-own" }, host);
    assert.equal(response.headers.get("x-accepted"), "yes");
    const handshake = upstream.handshakes.at(-1);
    assert.equal(handshake?.path, path);
    assert.equal(handshake?.headers.authorization, `Bearer ${providerKey}`);
    assert.ok(!JSON.stringify(handshake).includes("the-callers-own"));
    await eventually(() => host.heard.length > 0, "the first message");
    assert.deepEqual(host.heard, ["early"]);
    host.leave({ code: 1000, reason: "" });
  });
}

test("a forbidden model is 412, and so is a session without a model", async () => {
  const seen = upstream.handshakes.length;
  assert.equal((await ask("?model=@main/closed", {}, createSocketHost())).status, 412);
  assert.equal((await ask("", { "x-gateway-provider": "@main" }, createSocketHost())).status, 412);
  assert.equal(upstream.handshakes.length, seen);
});

test("a refusal that repeats the stored credential shows it masked", async () => {
  script.refuse = { status: 401, body: JSON.stringify({ error: { message: `Incorrect API key: ${providerKey}` } }) };
  try {
    const response = await ask("?model=@main/gpt-realtime", {}, createSocketHost());
    assert.equal(response.status, 401);
    const text = await response.text();
    assert.match(text, /Incorrect API key/);
    assert.ok(!text.includes(providerKey));
  } finally {
    delete script.refuse;
  }
});

test("a host without WebSockets responds 501", async () => {
  assert.deepEqual(await refusalOf(await ask("?model=@main/gpt-realtime")), [501, "websocket_unsupported"]);
});

test("a host whose client left closes the upstream and leaves a row", async () => {
  const upgrade = () => {
    throw new Error("the client left");
  };
  await eventually(() => upstream.clients.size === 0, "earlier sessions to be closed");
  const headers = { "x-gateway-trace-id": "trace-of-left" };
  assert.equal((await ask("?model=@main/gpt-realtime", headers, { upgrade })).status, 500);
  await eventually(() => upstream.clients.size === 0, "the upstream to be closed");
  const row = await waitForLog(gateway, "trace-of-left");
  assert.equal(row.error?.code, "client_closed");
});

test("the host receives headers, subprotocol and the largest message", async () => {
  const host = createSocketHost();
  await ask("?model=@main/gpt-realtime", { "sec-websocket-protocol": "other, realtime" }, host);
  const { headers, protocol, maxMessageBytes } = host.accepted() ?? assert.fail();
  assert.equal(protocol, "other", "the one the upstream chose");
  assert.equal(maxMessageBytes, 4 * 1024 * 1024);
  assert.ok(headers["x-gateway-trace-id"]);
  assert.equal(headers["x-gateway-provider"], "openai");
  host.leave({ code: 1000, reason: "" });
});

for (const [close, code] of [
  [{ code: 1000, reason: "" }, null],
  [{ code: 1001, reason: "going" }, null],
  [{ code: 1005, reason: "" }, null],
  [{ code: 1006, reason: "" }, "close_1006"],
  [{ code: 4000, reason: "own" }, "close_4000"],
] as const) {
  test(`the row of a session the client closed with ${close.code} has the error ${code}`, async () => {
    const host = createSocketHost();
    const traceId = `trace-of-close-${close.code}`;
    await ask("?model=@main/gpt-realtime", { "x-gateway-trace-id": traceId }, host);
    host.leave(close);
    const row = await waitForLog(gateway, traceId);
    assert.deepEqual([row.status, row.operation, row.model], [101, "realtime", "gpt-realtime"]);
    assert.equal(row.error?.code ?? null, code);
  });
}

test("an origin is allowed when the operator listed it, whatever its case", async () => {
  const host = createSocketHost();
  const listed = await ask("?model=@main/gpt-realtime", { origin: "https://APP.example.com" }, host);
  assert.equal(listed.headers.get("x-accepted"), "yes");
  host.leave({ code: 1000, reason: "" });
  for (const origin of ["https://app.example.com.evil.example", "http://app.example.com", "null"]) {
    const refused = await ask("?model=@main/gpt-realtime", { origin }, createSocketHost());
    assert.deepEqual(await refusalOf(refused), [403, "origin_not_allowed"]);
  }
});

test("a drain closes sessions with 1001", async () => {
  const other = await createTestGateway();
  const host = createSocketHost();
  const headers = {
    ...handshakeHeaders,
    "x-gateway-api-key": workspaceKey,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
  };
  await other.fetch("/v1/realtime?model=m", { headers }, { upgrade: host.upgrade });
  await other.gateway.drain(0);
  assert.equal(host.closes[0]?.code, 1001);
  await other.close();
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { McpServer } from "../../src/mcp/registry/mcp-server.ts";
import { adminKey, createTestClock, readJson, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";
import {
  eventually,
  type ReceivedRequest,
  type RecordingUpstream,
  startRecordingUpstream,
} from "../support/upstream.ts";
import {
  createMcpGateway,
  disabled,
  legacyHeaders,
  mcpServer,
  modernMeta,
  postLegacy,
  postModern,
  rpc,
  serversOf,
} from "./support.ts";

/** What the upstream answers to a JSON-RPC message, set by each test. */
type Script = (message: Message, request: ReceivedRequest) => Answer;
interface Message {
  id?: string | number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
}
interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** The connection stays open after the body. */
  open?: boolean;
}
/** The body of an answer. */
interface RpcAnswer {
  jsonrpc: string;
  id: unknown;
  result: Record<string, unknown>;
  error: { code: number; message: string; data?: Record<string, unknown> };
}

const json = (value: unknown, headers: Record<string, string> = {}): Answer => ({
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(value),
});
const events = (...messages: unknown[]): Answer => ({
  headers: { "content-type": "text/event-stream" },
  body: messages.map((message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`).join(""),
});
const echo: Script = ({ id, params = {} }) => json({ jsonrpc: "2.0", id, result: { echoed: params } });

let upstream: RecordingUpstream;
let gateway: TestGateway;
let script: Script = echo;
/** Connections that the gateway closed before their response was complete. */
let aborted = 0;
const servers = serversOf();
const clock = createTestClock();

function serve(changes: Partial<McpServer> = {}): void {
  servers.set(mcpServer(`${upstream.url}/mcp`, changes));
}

before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const { status = 200, headers = {}, body = "", open } = script(JSON.parse(request.text || "{}"), request);
    response.on("close", () => {
      if (!response.writableFinished) aborted++;
    });
    response.writeHead(status, headers);
    if (open) response.write(body);
    else response.end(body);
  });
  serve();
  gateway = await createMcpGateway(servers, { clock, inFile: true });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

function last(): ReceivedRequest {
  const request = upstream.requests.at(-1);
  assert.ok(request);
  return request;
}

async function callLegacy(method: string, params: object = {}, headers: Record<string, string> = {}) {
  const response = await postLegacy(gateway, rpc(method, params), headers);
  return { response, body: await readJson<RpcAnswer>(response) };
}

for (const path of ["/m/everything/mcp", "/m/unknown/mcp", "/m/any/everything/mcp"]) {
  for (const method of ["GET", "DELETE", "PUT", "PATCH"]) {
    test(`${method} ${path} answers 405 with and without a key`, async () => {
      for (const key of [workspaceKey, undefined]) {
        const headers = key === undefined ? {} : { "x-gateway-api-key": key };
        const response = await gateway.fetch(path, { method, headers });
        assert.equal(response.status, 405);
        assert.equal(response.headers.get("allow"), "POST");
        assert.equal((await readJson<RpcAnswer>(response)).error.code, -32000);
      }
    });
  }
}

test("OPTIONS answers 204, and allows only pages of known origins", async () => {
  const plain = await gateway.fetch("/m/everything/mcp", {
    method: "OPTIONS",
    headers: { origin: "https://a.example" },
  });
  assert.equal(plain.status, 204);
  assert.equal(plain.headers.get("access-control-allow-origin"), null);
  const settings = { origins: new Set(["https://a.example"]), hosts: new Set(["gateway.test"]) };
  const open = await createMcpGateway(servers, { mcp: settings });
  const headers = { origin: "https://a.example", "access-control-request-headers": "mcp-method" };
  const allowed = await open.fetch("/m/everything/mcp", { method: "OPTIONS", headers });
  assert.equal(allowed.headers.get("access-control-allow-origin"), "https://a.example");
  assert.equal(allowed.headers.get("access-control-allow-headers"), "mcp-method");
  const answered = await postLegacy(open, rpc("tools/list"), { origin: "https://a.example" });
  assert.equal(answered.status, 200);
  const refused = await postLegacy(open, rpc("tools/list"), { origin: "https://b.example" });
  assert.equal(refused.status, 403);
  const request = new Request("http://rebound.test/m/everything/mcp", {
    method: "POST",
    headers: legacyHeaders,
    body: "{}",
  });
  assert.equal((await open.gateway.fetch(request)).status, 403);
  await open.close();
});

test("a request without a credential gets a challenge, the same for every slug", async () => {
  for (const slug of ["everything", "unknown"]) {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: rpc("tools/list") };
    const response = await gateway.fetch(`/m/${slug}/mcp`, init);
    assert.equal(response.status, 401);
    const metadata = `http://gateway.test/.well-known/oauth-protected-resource/m/${slug}/mcp`;
    assert.equal(response.headers.get("www-authenticate"), `Bearer resource_metadata="${metadata}", scope="mcp"`);
    assert.equal((await readJson<{ error: string }>(response)).error, "invalid_token");
  }
  const wrong = await postLegacy(gateway, rpc("tools/list"), { "x-gateway-api-key": "gk_wrong" });
  assert.match(wrong.headers.get("www-authenticate") ?? "", /^Bearer error="invalid_token", resource_metadata=/);
});

test("keys of the organisation have no scope for MCP, and two keys at once are refused", async () => {
  const refused = await postLegacy(gateway, rpc("tools/list"), { "x-gateway-api-key": adminKey });
  assert.equal(refused.status, 403);
  assert.match(refused.headers.get("www-authenticate") ?? "", /error="insufficient_scope"/);
  const both = await postLegacy(gateway, rpc("tools/list"), { authorization: `Bearer ${adminKey}` });
  assert.equal(both.status, 401);
});

test("unknown, inactive and closed servers, and other workspaces, answer the same 404", async () => {
  servers.set(mcpServer(upstream.url, { slug: "inactive", isActive: false }));
  servers.set(mcpServer(upstream.url, { slug: "closed", isOpenTo: () => false }));
  const bodies = new Set<string>();
  for (const path of ["/m/none/mcp", "/m/inactive/mcp", "/m/closed/mcp", "/m/foreign/everything/mcp"]) {
    const response = await postLegacy(gateway, rpc("tools/list"), {}, path);
    assert.equal(response.status, 404);
    bodies.add(await response.text());
  }
  assert.equal(bodies.size, 1);
  assert.equal((await postLegacy(gateway, rpc("tools/list"), {}, "/m/default/everything/mcp")).status, 200);
});

for (const [name, body, status, code] of [
  ["text that is not JSON", "{", 400, -32700],
  ["an array", "[]", 400, -32600],
  ["a wrong version", '{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
  ["an object as id", '{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
  ["params that are a list", '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32602],
  ["a message without a method", '{"jsonrpc":"2.0","id":1}', 400, -32600],
] as const) {
  test(`${name} is refused with ${status} and ${code}`, async () => {
    const response = await postLegacy(gateway, body);
    assert.equal(response.status, status);
    assert.equal((await readJson<RpcAnswer>(response)).error.code, code);
  });
}

test("other content types get 415, clients that accept one kind of answer 406, large bodies 413", async () => {
  assert.equal((await postLegacy(gateway, rpc("ping"), { "content-type": "text/plain" })).status, 415);
  assert.equal((await postLegacy(gateway, rpc("ping"), { accept: "application/json" })).status, 406);
  assert.equal((await postLegacy(gateway, rpc("ping"), { accept: "*/*" })).status, 200);
  assert.equal((await postLegacy(gateway, rpc("ping", { a: "x".repeat(4 * 1024 * 1024) }))).status, 413);
});

test("ids are replaced on their way and come back with their type", async () => {
  for (const id of [7, "7", "a b", 0, -1.5]) {
    const response = await postLegacy(gateway, rpc("tools/list", {}, id));
    assert.equal((await readJson<RpcAnswer>(response)).id, id);
    assert.equal(JSON.parse(last().text).id, `gw:${JSON.stringify(id)}`);
  }
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
  script = () => ({ status: 202 });
  const response = await postLegacy(gateway, JSON.stringify(cancelled));
  script = echo;
  assert.equal(response.status, 202);
  assert.equal(await response.text(), "");
  assert.equal(JSON.parse(last().text).params.requestId, "gw:7");
});

test("large numbers, unknown members and unknown content survive in both directions", async () => {
  const text =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"n":12345678901234567890123}},"x":[1]}';
  script = () => ({
    headers: { "content-type": "application/json" },
    body: '{"jsonrpc":"2.0","id":"gw:1","result":{"content":[{"type":"hologram","n":98765432109876543210}],"y":{"z":1}},"w":2}',
  });
  const response = await postLegacy(gateway, text);
  script = echo;
  assert.ok(last().text.includes("12345678901234567890123"));
  assert.deepEqual(JSON.parse(last().text).x, [1]);
  const body = await response.text();
  assert.ok(body.includes("98765432109876543210"));
  assert.match(body, /"type":"hologram".*"y":\{"z":1\}.*"w":2/);
});

test("an answer with the id of another request is refused", async () => {
  script = () => json({ jsonrpc: "2.0", id: "gw:2", result: { secret: 1 } });
  const { response, body } = await callLegacy("tools/list");
  script = echo;
  assert.equal(response.status, 502);
  assert.deepEqual([body.id, body.error.code, body.error.data?.type], [1, -32603, "upstream_error"]);
});

test("upstream headers are made from nothing", async () => {
  serve({
    forwardedHeaders: {
      mode: "allowlist",
      headers: [
        { from: "x-tenant", to: "x-customer" },
        { from: "x-plain", to: "cookie" },
        { from: "cookie", to: "x-cookie" },
        { from: "x-plain", to: "x-gateway-secret" },
        { from: "x-plain", to: "Mcp-Name" },
        { from: "x-api-key", to: "x-any" },
      ],
    },
    openHeaders: async () => ({ Authorization: "Bearer of-the-integration", "X-Fixed": "1", Host: "elsewhere" }),
  });
  const headers = {
    "x-tenant": "acme",
    "x-plain": "plain",
    cookie: "a=b",
    "x-api-key": "other",
    authorization: "Bearer of-the-caller",
    "x-gateway-metadata": "{}",
    "x-forwarded-for": "1.2.3.4",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  };
  await callLegacy("tools/list", {}, headers);
  serve();
  const sent = last().headers;
  assert.equal(sent["x-customer"], "acme");
  assert.equal(sent.authorization, "Bearer of-the-integration");
  assert.equal(sent["x-fixed"], "1");
  // the caller's trace, with the gateway's span as parent
  assert.match(String(sent.traceparent), /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
  assert.notEqual(sent.traceparent, headers.traceparent);
  assert.equal(sent["mcp-protocol-version"], "2025-11-25");
  for (const name of ["cookie", "x-cookie", "x-any", "x-plain", "x-tenant", "mcp-name", "x-forwarded-for"]) {
    assert.equal(sent[name], undefined, name);
  }
  assert.deepEqual(
    Object.keys(sent).filter((name) => name.startsWith("x-gateway-")),
    [],
  );
  assert.notEqual(sent.host, "elsewhere");
});

test("all-except forwards neither credentials nor authorization; a key in a forwarded header is refused", async () => {
  serve({ forwardedHeaders: { mode: "all-except", headers: [{ from: "x-not", to: "x-not" }] } });
  await callLegacy("tools/list", {}, { "x-not": "1", "x-yes": "2", authorization: "Bearer mine", "x-auth-token": "t" });
  const sent = last().headers;
  assert.deepEqual(
    [sent["x-yes"], sent["x-not"], sent.authorization, sent["x-auth-token"]],
    ["2", undefined, undefined, undefined],
  );
  assert.ok(!JSON.stringify(sent).includes(workspaceKey));
  const { response } = await callLegacy("tools/list", {}, { "x-yes": `my ${workspaceKey}` });
  serve();
  assert.equal(response.status, 400);
});

const credentialNames = [
  ..."x-amz-security-token x-vault-token private-token x-session-token x-id-token token x-secret x-password".split(" "),
  ..."x-jwt-assertion x-goog-iap-jwt-assertion cf-access-jwt-assertion ocp-apim-subscription-key x-apikey".split(" "),
  ..."x-functions-key authentication dpop x-csrf-token x-xsrf-token x-amzn-oidc-data x-amzn-oidc-accesstoken".split(
    " ",
  ),
  ..."x-ms-client-principal x-auth-request-user x-session x-credential-id cf-authorization-cookie api-key".split(" "),
];

test("all-except forwards no header whose name says that it is a credential, and the others", async () => {
  serve({ forwardedHeaders: { mode: "all-except", headers: [] } });
  const names = ["x-request-id", "x-author", "x-team", "idempotency-key", "x-keyboard"];
  const given = Object.fromEntries([...credentialNames, ...names].map((name) => [name, "a value"]));
  await callLegacy("tools/list", {}, given);
  const sent = last().headers;
  assert.deepEqual(
    credentialNames.filter((name) => sent[name] !== undefined),
    [],
  );
  assert.deepEqual(
    names.filter((name) => sent[name] === undefined),
    [],
  );
  // one that is listed by its name goes on
  serve({ forwardedHeaders: { mode: "allowlist", headers: [{ from: "x-vault-token", to: "x-vault-token" }] } });
  await callLegacy("tools/list", {}, { "x-vault-token": "mine" });
  assert.equal(last().headers["x-vault-token"], "mine");
  serve();
});

test("what is switched off is neither listed nor callable, in any spelling", async () => {
  serve({
    disabled: disabled({ tool: ["b"], prompt: ["p"], resource: ["file:///secret"], resource_template: ["db://{id}"] }),
  });
  script = ({ id, method }) =>
    json({
      jsonrpc: "2.0",
      id,
      result:
        method === "tools/list"
          ? { tools: [{ name: "a", icons: [1] }, { name: "b" }], nextCursor: "" }
          : { resources: [{ uri: "FILE:///secret" }, { uri: "db://7" }, { uri: "file:///open" }] },
    });
  assert.deepEqual((await callLegacy("tools/list")).body.result, {
    tools: [{ name: "a", icons: [1] }],
    nextCursor: "",
  });
  assert.deepEqual((await callLegacy("resources/list")).body.result, { resources: [{ uri: "file:///open" }] });
  script = echo;
  const before = upstream.requests.length;
  for (const [method, params] of [
    ["tools/call", { name: "b" }],
    ["prompts/get", { name: "p" }],
    ["resources/read", { uri: "file:///%73ecret" }],
    ["resources/read", { uri: "file:///./secret" }],
    ["resources/subscribe", { uri: "db://7" }],
    ["completion/complete", { ref: { type: "ref/prompt", name: "p" } }],
    ["tools/call", { name: ["b"] }],
  ] as const) {
    const { response, body } = await callLegacy(method, params);
    assert.deepEqual([response.status, body.error.code], [200, -32602], JSON.stringify(params));
  }
  assert.equal(upstream.requests.length, before);
  serve();
});

test("session ids are sealed for one caller at one server, and end with its configuration", async () => {
  script = ({ id, method }, { headers }) =>
    method === "initialize"
      ? json({ jsonrpc: "2.0", id, result: {} }, { "mcp-session-id": "upstream-session" })
      : json({ jsonrpc: "2.0", id, result: { session: headers["mcp-session-id"] } });
  const { response } = await callLegacy("initialize", { protocolVersion: "2025-11-25" });
  const sealed = response.headers.get("mcp-session-id") ?? "";
  assert.ok(sealed.length > 40 && !sealed.includes("upstream-session"));
  const status = async (id: string, path = "/m/everything/mcp", key = workspaceKey) => {
    const headers = { "mcp-session-id": id, "x-gateway-api-key": key };
    const answer = await postLegacy(gateway, rpc("tools/list"), headers, path);
    const body = await readJson<RpcAnswer>(answer);
    return answer.status === 200 ? body.result.session : body.error.code;
  };
  assert.equal(await status(sealed), "upstream-session");
  assert.equal(await status("upstream-session"), -32001);
  assert.equal(await status(`${sealed.slice(0, -2)}AA`), -32001);
  servers.set(mcpServer(`${upstream.url}/mcp`, { slug: "other", id: "33333333-3333-4333-8333-333333333333" }));
  assert.equal(await status(sealed, "/m/other/mcp"), -32001);
  servers.set(mcpServer(`${upstream.url}/mcp`, { configurations: { changed: true } }));
  assert.equal(await status(sealed), -32001);
  serve();
  assert.equal(await status(sealed), "upstream-session");
  clock.advance(24 * 60 * 60 * 1_000 + 1);
  assert.equal(await status(sealed), -32001);
  script = echo;
});

test("a stream is relayed up to the answer: notifications, requests of the server, ids", async () => {
  script = ({ id }) =>
    events(
      { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 5, progress: 1 } },
      { jsonrpc: "2.0", id: 9, method: "sampling/createMessage", params: {} },
      { jsonrpc: "2.0", id: "gw:99", result: { of: "another" } },
      { jsonrpc: "2.0", id, result: { done: true } },
      { jsonrpc: "2.0", method: "notifications/late" },
    );
  const response = await postLegacy(gateway, rpc("tools/call", { name: "t" }, "c1"));
  script = echo;
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const text = await response.text();
  const messages = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
  assert.deepEqual(
    messages.map(({ id, method }) => [id, method]),
    [
      [undefined, "notifications/progress"],
      [9, "sampling/createMessage"],
      ["c1", undefined],
    ],
  );
});

test("a stream that ends without its answer ends with an error", async () => {
  script = () => events({ jsonrpc: "2.0", method: "notifications/progress", params: {} });
  const text = await (await postLegacy(gateway, rpc("tools/call", { name: "t" }))).text();
  script = echo;
  assert.match(text, /"id":1,"error":\{"code":-32603/);
});

test("a stream with event ids is taken up again for the caller", async () => {
  script = ({ id }, { method, headers }) =>
    method === "POST"
      ? { headers: { "content-type": "text/event-stream" }, body: `id: ${String(id).length}\nretry: 1\ndata: \n\n` }
      : { ...events({ jsonrpc: "2.0", id: "gw:1", result: { after: headers["last-event-id"] } }) };
  const text = await (await postLegacy(gateway, rpc("tools/call", { name: "t" }))).text();
  script = echo;
  assert.match(text, /"id":1,"result":\{"after":"4"\}/);
});

for (const [name, answer] of [
  ["redirects", { status: 307, headers: { location: "http://elsewhere.test/" } }],
  ["asks for a credential", { status: 401, headers: { "www-authenticate": "Bearer" } }],
  ["answers with a page", { headers: { "content-type": "text/html" }, body: "<b>secret</b>" }],
  ["answers with more than it may", json({ jsonrpc: "2.0", id: "gw:1", result: { long: "x".repeat(1024 * 1024) } })],
] as const) {
  test(`an upstream that ${name} is answered with 502`, async () => {
    script = () => answer;
    const { response, body } = await callLegacy("tools/call", { name: "t" });
    script = echo;
    assert.equal(response.status, 502);
    assert.equal(body.error.code, -32603);
    assert.equal(response.headers.get("www-authenticate"), null);
    assert.ok(!JSON.stringify(body).includes("secret"));
  });
}

test("errors of the upstream keep their status, body and retry-after", async () => {
  script = ({ id }) => ({
    ...json({ jsonrpc: "2.0", id, error: { code: -32050, message: "later", data: { a: 1 } } }, { "retry-after": "3" }),
    status: 429,
  });
  const { response, body } = await callLegacy("tools/call", { name: "t" });
  script = echo;
  assert.deepEqual([response.status, response.headers.get("retry-after")], [429, "3"]);
  assert.deepEqual(body, { jsonrpc: "2.0", id: 1, error: { code: -32050, message: "later", data: { a: 1 } } });
});

test("a private address is refused unless it is trusted", async () => {
  servers.set(mcpServer("http://10.0.0.1/mcp", { slug: "private" }));
  const response = await postLegacy(gateway, rpc("tools/list"), {}, "/m/private/mcp");
  assert.equal(response.status, 502);
  assert.ok(!(await response.text()).includes("10.0.0.1"));
});

test("the upstream sees that a caller left, before the answer and within the stream", async () => {
  const before = aborted;
  for (const open of [true, false]) {
    const controller = new AbortController();
    script = () => ({ headers: { "content-type": "text/event-stream" }, body: ": start\n\n", open: true });
    const init = {
      method: "POST",
      headers: legacyHeaders,
      body: rpc("tools/call", { name: "t" }),
      signal: controller.signal,
    };
    const response = await gateway.gateway.fetch(new Request("http://gateway.test/m/everything/mcp", init));
    if (open) controller.abort();
    else await response.body?.cancel();
  }
  script = echo;
  await eventually(() => aborted === before + 2, "both calls end");
});

test("reads are repeated once when the server is away, calls are not", async () => {
  let count = 0;
  script = (message, request) => (++count % 2 === 1 ? { status: 503 } : echo(message, request));
  assert.equal((await callLegacy("tools/list")).response.status, 200);
  assert.equal(count, 2);
  assert.equal((await callLegacy("tools/call", { name: "t" })).response.status, 502);
  assert.equal(count, 3);
  script = echo;
});

test("the circuit breaker opens after failures and says so with status 200", async () => {
  const id = "44444444-4444-4444-8444-444444444444";
  servers.set(mcpServer(`${upstream.url}/mcp`, { slug: "failing", id }));
  script = () => ({ status: 500 });
  const call = () => postLegacy(gateway, rpc("tools/call", { name: "t" }), {}, "/m/failing/mcp");
  for (let count = 0; count < 10; count++) assert.equal((await call()).status, 502);
  const refused = await call();
  script = echo;
  assert.equal(refused.status, 200);
  const { error } = await readJson<RpcAnswer>(refused);
  assert.deepEqual([error.code, error.data?.type], [503, "circuit_open"]);
  clock.advance(30_001);
  assert.equal((await call()).status, 200);
});

for (const [name, headers, params, status, code] of [
  ["a wrong method", { "mcp-method": "tools/list" }, {}, 400, -32020],
  ["a wrong name", { "mcp-name": "other" }, {}, 400, -32020],
  ["an encoded wrong name", { "mcp-name": "=?base64?b3RoZXI=?=" }, {}, 400, -32020],
  ["a broken encoding", { "mcp-name": "=?base64?%?=" }, {}, 400, -32020],
  ["a wrong version", { "mcp-protocol-version": "2025-11-25" }, {}, 400, -32020],
  ["the encoded name", { "mcp-name": "=?base64?dA==?=" }, {}, 200, undefined],
] as const) {
  test(`a modern call whose header has ${name} answers ${status}`, async () => {
    const response = await postModern(gateway, "tools/call", { name: "t", ...params }, headers);
    assert.equal(response.status, status);
    assert.equal((await readJson<Partial<RpcAnswer>>(response)).error?.code, code);
  });
}

test("modern requests need metadata, a known version and a method that exists", async () => {
  const headers = { ...legacyHeaders, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
  const send = async (params: object, method = "tools/list", version = "2026-07-28") => {
    const sent = { ...headers, "mcp-protocol-version": version };
    const request = { method: "POST", headers: sent, body: rpc(method, params) };
    const response = await gateway.fetch("/m/everything/mcp", request);
    const { error } = await readJson<Partial<RpcAnswer>>(response);
    return [response.status, error?.code, error?.data?.supported];
  };
  assert.deepEqual(await send({}), [400, -32602, undefined]);
  const future = { ...modernMeta, "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
  assert.deepEqual(await send({ _meta: future }), [400, -32020, undefined]);
  assert.deepEqual(await send({ _meta: future }, "tools/list", "2099-01-01"), [400, -32022, ["2026-07-28"]]);
  assert.deepEqual(await send({ _meta: modernMeta }, "initialize"), [404, -32601, undefined]);
  assert.deepEqual(await send({ _meta: modernMeta }), [200, undefined, undefined]);
  script = ({ id }) => json({ jsonrpc: "2.0", id, result: { supportedVersions: ["2030-01-01", "2026-07-28"] } });
  const discovered = await readJson<RpcAnswer>(await postModern(gateway, "server/discover"));
  script = echo;
  assert.deepEqual(discovered.result.supportedVersions, ["2026-07-28"]);
});

test("mirrored headers are written anew, argument headers go on", async () => {
  await postModern(
    gateway,
    "tools/call",
    { name: "é" },
    { "mcp-name": "=?base64?w6k=?=", "mcp-param-region": "eu", "mcp-session-id": "x" },
  );
  const sent = last().headers;
  assert.equal(sent["mcp-name"], "=?base64?w6k=?=");
  assert.equal(sent["mcp-param-region"], "eu");
  assert.equal(sent["mcp-session-id"], undefined);
});

test("tools whose x-mcp-header is invalid are left out of modern lists, and narrowed lists are private", async () => {
  serve({ disabled: disabled({ tool: ["off"] }) });
  const property = (header: unknown) => ({
    type: "object",
    properties: { a: { type: "string", "x-mcp-header": header } },
  });
  script = ({ id }) =>
    json({
      jsonrpc: "2.0",
      id,
      result: {
        cacheScope: "public",
        tools: [
          { name: "good", inputSchema: property("Region") },
          { name: "bad", inputSchema: property("no token") },
          { name: "deep", inputSchema: { anyOf: [property("X")] } },
          { name: "off" },
        ],
      },
    });
  const { result } = await readJson<RpcAnswer>(await postModern(gateway, "tools/list"));
  script = echo;
  serve();
  assert.deepEqual(
    (result.tools as { name: string }[]).map(({ name }) => name),
    ["good"],
  );
  assert.equal(result.cacheScope, "private");
});

test("every outcome leaves one log row with the server, the method and the name", async () => {
  for (const [trace, send, wanted] of [
    [
      "mcp-ok",
      () => callLegacy("tools/call", { name: "t" }, { "x-gateway-trace-id": "mcp-ok" }),
      { name: "t", era: "legacy" },
    ],
    [
      "mcp-off",
      async () => {
        serve({ disabled: disabled({ tool: ["t"] }) });
        await callLegacy("tools/call", { name: "t" }, { "x-gateway-trace-id": "mcp-off" });
        serve();
      },
      { name: "t", rpc_code: -32602 },
    ],
  ] as const) {
    await send();
    const row = (await waitForLog(gateway, trace)) as unknown as {
      operation: string;
      mcp: object;
      provider: null;
      cost: number;
    };
    assert.equal(row.operation, "mcp");
    assert.deepEqual([row.provider, row.cost], [null, 0]);
    const { mcp } = row;
    assert.deepEqual({ ...mcp, ...wanted, server: "everything", method: "tools/call" }, mcp);
  }
  await postLegacy(gateway, rpc("tools/list"), { "x-gateway-trace-id": "mcp-404" }, "/m/none/mcp");
  assert.equal((await waitForLog(gateway, "mcp-404")).status, 404);
});

test("parallel calls of two callers with equal ids do not mix", async () => {
  script = ({ id, params }) => json({ jsonrpc: "2.0", id, result: { name: params?.name } });
  const names = Array.from({ length: 40 }, (_, index) => `tool-${index}`);
  const answers = await Promise.all(names.map((name) => callLegacy("tools/call", { name })));
  script = echo;
  assert.deepEqual(
    answers.map(({ body }) => [body.id, body.result.name]),
    names.map((name) => [1, name]),
  );
});

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { Endpoint } from "../../src/endpoint.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { call, done, refusal } from "../support/control.ts";
import {
  createPrompt,
  messages,
  nameOf,
  ownRows as own,
  pathOf,
  providerRows as rows,
  toRequest,
  withFormBytes,
} from "../support/endpoint-requests.ts";
import {
  adminKey,
  createTestGateway,
  type HeaderChanges,
  requestHeaders,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";
import { createTokenKey, signToken } from "../support/tokens.ts";
import { handshakeHeaders } from "../support/websocket-upstream.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const transport: Transport = {
  send: (url, init) => wire.transport.send(url, init),
  openSocket(url) {
    wire.url = url;
    throw new TypeError("nobody is here");
  },
};
let gateway: TestGateway;
let workspaceId = "";
let promptSlug = "";
const guards = { token: "", text: "", output: "" };
const as = { key: workspaceKey };

/** Creates a guardrail that denies; returns its slug. */
async function save(name: string, id: string, parameters: object, actions: object = {}): Promise<string> {
  const body = { name, checks: [{ id, parameters }], actions: { deny: true, ...actions } };
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /guardrails", { ...as, body }));
  return slug;
}

before(async () => {
  gateway = await createTestGateway({ transport });
  const workspaces = call<{ data: { id: string }[] }>(gateway, "GET /admin/workspaces", { key: adminKey });
  workspaceId = (await done(workspaces)).data[0]?.id ?? "";
  const { jwk } = await createTokenKey("rows");
  guards.token = await save("token", "default.jwt", { jwks: { keys: [jwk] } });
  guards.text = await save("text", "default.contains", { words: ["words nobody says"], operator: "any" });
  guards.output = await save("output", "default.contains", { words: ["words nobody says"], operator: "any" });
  promptSlug = await createPrompt(gateway);
});
after(() => gateway.close());
const setDefaults = (defaults: object) =>
  done(
    call(gateway, `PUT /admin/workspaces/${workspaceId}`, {
      key: adminKey,
      body: { defaults: { input_guardrails: [], output_guardrails: [], ...defaults } },
    }),
  );
beforeEach(() => setDefaults({}));

/** Calls an endpoint; returns whether a provider was called, and the response. */
async function ask(row: Endpoint, changes: HeaderChanges = {}, path = pathOf(row, promptSlug)) {
  wire.url = "";
  // the provider's response does not matter
  wire.answer = () => new Response("nobody is here", { status: 503 });
  const response =
    row.path === "/v1/realtime"
      ? await askSession()
      : await gateway.fetch(path, await withFormBytes(toRequest(row, changes)));
  const text = await response.text();
  return { status: response.status, text, headers: response.headers, isCalled: wire.url !== "" };
}

/** Requests a session, which the test does not accept. */
function askSession(query = "model=m"): Promise<Response> {
  const credentials = { "x-gateway-api-key": workspaceKey, authorization: "Bearer provider-key" };
  const headers = { ...handshakeHeaders, ...credentials, "x-gateway-provider": "openai" };
  const upgrade = (): Response => {
    throw new Error("the test takes no session");
  };
  return gateway.fetch(`/v1/realtime?${query}`, { headers }, { upgrade });
}

for (const row of rows) {
  const name = nameOf(row);
  test(`${name} makes no call where a default guardrail denies or cannot inspect it`, async () => {
    const open = await ask(row);
    assert.equal(open.isCalled, !own.has(name), `${open.status} ${open.text}`);
    if (!open.isCalled) return;
    for (const [kind, slug] of [
      ["token", guards.token],
      ["text", guards.text],
    ]) {
      await setDefaults({ input_guardrails: [slug] });
      const closed = await ask(row);
      // the text of a session is checked event by event
      if (row.path === "/v1/realtime" && kind === "text") {
        assert.ok(closed.isCalled, closed.text);
        continue;
      }
      assert.deepEqual([kind, closed.status, closed.isCalled], [kind, 446, false], closed.text);
      assert.ok(closed.text.includes(slug ?? ""), "the answer names the guardrail");
      assert.ok(closed.headers.get("x-gateway-provider"), "the answer names the provider");
    }
  });
}

/** Endpoints whose responses output guardrails check, or that hold no text. */
const seenAnswers = new Set([
  "chat",
  "complete",
  "messages",
  "responses",
  "generateContent",
  "completePrompt",
  "embed",
  "embedContent",
  "batchEmbedContents",
  "countTokens",
  "countContents",
  "rerank",
  "moderate",
  "decide",
  "models",
  "generateImage",
  "editImage",
  "speak",
  "ocr",
  "search",
  "transcribe",
  "translate",
]);

/** Routes whose requests are forwarded here, as others of their operation are not. */
const forwarded = new Set(["/v1/complete", "/v1/model/info"]);

test("a denying default output guardrail closes exactly the endpoints whose responses it cannot inspect", async () => {
  await setDefaults({ output_guardrails: [guards.output] });
  for (const row of rows.filter((one) => !own.has(nameOf(one)))) {
    const { isCalled, status, text } = await ask(row);
    const isSeen = "operation" in row && seenAnswers.has(row.operation ?? "") && !forwarded.has(row.path);
    assert.equal(isCalled, isSeen, `${nameOf(row)}: ${status} ${text}`);
    if (!isCalled) assert.equal(status, 446, nameOf(row));
  }
});

test("a default guardrail that allows uninspected requests closes nothing, and denies what it inspects", async () => {
  const parameters = { words: ["words nobody says"], operator: "any" };
  const open = await save("open", "default.contains", parameters, { uninspected: "allow" });
  await setDefaults({ input_guardrails: [open], output_guardrails: [open] });
  const seen = [];
  for (const row of rows.filter((one) => !own.has(nameOf(one)))) {
    if (!(await ask(row)).isCalled) seen.push("operation" in row && row.operation);
  }
  assert.ok(seen.includes("chat") && seen.includes("speak") && seen.includes("transcribe"), String(seen));
  assert.ok(!seen.includes("proxy") && !seen.includes("uploadFile") && !seen.includes("realtime"), String(seen));
});

const records = rows.filter((row) => "record" in row && row.record !== undefined);
for (const [provider, headers] of [
  ["anthropic", {}],
  ["cohere", {}],
  ["bedrock", { "x-gateway-aws-region": "eu-west-1", "x-gateway-aws-s3-bucket": "bucket-1" }],
  [
    "vertex-ai",
    {
      "x-gateway-vertex-project-id": "p",
      "x-gateway-vertex-region": "r",
      "x-gateway-vertex-storage-bucket-name": "bucket-1",
    },
  ],
] as const) {
  test(`no record of ${provider} is reached past a default guardrail`, async () => {
    for (const slug of [guards.token, guards.text]) {
      await setDefaults({ input_guardrails: [slug] });
      for (const row of records) {
        const { status, isCalled, text } = await ask(row, { "x-gateway-provider": provider, ...headers });
        assert.deepEqual([status, isCalled], [446, false], `${nameOf(row)} ${text}`);
      }
    }
  });
}

test("a form that would be streamed is read when guardrails check it", async () => {
  const row = rows.find(({ path }) => path === "/v1/audio/transcriptions") ?? assert.fail();
  const none = await save(
    "none",
    "default.contains",
    { words: ["secret"], operator: "none" },
    { uninspected: "allow" },
  );
  await setDefaults({ input_guardrails: [none] });
  for (const [prompt, status] of [
    ["plain", 503],
    ["the secret", 446],
  ] as const) {
    const fields = Object.entries({ model: "m", prompt }).map(
      ([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    );
    const file = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n';
    const body = `${fields.join("")}${file}${"a".repeat(600_000)}\r\n--b--\r\n`;
    const headers = requestHeaders({
      "x-gateway-provider": "openai",
      authorization: "Bearer provider-key",
      "content-type": "multipart/form-data; boundary=b",
      "content-length": String(body.length),
    });
    wire.answer = () => new Response("nobody is here", { status: 503 });
    const response = await gateway.fetch(row.path, { method: "POST", headers, body });
    assert.equal(response.status, status, await response.text());
  }
});

test("model rules check forwarded requests and sessions", async () => {
  const models = await save("models", "default.modelwhitelist", { models: ["good"] });
  await setDefaults({ input_guardrails: [models] });
  const pass = async (body: string, headers: HeaderChanges = {}) => {
    const sent = requestHeaders({
      "x-gateway-provider": "openai",
      authorization: "Bearer provider-key",
      "content-length": String(body.length),
      ...headers,
    });
    return (await gateway.fetch("/v1/anything", { method: "POST", headers: sent, body })).status;
  };
  wire.answer = () => new Response("{}");
  assert.equal(await pass('{"model": "good"}'), 200);
  assert.equal(await pass('{"model": "bad"}'), 446);
  assert.equal(await pass('{"model": "bad", "model": "good"}'), 446);
  assert.equal(await pass('{"model": "good"}', { "content-encoding": "gzip" }), 446);
  assert.equal(await pass("{}"), 446);
  assert.equal(await pass(""), 446);
  const passTo = async (path: string, body: string, headers: HeaderChanges = {}) => {
    const sent = requestHeaders({
      "x-gateway-provider": "openai",
      authorization: "Bearer provider-key",
      "content-length": String(body.length),
      ...headers,
    });
    return (await gateway.fetch(path, { method: "POST", headers: sent, body })).status;
  };
  assert.equal(await passTo("/v1/proxy/v1beta/models/good:generateContent", '{"model": "good"}'), 200);
  assert.equal(await passTo("/v1/proxy/v1beta/models/good:generateContent", "{}"), 200);
  assert.equal(await passTo("/v1/proxy/v1beta/models/bad:generateContent", '{"model": "good"}'), 446);
  assert.equal(await passTo("/v1/proxy/v1beta/models%2Fbad:generateContent", '{"model": "good"}'), 446);
  assert.equal(await passTo("/v1/proxy/openai/deployments/bad/chat/completions", '{"model": "good"}'), 446);
  assert.equal(await passTo("/v1/anything?model=bad", '{"model": "good"}'), 446);
  assert.equal(await passTo("/v1/realtime/client_secrets", '{"model": "good", "session": {"model": "bad"}}'), 446);
  assert.equal(await passTo("/v1/anything", '{"model": "good"}', { "x-amzn-sagemaker-target-model": "bad" }), 446);
  for (const more of [{ MODEL: "bad" }, { fallbacks: [{ model: "bad" }] }]) {
    const body = JSON.stringify({ model: "good", messages, ...more });
    assert.equal(await passTo("/v1/chat/completions", body), 446, body);
  }
  const schema = { type: "object", properties: { model: { type: "string" } } };
  const tools = [{ type: "function", function: { name: "f", parameters: schema } }];
  const called: unknown[] = [];
  wire.answer = () => {
    called.push(JSON.parse(String(wire.init?.body)).model);
    return new Response("nobody is here", { status: 503 });
  };
  // each model of the fallback is checked before it is called
  assert.equal(await passTo("/v1/chat/completions", JSON.stringify({ model: "good", models: ["bad"], messages })), 446);
  assert.deepEqual(called, ["good"]);
  assert.equal(await passTo("/v1/chat/completions", JSON.stringify({ model: "good", messages, tools })), 503);
  wire.answer = () => new Response("{}");
  assert.equal((await askSession("model=good&deployment=bad")).status, 446);
  assert.equal((await askSession("model=bad")).status, 446);
  assert.notEqual((await askSession("model=good&intent=transcription")).status, 446);
  const plain = requestHeaders({ "x-gateway-provider": "openai", "content-type": null });
  assert.equal((await gateway.fetch("/v1/anything", { headers: plain })).status, 200);
  assert.equal((await gateway.fetch("/v1/anything?model=bad", { headers: plain })).status, 446);
});

test("token claims become headers of forwarded requests, and clients cannot send those headers", async () => {
  const key = await createTokenKey("rows");
  const claims = await save("claims", "default.jwt", {
    jwks: { keys: [key.jwk] },
    headerKey: "x-token",
    extractClaims: ["sub", "team"],
  });
  await setDefaults({ input_guardrails: [claims] });
  const token = await signToken(key, Date.now());
  const headers = requestHeaders({
    "x-gateway-provider": "openai",
    authorization: "Bearer provider-key",
    "content-type": null,
    "x-token": token,
    "x-jwt-team": "forged",
    x_jwt_team: "forged",
    "x-jwt_sub": "forged",
  });
  wire.answer = () => new Response("{}");
  assert.equal((await gateway.fetch("/v1/anything", { headers })).status, 200);
  assert.ok(wire.init?.headers["x-jwt-sub"], "the claim went up");
  const names = Object.keys(wire.init?.headers ?? {}).filter((name) => /jwt/.test(name));
  assert.deepEqual(names, ["x-jwt-sub"]);
});

test("request types have separate names, and those of forwarded requests also count as proxy", async () => {
  for (const [types, allowed, refused] of [
    [
      { allowedTypes: ["chatComplete"] },
      ["POST /v1/chat/completions"],
      ["POST /v1/audio/speech", "GET /v1/files", "GET /v1/realtime"],
    ],
    [{ allowedTypes: ["createSpeech", "listFiles"] }, ["POST /v1/audio/speech", "GET /v1/files"], ["GET /v1/batches"]],
    [
      { blockedTypes: ["proxy"] },
      ["POST /v1/images/generations"],
      ["GET /v1/files", "GET /v1/responses/:id", "GET /v1/assistants"],
    ],
    [{ allowedTypes: ["getModelResponse"] }, ["GET /v1/responses/:id"], ["DELETE /v1/responses/:id"]],
  ] as const) {
    await setDefaults({ input_guardrails: [await save("types", "default.allowedRequestTypes", types)] });
    for (const row of rows) {
      const isAllowed = allowed.some((name) => name === nameOf(row));
      if (!isAllowed && !refused.some((name) => name === nameOf(row))) continue;
      assert.equal((await ask(row)).isCalled, isAllowed, `${JSON.stringify(types)} ${nameOf(row)}`);
    }
  }
});

test("a denied request type is denied where it is forwarded too, and allowing it does not allow it there", async () => {
  const send = async (path: string, changes: HeaderChanges = {}) => {
    wire.url = "";
    wire.answer = () => new Response("nobody is here", { status: 503 });
    const headers = requestHeaders({
      "x-gateway-provider": "openai",
      authorization: "Bearer provider-key",
      ...changes,
    });
    const body = JSON.stringify({ model: "m", messages });
    headers.set("content-length", String(body.length));
    const response = await gateway.fetch(path, { method: "POST", headers, body });
    await response.text();
    return [response.status, wire.url !== ""];
  };
  const raw = { "x-gateway-provider": "passthrough", "x-gateway-custom-host": "http://127.0.0.1:8123/v1" };
  const ways = [
    ["/v1/proxy/v1/chat/completions"],
    ["/v1/proxy/chat/completions"],
    ["/v1/proxy/openai/v1/Chat//completions"],
    ["/v1/chat/completions", raw],
  ] as const;
  for (const [types, isCalled] of [
    [{ blockedTypes: ["chatComplete"] }, false],
    [{ allowedTypes: ["chatComplete"] }, false],
    [{ allowedTypes: ["proxy"] }, true],
    [{ blockedTypes: ["embed"] }, true],
  ] as const) {
    await setDefaults({ input_guardrails: [await save("types", "default.allowedRequestTypes", types)] });
    for (const [path, changes] of ways) {
      assert.deepEqual(await send(path, changes), [isCalled ? 503 : 446, isCalled], `${JSON.stringify(types)} ${path}`);
    }
  }
});

test("saving a guardrail refuses an unknown request type", async () => {
  const checks = [{ id: "default.allowedRequestTypes", parameters: { allowedTypes: ["chat"] } }];
  const saved = call(gateway, "POST /guardrails", { ...as, body: { name: "x", checks } });
  assert.equal(await refusal(saved), "400 AB01");
});

test("a guardrail of a config lets forwarded requests pass that it cannot inspect", async () => {
  const config = { input_guardrails: [{ "default.contains": { words: ["x"], operator: "any" }, deny: true }] };
  const headers = requestHeaders({
    "x-gateway-provider": "openai",
    "x-gateway-config": JSON.stringify(config),
    "content-type": null,
  });
  wire.answer = () => new Response("{}");
  assert.equal((await gateway.fetch("/v1/anything", { headers })).status, 200);
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import type { LogDetail } from "../../src/schemas/logs.ts";
import {
  adminKey,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  insertKey,
  insertTenant,
  readJson,
  requestHeaders,
  type ShownLog,
  type TestGateway,
  upstreamHeaders,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { startServer, type Upstream } from "../support/upstream.ts";

type Row = ShownLog & { replay_of?: string };

interface Answer {
  object: string;
  original: Row;
  replay: Row;
  answers: { original: unknown; replay: unknown };
  error?: { code: string; param: string | null; message: string };
}

const foreignKey = mintApiKey("gk").key;
const readOnlyKey = mintApiKey("gk").key;
let gateway: TestGateway;
let upstream: Upstream;
/** What the upstream was sent last, and what it responds. */
let sent = "";
let answer: object = {};
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  const database = await gateway.openFile();
  await insertTenant(database, foreignKey);
  await insertKey(database, readOnlyKey, { scopes: '["logs.view","logs.read"]' });
  upstream = await startServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      sent = Buffer.concat(pieces).toString();
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    });
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

let traces = 0;

/** Sends a request and returns its row. */
async function log(path: string, body: unknown, headers: HeaderChanges = {}): Promise<ShownLog> {
  const trace = `original-${++traces}`;
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: requestHeaders({ "x-gateway-trace-id": trace, ...headers }),
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  await response.text();
  return waitForLog(gateway, trace);
}

async function replay(id: string, body: object = {}, changes: HeaderChanges = {}) {
  const response = await gateway.fetch(`/v1/logs/${id}/replay`, {
    method: "POST",
    headers: requestHeaders({ "x-gateway-provider": null, ...changes }),
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await readJson<Answer>(response) };
}

test("POST /v1/logs/{id}/replay sends the request again, and a new row names the original", async () => {
  const original = await log("/v1/chat/completions", helloBody, {
    "x-gateway-metadata": '{"team":"red"}',
    "x-gateway-echo-chunks": "2",
  });
  const { status, body } = await replay(original.id, {}, { "x-gateway-trace-id": "again" });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.object, "replay");
  assert.equal(body.original.id, original.id);
  assert.notEqual(body.replay.id, original.id);
  assert.deepEqual(
    [body.replay.replay_of, body.replay.status, body.replay.operation, body.replay.provider, body.replay.trace_id],
    [original.id, 200, "chat", "echo", "again"],
  );
  assert.deepEqual(body.replay.metadata, { team: "red" });
  assert.deepEqual(body.answers.original, original.response.body);
  assert.match(JSON.stringify(body.answers.replay), /"content":"Hello there"/);
  const stored = await waitForLog(gateway, "again");
  const { request, response, _id, metrics, log_format, ...row } = stored as LogDetail; // not only its guardrail results
  assert.deepEqual(row, body.replay);
  assert.deepEqual([_id, metrics.trace_id, log_format], [row.id, "again", "v1"]);
  assert.deepEqual(request.body, helloBody);
  assert.deepEqual(response.body, body.answers.replay);
  // a replay can be replayed
  const second = await replay(stored.id);
  assert.equal(second.body.replay.replay_of, stored.id);
});

test("a stream is replayed as a stream, and shown as the response it adds up to", async () => {
  const original = await log("/v1/chat/completions", { ...helloBody, stream: true });
  const { body } = await replay(original.id);
  assert.deepEqual([body.replay.status, body.replay.stream], [200, true]);
  const text = (shown: unknown) => JSON.stringify(Reflect.get(Object(shown), "choices"));
  assert.equal(text(body.answers.replay), text(body.answers.original));
});

for (const [path, body, headers] of [
  ["/v1/completions", { model: "echo-1", prompt: "a" }, {}],
  ["/v1/embeddings", { model: "echo-1", input: "a" }, {}],
  ["/v1/messages", { model: "echo-1", max_tokens: 5, messages: helloBody.messages }, {}],
  ["/v1/messages", { model: "echo-1", max_tokens: 5, messages: helloBody.messages, stream: true }, {}],
  ["/v1/responses", { model: "echo-1", input: "Hello" }, {}],
  ["/v1/responses", { model: "echo-1", input: "Hello", stream: true }, {}],
  ["/v1beta/models/echo-1:generateContent", { contents: [{ parts: [{ text: "Hello" }] }] }, {}],
  ["/v1beta/models/echo-1:streamGenerateContent?alt=sse", { contents: [{ parts: [{ text: "Hello" }] }] }, {}],
  ["/v1/openai/deployments/echo-1/chat/completions", helloBody, {}],
] as const) {
  test(`a request to ${path} is replayed${"stream" in body ? " as a stream" : ""}`, async () => {
    const original = await log(path, body, headers);
    assert.equal(original.status, 200, JSON.stringify(original.response));
    const { status, body: shown } = await replay(original.id);
    assert.equal(status, 200, JSON.stringify(shown));
    assert.deepEqual([shown.replay.status, shown.replay.operation], [200, original.operation]);
    assert.equal(typeof shown.answers.replay, "object");
    const isStored = original.operation !== "embed"; // responses with embeddings are not
    const members = Object.keys(Object(shown.answers.replay));
    assert.deepEqual(Object.keys(Object(shown.answers.original)), isStored ? members : []);
  });
}

test("a failed request is replayed, and the failure shown", async () => {
  const original = await log("/v1/chat/completions", helloBody, { "x-gateway-echo-status": "429" });
  const { status, body } = await replay(original.id);
  assert.deepEqual([status, body.original.status, body.replay.status], [200, 429, 429]);
  assert.ok(body.replay.error);
  assert.ok(Reflect.get(Object(body.answers.replay), "error"));
});

test("the config of a replay routes it, and the body stays as it was sent", async () => {
  answer = {
    id: "c-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 },
  };
  const text = `{"model":"m","messages":[{"role":"user","content":"né"}],"note":12345678901234567890}`;
  const original = await log("/v1/chat/completions", text, upstreamHeaders(upstream));
  assert.equal(original.status, 200);
  const refused = await replay(original.id);
  assert.deepEqual(
    [refused.status, refused.body.error?.code, refused.body.error?.param],
    [400, "credential_not_stored", "config"],
  );
  const config = {
    provider: "openai",
    api_key: "sk-replay-000000000",
    custom_host: `${upstream.url}/v1`,
    override_params: { user: "ü" },
  };
  sent = "";
  const { status, body } = await replay(original.id, { config });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.replay.status, body.replay.provider], [200, "openai"]);
  assert.match(sent, /"note":12345678901234567890/);
  assert.deepEqual([JSON.parse(sent).messages[0].content, JSON.parse(sent).user], ["né", "ü"]);
  const elsewhere = await replay(original.id, { config: { provider: "echo" } });
  assert.deepEqual([elsewhere.body.replay.status, elsewhere.body.replay.provider], [200, "echo"]);
});

test("a saved config is named by its slug", async () => {
  const made = await gateway.fetch("/v1/configs", {
    method: "POST",
    headers: requestHeaders({ "x-gateway-api-key": adminKey }),
    body: JSON.stringify({ name: "Echo", config: { provider: "echo" }, workspace_id: "default" }),
  });
  const { data } = await readJson<{ data: { slug: string } }>(made);
  const original = await log("/v1/chat/completions", helloBody, upstreamHeaders(upstream));
  const { body } = await replay(original.id, { config: data.slug });
  assert.deepEqual(
    [body.replay.status, body.replay.provider, Reflect.get(body.replay, "config")],
    [200, "echo", data.slug],
  );
  const routed = await log("/v1/chat/completions", helloBody, {
    "x-gateway-config": data.slug,
    "x-gateway-provider": null,
  });
  const again = await replay(routed.id);
  assert.equal(again.body.replay?.status, 200, JSON.stringify(again.body));
});

test("a request of the console is replayed without the token of its session", async () => {
  const original = await log("/v1/chat/completions", helloBody, { "x-gateway-csrf": "token-of-a-session" });
  const { body } = await replay(original.id);
  assert.equal(body.replay?.status, 200, JSON.stringify(body));
});

for (const [what, body, headers, code] of [
  ["whose body was not stored", helloBody, { "x-gateway-debug": "false" }, "log_not_replayable"],
  ["whose body is cut", { ...helloBody, user: "x".repeat(1_100_000) }, {}, "log_not_replayable"],
  ["with a credential in its body", { ...helloBody, api_key: "a-secret-of-mine" }, {}, "log_not_replayable"],
  ["with an inline config", helloBody, { "x-gateway-config": '{"provider":"echo"}' }, "header_not_stored"],
  [
    "with a hidden header",
    helloBody,
    { "x-gateway-sensitive-headers": "x-gateway-user-note", "x-gateway-user-note": "n" },
    "header_not_stored",
  ],
] as const) {
  test(`a request ${what} is not replayed`, async () => {
    const original = await log("/v1/chat/completions", body, headers);
    assert.equal(original.status, 200);
    const refused = await replay(original.id);
    assert.deepEqual([refused.status, refused.body.error?.code], [400, code], refused.body.error?.message);
  });
}

test("requests without a JSON body are not replayed, with the reason", async () => {
  const form = new FormData();
  form.set("file", new Blob(["bytes"]), "file.mp3");
  form.set("model", "m");
  await (
    await gateway.fetch("/v1/audio/transcriptions", {
      method: "POST",
      headers: requestHeaders({ "content-type": null, "x-gateway-trace-id": "form" }),
      body: form,
    })
  ).text();
  const read = await gateway.fetch("/v1/models", { headers: requestHeaders({ "x-gateway-trace-id": "models" }) });
  await read.text();
  for (const trace of ["form", "models"]) {
    const { id } = await waitForLog(gateway, trace);
    const refused = await replay(id);
    assert.deepEqual([refused.status, refused.body.error?.code], [400, "log_not_replayable"]);
    assert.match(refused.body.error?.message ?? "", /only requests with a JSON body/);
  }
});

test("N3: rows of other tenants and unknown ones are not found; keys need the scope of completions", async () => {
  const original = await log("/v1/chat/completions", helloBody);
  for (const [key, id, status] of [
    [foreignKey, original.id, 404],
    [workspaceKey, "01ARZ3NDEKTSV4RRFFQ69G5FAV", 404],
    [workspaceKey, "nonsense", 404],
    [readOnlyKey, original.id, 403],
    [adminKey, original.id, 403],
  ] as const) {
    assert.equal((await replay(id, {}, { "x-gateway-api-key": key })).status, status);
  }
});

for (const [body, param] of [
  [{ config: 1 }, "config"],
  [{ config: "" }, "config"],
  [{ unknown: 1 }, "unknown"],
] as const) {
  test(`a replay with ${JSON.stringify(body)} is refused`, async () => {
    const original = await log("/v1/chat/completions", helloBody);
    const refused = await replay(original.id, body);
    assert.deepEqual([refused.status, refused.body.error?.param], [400, param]);
  });
}

test("limits count replays", async () => {
  const made = await gateway.fetch("/v1/policies/rate-limits", {
    method: "POST",
    headers: requestHeaders({ "x-gateway-api-key": adminKey }),
    body: JSON.stringify({
      workspace_id: "default",
      type: "requests",
      unit: "rpd",
      value: 1,
      conditions: [{ key: "metadata.limited", value: "yes" }],
      group_by: [{ key: "metadata.limited" }],
    }),
  });
  assert.equal(made.status, 200);
  const limited = await log("/v1/chat/completions", helloBody, { "x-gateway-metadata": '{"limited":"yes"}' });
  assert.equal(limited.status, 200);
  const refused = await replay(limited.id);
  assert.deepEqual([refused.status, refused.body.replay.status], [200, 429]);
});

test("inline configs stay blocked where only saved ones are allowed", async () => {
  const closed = await createTestGateway({ savedOnly: true });
  const headers = { "x-gateway-trace-id": "closed" };
  const init = { method: "POST", headers: requestHeaders(headers), body: JSON.stringify(helloBody) };
  await (await closed.fetch("/v1/chat/completions", init)).text();
  const { id } = await waitForLog(closed, "closed");
  const response = await closed.fetch(`/v1/logs/${id}/replay`, {
    method: "POST",
    headers: requestHeaders({ "x-gateway-provider": null }),
    body: JSON.stringify({ config: { provider: "echo" } }),
  });
  const { replay: row } = await readJson<Answer>(response);
  assert.deepEqual([row.status, row.error?.code], [400, "inline_config_blocked"]);
  await closed.close();
});

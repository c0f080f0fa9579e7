import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { call, done } from "../support/control.ts";
import {
  createTestGateway,
  type HeaderChanges,
  requestHeaders,
  type ShownLog,
  type TestGateway,
  upstreamHeaders,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

/** The model that the next responses name. */
let answeredModel = "neither";
/** Their usage. */
let usage: object | undefined;
let content = "Hi";
const chatUsage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

/** Answers to what is no chat, by method and path. */
const otherAnswers: Readonly<Record<string, object>> = {
  "POST /v1/audio/translations": { text: "Hi" },
  "GET /v1/files": { object: "list", data: [] },
  "GET /v1/models": { object: "list", data: [] },
  "DELETE /v1/files/file-1": { id: "file-1", object: "file", deleted: true },
  "POST /v1/batches/batch-1/cancel": { id: "batch-1", object: "batch", status: "cancelling", created_at: 1 },
};

let upstream: RecordingUpstream;
let gateway: TestGateway;
let organisation: string;
before(async () => {
  upstream = await startRecordingUpstream(({ method, path }, response) => {
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    response.writeHead(200, { "content-type": "application/json" });
    const chatAnswer = { object: "chat.completion", model: answeredModel, choices, usage };
    const { [`${method} ${path}`]: other = chatAnswer } = otherAnswers;
    response.end(JSON.stringify(other));
  });
  gateway = await createTestGateway();
  const { data } = await done(call<{ data: { id: string } }>(gateway, "GET /organisations/self"));
  organisation = data.id;
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
afterEach(() => set({ unpriced_models: null, fallback_price: null }));

const set = (settings: object) => done(call(gateway, `PUT /organisations/${organisation}`, { body: settings }));
const fallback = { unpriced_models: "fallback", fallback_price: { input: 1.5, output: 0.25 } };

interface Sent {
  path?: string;
  method?: string;
  body?: object | string | FormData | undefined;
  headers?: HeaderChanges;
}

const messages = [{ role: "user", content: "Hello" }];

/** Sends a request to the upstream; its answer, its log row, and how many calls the upstream got. */
async function send({ path = "/v1/chat/completions", method = "POST", body, headers = {} }: Sent = {}) {
  usage = chatUsage;
  const before = upstream.requests.length;
  const sent = requestHeaders({ ...upstreamHeaders(upstream), ...headers });
  if (body instanceof FormData) sent.delete("content-type");
  const isRaw = typeof body === "string" || body instanceof FormData;
  const content = body === undefined || isRaw ? body : JSON.stringify(body);
  if (typeof content === "string") sent.set("content-length", String(content.length));
  const init = { method, headers: sent, ...(content !== undefined && { body: content }) };
  const response = await gateway.fetch(path, init);
  const text = await response.text();
  const { error } = JSON.parse(text === "" ? "{}" : text) as { error?: { code: string; message: string } };
  const row = await waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "");
  return { status: response.status, error, row, calls: upstream.requests.length - before };
}

const chat = (model: string, headers: HeaderChanges = {}) => send({ body: { model, messages }, headers });
const priceOf = ({ cost, priced, price_source: source }: ShownLog) => [cost, priced, source];

test("a row says whether it has a price, and where that comes from", async () => {
  answeredModel = "neither";
  assert.deepEqual(priceOf((await chat("gpt-4o")).row), [(100 * 2_500 + 10 * 10_000) / 1e7, true, "list"]);
  const { row } = await chat("in-house-1");
  assert.deepEqual(priceOf(row), [null, false, undefined]);
  assert.equal(row.answered_model, "neither");
  answeredModel = "gpt-4o-2024-08-06";
  const { row: deployed } = await chat("my-deployment");
  assert.deepEqual([deployed.answered_model, deployed.priced, deployed.cost], ["gpt-4o-2024-08-06", true, 0.035]);
  assert.equal((await chat("gpt-4o")).row.answered_model, undefined);
});

test("a row of which nothing was used is priced, and costs nothing", async (context) => {
  usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  content = "";
  context.after(() => {
    content = "Hi";
  });
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: requestHeaders(upstreamHeaders(upstream)),
    body: JSON.stringify({ model: "in-house-1", messages }),
  });
  assert.equal(response.status, 200);
  await response.text();
  const row = await waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "");
  assert.deepEqual([row.usage?.total_tokens, ...priceOf(row)], [0, 0, true, undefined]);
});

test("block refuses a model without a price before its provider is called, from the next request on", async () => {
  answeredModel = "gpt-4o";
  assert.equal((await chat("in-house-1")).calls, 1);
  await set({ unpriced_models: "block" });
  const { status, error, calls, row } = await chat("in-house-1");
  assert.deepEqual([status, error?.code, calls], [412, "unpriced_model", 0]);
  assert.match(error?.message ?? "", /in-house-1 of openai has none/);
  assert.deepEqual([...priceOf(row), row.upstream_calls], [0, true, undefined, 0]);
  assert.deepEqual([(await chat("gpt-4o")).status, (await chat("ft:gpt-4o:org::1")).status], [200, 200]);
  await set({ unpriced_models: "allow" });
  assert.equal((await chat("in-house-1")).calls, 1);
});

test("block skips a target without a price like a failed one, without a retry", async () => {
  await set({ unpriced_models: "block" });
  const target = (model: string) => ({
    provider: "openai",
    api_key: "sk-obviously-fake",
    custom_host: `${upstream.url}/v1`,
    override_params: { model },
  });
  const run = (...models: string[]) => {
    const config = { strategy: { mode: "fallback" }, retry: { attempts: 3 }, targets: models.map(target) };
    return chat("x", {
      "x-gateway-config": JSON.stringify(config),
      "x-gateway-provider": null,
      "x-gateway-custom-host": null,
    });
  };
  const { status, calls, row } = await run("in-house-1", "gpt-4o");
  assert.deepEqual([status, calls, row.model], [200, 1, "gpt-4o"]);
  assert.deepEqual(
    Object(row).attempts.map((one: { model: string; status: number; retries: number }) => [one.status, one.retries]),
    [
      [412, 0],
      [200, 0],
    ],
  );
  assert.deepEqual(
    [(await run("in-house-1", "in-house-2")).status, (await run("in-house-1")).error?.code],
    [412, "unpriced_model"],
  );
});

test("block lets own prices of an integration count, and refuses its other models", async () => {
  const body = {
    name: "own",
    slug: "own-prices",
    ai_provider_id: "openai",
    key: "fake-stored-credential-1234567890",
    configurations: { custom_host: `${upstream.url}/v1` },
    create_default_provider: true,
    default_provider_slug: "own",
  };
  const { id } = await done(call<{ id: string }>(gateway, "POST /integrations", { key: workspaceKey, body }));
  const models = [
    {
      slug: "in-house-1",
      enabled: true,
      is_custom: true,
      pricing_config: { type: "static", pay_as_you_go: { request_token: { price: 0.0001 } } },
    },
  ];
  await done(call(gateway, "PUT /integrations/own-prices/models", { key: workspaceKey, body: { models } }));
  await set({ unpriced_models: "block" });
  const to = (model: string) =>
    chat(model, { "x-gateway-provider": "@own", "x-gateway-custom-host": null, authorization: null });
  const { row } = await to("in-house-1");
  assert.deepEqual([...priceOf(row), row.integration_id], [0.01, true, "integration", id]);
  assert.deepEqual([(await to("in-house-2")).error?.code, (await to("gpt-4o")).status], ["unpriced_model", 200]);
});

const speech = "Cannot be read".repeat(20_000);
const form = (model: string): FormData => {
  const fields = new FormData();
  fields.set("file", new Blob([speech]), "a.mp3");
  fields.set("model", model);
  return fields;
};
const job = { training_file: "file-1" };

for (const [name, sent, wanted] of [
  ["an unread form of an unpriced model", { path: "/v1/audio/translations", body: form("in-house-1") }, 412],
  ["an unread form of a priced model", { path: "/v1/audio/translations", body: form("whisper-1") }, 200],
  ["a response of an unpriced model", { path: "/v1/responses", body: { model: "in-house-1", input: "Hi" } }, 412],
  ["an embedding of an unpriced model", { path: "/v1/embeddings", body: { model: "in-house-1", input: "Hi" } }, 412],
  ["a forwarded body of an unpriced model", { path: "/v1/proxy/v1/anything", body: { model: "in-house-1" } }, 412],
  ["a forwarded body of a priced model", { path: "/v1/proxy/v1/anything", body: { model: "gpt-4o" } }, 200],
  ["a forwarded body without a model", { path: "/v1/proxy/v1/anything", body: { a: 1 } }, 412],
  ["a forwarded body that is not read", { path: "/v1/proxy/v1/anything", body: speech }, 412],
  ["a tuning job of an unpriced model", { path: "/v1/fine_tuning/jobs", body: { ...job, model: "in-house-1" } }, 412],
  ["a list of files", { path: "/v1/files", method: "GET" }, 200],
  ["a list of models", { path: "/v1/models", method: "GET" }, 200],
  ["a record that is removed", { path: "/v1/files/file-1", method: "DELETE" }, 200],
  ["a batch that is cancelled", { path: "/v1/batches/batch-1/cancel" }, 200],
  [
    "the provider that costs nothing",
    { body: { model: "echo-9", messages }, headers: { "x-gateway-provider": "echo", "x-gateway-custom-host": null } },
    200,
  ],
] as const) {
  test(`block and ${name}: ${wanted}`, async () => {
    await set({ unpriced_models: "block" });
    const { status, error } = await send(sent);
    assert.deepEqual([status, error?.code], [wanted, wanted === 412 ? "unpriced_model" : undefined], error?.message);
  });
}

test("fallback counts models without a price at the organisation's price, and says so", async () => {
  await set(fallback);
  answeredModel = "neither";
  const { row } = await chat("in-house-1");
  assert.deepEqual(
    [...priceOf(row), row.answered_model],
    [(100 * 1_500 + 10 * 250) / 1e7, true, "fallback", "neither"],
  );
  answeredModel = "gpt-4o";
  assert.deepEqual(priceOf((await chat("my-deployment")).row), [0.035, true, "list"]);
  assert.deepEqual(priceOf((await chat("gpt-4o-mini")).row), [(100 * 150 + 10 * 600) / 1e7, true, "list"]);
  await set({ fallback_price: { input: 0, output: 0 } });
  answeredModel = "neither";
  assert.deepEqual(priceOf((await chat("in-house-1")).row), [0, true, "fallback"]);
});

test("fallback counts in budgets, also what is reserved", async () => {
  await set({ unpriced_models: "fallback", fallback_price: { input: 10_000, output: 10_000 } });
  answeredModel = "neither";
  const scopes = scopesOfKind("workspace-service");
  const limits = { usage_limits: { type: "cost", credit_limit: 3 } };
  const body = { name: "limited", workspace_id: "default", scopes, ...limits };
  const { key } = await done(call<{ key: string }>(gateway, "POST /api-keys/workspace/service", { body }));
  const usingKey = (text: string) =>
    gateway.fetch("/v1/chat/completions", {
      method: "POST",
      headers: requestHeaders({ ...upstreamHeaders(upstream), "x-gateway-api-key": key }),
      body: JSON.stringify({ model: "in-house-1", messages: [{ role: "user", content: text }] }),
    });
  usage = chatUsage;
  // a prompt of 1,000 tokens would cost 10 dollars
  assert.equal((await usingKey("x".repeat(3_000))).status, 412);
  // 110 tokens cost 1.1 dollars
  const statuses = [];
  for (let index = 0; index < 4; index++) statuses.push((await usingKey("Hi")).status);
  assert.deepEqual(statuses, [200, 200, 200, 412]);
});

test("an operator is warned once of each model without a price", async () => {
  answeredModel = "neither";
  const of = (model: string) => gateway.priceWarnings.filter((message) => message.includes(model));
  await chat("warned-1");
  await chat("warned-1");
  await chat("warned\n\u009b2");
  assert.deepEqual(of("warned-1"), [
    "Cannot price calls of openai warned-1: set a price in its integration, or unpriced_models of the organisation",
  ]);
  assert.equal(of("openai warned??2").length, 1);
  await set(fallback);
  await chat("warned-3");
  assert.deepEqual(of("warned-3"), []);
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type HeaderChanges, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
wire.answer = () => new Response("done", { headers: { "content-type": "text/plain" } });
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

before(async () => {
  const integration = {
    name: "stored",
    slug: "stored-i",
    ai_provider_id: "openai",
    key: "k",
    create_default_provider: false,
  };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body: integration }));
  const provider = { name: "stored", slug: "stored", integration_id: "stored-i" };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
});

const messages = [{ role: "user", content: "Hello" }];

/** Requests that lack only their model, by their path and a provider that has the operation. */
const requests: readonly (readonly [path: string, provider: string, body: Record<string, unknown>])[] = [
  ["/chat/completions", "openai", { messages }],
  ["/completions", "openai", { prompt: "Hello" }],
  ["/embeddings", "openai", { input: "Hello" }],
  ["/responses", "openai", { input: "Hello" }],
  ["/messages", "anthropic", { messages, max_tokens: 5 }],
  ["/messages/count_tokens", "anthropic", { messages }],
  ["/rerank", "cohere", { query: "q", documents: ["d"] }],
  ["/v2/rerank", "cohere", { query: "q", documents: ["d"] }],
  ["/moderations", "openai", { input: "Hello" }],
  ["/images/generations", "openai", { prompt: "A boat" }],
  ["/audio/speech", "openai", { input: "Hello", voice: "alloy" }],
  ["/ocr", "mistral-ai", { document: { type: "image_url", image_url: "https://example.com/a.png" } }],
  ["/decisions", "typesafe", { state: "x", questions: { a: { type: "noul", instructions: "Is it?" } } }],
];

async function send(path: string, body: unknown, headers: HeaderChanges = {}) {
  wire.url = "";
  const init = { method: "POST", headers: requestHeaders(headers), body: JSON.stringify(body) };
  const response = await gateway.fetch(`/v1${path}`, init);
  const text = await response.text();
  const sent: { model?: string } = wire.url === "" ? {} : JSON.parse(String(wire.init?.body));
  return { status: response.status, text, model: sent.model, sent };
}

for (const [path, provider, body] of requests) {
  for (const member of ["default_params", "override_params"]) {
    test(`${path} takes its model from ${member} of a config`, async () => {
      const config = { provider, api_key: "k", [member]: { model: "given" } };
      const { model, text } = await send(path, body, { "x-gateway-config": JSON.stringify(config) });
      assert.equal(model, "given", text);
    });
  }
  if (path === "/moderations" || path === "/images/generations") continue;
  test(`${path} without a model is refused`, async () => {
    for (const headers of [
      { "x-gateway-provider": provider },
      { "x-gateway-config": JSON.stringify({ provider, api_key: "k" }) },
      { "x-gateway-config": JSON.stringify({ provider, api_key: "k", default_params: { temperature: 1 } }) },
    ]) {
      const { status, text } = await send(path, body, headers);
      const { error } = JSON.parse(text);
      assert.deepEqual([status, error.param, error.message], [400, "model", "Invalid request body: model: required"]);
      assert.equal(wire.url, "");
    }
  });
}

test("a config adds other missing fields, and fields of the body are checked", async () => {
  const given = { model: "given", max_tokens: 7 };
  const config = JSON.stringify({ provider: "anthropic", api_key: "k", override_params: given });
  const { sent, text } = await send("/messages", { messages }, { "x-gateway-config": config });
  assert.deepEqual([sent.model, Reflect.get(sent, "max_tokens")], ["given", 7], text);
  const refused = await send("/messages", { messages: [], temperature: "hot" }, { "x-gateway-config": config });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /messages|temperature/);
});

test("a target without a model is refused, and the next one with a model is called", async () => {
  const target = { provider: "openai", api_key: "k" };
  const targets = [target, { ...target, override_params: { model: "second" } }];
  const config = JSON.stringify({ strategy: { mode: "fallback" }, targets });
  assert.equal((await send("/chat/completions", { messages }, { "x-gateway-config": config })).model, "second");
});

test("the model of x-gateway-provider serves only requests that name none", async () => {
  const headers = { "x-gateway-provider": "@stored/of-header" };
  assert.equal((await send("/chat/completions", { messages }, headers)).model, "of-header");
  assert.equal((await send("/chat/completions", { messages, model: "of-body" }, headers)).model, "of-body");
  assert.equal((await send("/chat/completions", { messages, model: "@stored/of-body" }, headers)).model, "of-body");
  assert.equal((await send("/embeddings", { input: "x" }, headers)).model, "of-header");
  const config = JSON.stringify({ provider: "@stored/of-config" });
  assert.equal((await send("/chat/completions", { messages }, { "x-gateway-config": config })).model, "of-config");
});

test("a config completes the fields of a form too", async () => {
  const form = new FormData();
  form.set("file", new File([new Uint8Array([1])], "a.wav", { type: "audio/wav" }));
  const config = JSON.stringify({ provider: "openai", api_key: "k", default_params: { model: "given" } });
  const headers = requestHeaders({ "x-gateway-config": config });
  headers.delete("content-type");
  const response = await gateway.fetch("/v1/audio/transcriptions", { method: "POST", headers, body: form });
  assert.equal(response.status, 200, await response.text());
  assert.match(new TextDecoder().decode(wire.init?.body as Uint8Array), /name="model"\r\n\r\ngiven/);
});

test("a saved config of a key completes the request as well", async () => {
  const config = { provider: "openai", api_key: "k", default_params: { model: "given" } };
  const { slug } = await done<{ slug: string }>(
    call(gateway, "POST /configs", { key: workspaceKey, body: { name: "complete", config } }),
  );
  assert.equal((await send("/chat/completions", { messages }, { "x-gateway-config": slug })).model, "given");
});

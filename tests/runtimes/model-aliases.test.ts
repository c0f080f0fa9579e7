import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";

/** Names of pools whose first model fails, the model that answers then, and the least window of both. */
const pools = [
  ["fast", "echo-small", 8_000],
  ["team/claude", "echo-large", 64_000],
  ["gpt-4o", "echo-spare", 16_000],
] as const;
const names: readonly string[] = pools.map(([name]) => name);

/** The name of one model, which has a price. */
const priced = "alone";

/** What the integration says of its models. */
const models = pools.map(([, slug, contextWindow]) => ({
  slug,
  enabled: true,
  is_custom: true,
  model_facts: { contextWindow, maxOutputTokens: 4_000 },
  pricing_config: { pay_as_you_go: { request_token: { price: 0.0001 }, response_token: { price: 0.0004 } } },
}));

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
  await post("/integrations", { name: "Demo", slug: "demo", ai_provider_id: "echo", key: "fake-echo-key-000000" });
  await send("PUT", "/integrations/demo/models", { models });
  for (const [name, model] of pools) {
    const targets = [{ echo_status: 503 }, {}].map((more) => {
      return { provider: "@demo", override_params: { model }, ...more };
    });
    const { slug } = await post("/configs", { name, config: { strategy: { mode: "fallback" }, targets } });
    await post("/model-aliases", { name, target: { config: slug } });
  }
  await post("/model-aliases", { name: priced, target: { model: "@demo/echo-small" } });
});
after(async () => {
  await gateway.stop("SIGKILL");
});

async function send(method: string, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method,
    headers: { "x-gateway-api-key": gateway.workspaceKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

const post = (path: string, body: object): Promise<Record<string, unknown>> => send("POST", path, body);

test("a client of OpenAI chooses among pools by the model alone", async () => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.workspaceKey, maxRetries: 0 });
  for (const [model, served, window] of pools) {
    const messages = [{ role: "user" as const, content: "Hello" }];
    assert.equal((await client.chat.completions.create({ model, messages })).model, served);
    const events = await Array.fromAsync(await client.chat.completions.create({ model, messages, stream: true }));
    assert.equal(events[0]?.model, served);
    assert.equal((await client.responses.create({ model, input: "Hello" })).model, served);
    const found: object = await client.models.retrieve(model);
    const wanted = {
      id: model,
      context_length: window,
      top_provider: { context_length: window, max_completion_tokens: 4_000 },
    };
    assert.partialDeepStrictEqual(found, wanted);
  }
  const one: object = await client.models.retrieve(priced);
  assert.partialDeepStrictEqual(one, { pricing: { prompt: "0.000001", completion: "0.000004" } });
  const listed = await Array.fromAsync(await client.models.list());
  assert.deepEqual(
    listed
      .map(({ id }) => id)
      .filter((id) => names.includes(id))
      .sort(),
    [...names].sort(),
  );
});

test("a client of Anthropic chooses among pools by the model alone", async () => {
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.workspaceKey, maxRetries: 0 });
  for (const [model, served, window] of pools) {
    const body = { model, max_tokens: 64, messages: [{ role: "user" as const, content: "Hello" }] };
    assert.equal((await client.messages.create(body)).model, served);
    assert.equal((await client.messages.stream(body).finalMessage()).model, served);
    const { display_name, max_input_tokens, max_tokens } = await client.models.retrieve(model);
    assert.deepEqual([display_name, max_input_tokens, max_tokens], [model, window, 4_000]);
  }
  const listed = await Array.fromAsync(client.models.list());
  assert.deepEqual(
    listed
      .map(({ id }) => id)
      .filter((id) => names.includes(id))
      .sort(),
    [...names].sort(),
  );
});

test("a client of Google chooses among pools by the model alone", async () => {
  const client = new GoogleGenAI({ apiKey: gateway.workspaceKey, httpOptions: { baseUrl: gateway.url } });
  for (const [model, served, window] of pools) {
    const answer = await client.models.generateContent({ model: `models/${model}`, contents: "Hello" });
    assert.equal(answer.modelVersion, served);
    const stream = await client.models.generateContentStream({ model: `models/${model}`, contents: "Hello" });
    assert.equal((await Array.fromAsync(stream))[0]?.modelVersion, served);
    const { displayName, inputTokenLimit, outputTokenLimit } = await client.models.get({ model: `models/${model}` });
    assert.deepEqual([displayName, inputTokenLimit, outputTokenLimit], [model, window, 4_000]);
  }
  const listed = (await Array.fromAsync(await client.models.list())).map(({ name }) => name?.replace("models/", ""));
  assert.deepEqual(listed.filter((id) => names.includes(id ?? "")).sort(), [...names].sort());
});

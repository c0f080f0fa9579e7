import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";

/** Names and the models that they lead to: directly, and through a config whose first target fails. */
const pools = [
  ["fast", "echo-small"],
  ["team/claude", "echo-large"],
  ["gpt-4o", "echo-spare"],
] as const;
const names = pools.map(([name]) => name);

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
  await post("/integrations", { name: "Demo", slug: "demo", ai_provider_id: "echo", key: "fake-echo-key-000000" });
  const spare = { provider: "@demo", override_params: { model: "echo-spare" } };
  const config = {
    strategy: { mode: "fallback" },
    targets: [{ provider: "echo", echo_status: 503, override_params: { model: "x" } }, spare],
  };
  const { slug } = await post("/configs", { name: "Pool", config });
  await post("/model-aliases", { name: "fast", target: { model: "@demo/echo-small" } });
  await post("/model-aliases", { name: "team/claude", target: { model: "@demo/echo-large" } });
  await post("/model-aliases", { name: "gpt-4o", target: { config: slug } });
});
after(async () => {
  await gateway.stop("SIGKILL");
});

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method: "POST",
    headers: { "x-gateway-api-key": gateway.workspaceKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

test("a client of OpenAI chooses among pools by the model alone", async () => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.workspaceKey, maxRetries: 0 });
  for (const [model, served] of pools) {
    const messages = [{ role: "user" as const, content: "Hello" }];
    assert.equal((await client.chat.completions.create({ model, messages })).model, served);
    const events = await Array.fromAsync(await client.chat.completions.create({ model, messages, stream: true }));
    assert.equal(events[0]?.model, served);
    assert.equal((await client.responses.create({ model, input: "Hello" })).model, served);
    assert.equal((await client.models.retrieve(model)).id, model);
  }
  const listed = await Array.fromAsync(await client.models.list());
  assert.deepEqual(
    listed
      .map(({ id }) => id)
      .filter((id) => names.some((name) => name === id))
      .sort(),
    [...names].sort(),
  );
});

test("a client of Anthropic chooses among pools by the model alone", async () => {
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.workspaceKey, maxRetries: 0 });
  for (const [model, served] of pools) {
    const body = { model, max_tokens: 64, messages: [{ role: "user" as const, content: "Hello" }] };
    assert.equal((await client.messages.create(body)).model, served);
    assert.equal((await client.messages.stream(body).finalMessage()).model, served);
    assert.equal((await client.models.retrieve(model)).display_name, model);
  }
  const listed = await Array.fromAsync(client.models.list());
  assert.deepEqual(
    listed
      .map(({ id }) => id)
      .filter((id) => names.some((name) => name === id))
      .sort(),
    [...names].sort(),
  );
});

test("a client of Google chooses among pools by the model alone", async () => {
  const client = new GoogleGenAI({ apiKey: gateway.workspaceKey, httpOptions: { baseUrl: gateway.url } });
  for (const [model, served] of pools) {
    const answer = await client.models.generateContent({ model: `models/${model}`, contents: "Hello" });
    assert.equal(answer.modelVersion, served);
    const stream = await client.models.generateContentStream({ model: `models/${model}`, contents: "Hello" });
    assert.equal((await Array.fromAsync(stream))[0]?.modelVersion, served);
    assert.equal((await client.models.get({ model: `models/${model}` })).displayName, model);
  }
  const listed = (await Array.fromAsync(await client.models.list())).map(({ name }) => name?.replace("models/", ""));
  assert.deepEqual(listed.filter((id) => names.some((name) => name === id)).sort(), [...names].sort());
});

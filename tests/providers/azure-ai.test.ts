import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { azureAi } from "../../src/providers/azure-ai/mod.ts";
import { addressOf } from "../../src/providers/core/call.ts";
import { github } from "../../src/providers/github/mod.ts";
import { jsonFixture, testConformance } from "../conformance/suite.ts";
import { chat, createTestGateway, type HeaderChanges, helloBody, readJson } from "../support/gateway.ts";

const request = { model: "Phi-4", messages: [{ role: "user", content: "Hello" }] };
const chatAnswer = jsonFixture("azure-openai", "chat.json");

testConformance(azureAi, [
  {
    name: "chat with a version",
    settings: { "azure-api-version": "2024-05-01-preview" },
    request: { ...request, stream: true, safe_prompt: true },
    sent: {
      path: "/chat/completions?api-version=2024-05-01-preview",
      body: { ...request, stream: true, safe_prompt: true, stream_options: { include_usage: true } },
    },
    answer: chatAnswer,
    wanted: chatAnswer,
  },
  {
    name: "legacy function fields are dropped",
    request: {
      ...request,
      functions: [],
      function_call: "none",
      messages: [{ role: "developer", content: "Be brief." }, ...request.messages],
    },
    sent: {
      path: "/chat/completions",
      body: { ...request, messages: [{ role: "system", content: "Be brief." }, ...request.messages] },
    },
    dropped: ["functions", "function_call"],
    answer: chatAnswer,
    wanted: chatAnswer,
  },
  {
    name: "legacy functions",
    request: { ...request, functions: [{ name: "f" }] },
    refused: /Cannot send functions to azure-ai/,
  },
  {
    name: "tools",
    request: { ...request, tools: [{ type: "function", function: { name: "f" } }] },
    sent: { body: { ...request, tools: [{ type: "function", function: { name: "f" } }] } },
    answer: jsonFixture("azure-openai", "tool-call.json"),
    wanted: jsonFixture("azure-openai", "tool-call.json"),
  },
  {
    name: "embeddings",
    operation: "embed",
    request: { model: "e", input: ["a"], input_type: "query" },
    sent: { path: "/embeddings", body: { model: "e", input: ["a"], input_type: "query" } },
    answer: jsonFixture("azure-openai", "embeddings.json"),
    wanted: jsonFixture("azure-openai", "embeddings.json"),
  },
]);

testConformance(github, [
  {
    name: "chat",
    request: { ...request, model: "openai/gpt-4o" },
    sent: { path: "/chat/completions", body: { ...request, model: "openai/gpt-4o" } },
    answer: chatAnswer,
    wanted: chatAnswer,
  },
]);

let next: unknown = chatAnswer;
const wire: { url: string; init: TransportInit | undefined } = { url: "", init: undefined };
const transport: Transport = {
  async send(url, init) {
    Object.assign(wire, { url, init });
    return Response.json(next);
  },
};
const gateway = await createTestGateway({ transport });
after(() => gateway.close());

const ask = (headers: HeaderChanges) =>
  chat(gateway, helloBody, { "x-gateway-provider": "azure-ai", authorization: "Bearer azure-key", ...headers });

for (const [url, wanted, key] of [
  ["https://res.services.ai.azure.com/models", "https://res.services.ai.azure.com/models", "authorization"],
  [
    "https://res.services.ai.azure.com/api/projects/p/openai/v1/",
    "https://res.services.ai.azure.com/api/projects/p/openai/v1",
    "authorization",
  ],
  ["https://m.eastus.models.ai.azure.com", "https://m.eastus.models.ai.azure.com", "authorization"],
  ["https://m.eastus.inference.ml.azure.com/score", "https://m.eastus.inference.ml.azure.com/score", "authorization"],
  ["https://r.openai.azure.com/openai/deployments/d", "https://r.openai.azure.com/openai/deployments/d", "api-key"],
] as const) {
  test(`azure-ai calls ${url}`, async () => {
    const response = await ask({ "x-gateway-azure-foundry-url": url, "x-gateway-azure-deployment-name": "blue" });
    assert.equal(response.status, 200, await response.text());
    assert.equal(wire.url, `${wanted}/chat/completions`);
    assert.equal(wire.init?.headers[key], key === "api-key" ? "azure-key" : "Bearer azure-key");
    assert.equal(wire.init?.headers["extra-parameters"], "drop");
    assert.equal(wire.init?.headers["azureml-model-deployment"], "blue");
  });
}

for (const [headers, pattern] of [
  [{}, /set x-gateway-azure-foundry-url/],
  [{ "x-gateway-azure-foundry-url": "https://r.services.ai.azure.com/models?a=b" }, /without a query/],
  [{ "x-gateway-azure-foundry-url": "http://169.254.169.254/x" }, /metadata/],
  [{ "x-gateway-azure-foundry-url": "http://10.0.0.1/x" }, /private/],
  [{ "x-gateway-azure-foundry-url": "https://a.example", "x-gateway-azure-extra-params": "x" }, /extra-params/],
] as const) {
  test(`azure-ai rejects ${JSON.stringify(headers)}`, async () => {
    const response = await ask(headers);
    assert.equal(response.status, 400);
    assert.match(await response.text(), pattern);
  });
}

for (const url of ["https://r.services.ai.azure.com/anthropic", "https://r.services.ai.azure.com/anthropic/v1"]) {
  test(`azure-ai speaks Claude's shape at ${url}`, async () => {
    next = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5",
      stop_reason: "end_turn",
      content: [{ type: "text", text: "At six." }],
      usage: { input_tokens: 5, output_tokens: 3 },
    };
    const response = await ask({ "x-gateway-azure-foundry-url": url });
    next = chatAnswer;
    const answer = await readJson<{ choices: { message: { content: string } }[] }>(response);
    assert.equal(answer.choices[0]?.message.content, "At six.");
    assert.equal(wire.url, "https://r.services.ai.azure.com/anthropic/v1/messages");
    assert.equal(wire.init?.headers["x-api-key"], "azure-key");
    assert.equal(wire.init?.headers.authorization, undefined);
    assert.equal(wire.init?.headers["anthropic-version"], "2023-06-01");
    assert.ok(JSON.parse(String(wire.init?.body)).max_tokens > 0);
    const token = { "x-gateway-azure-foundry-url": url, "x-gateway-azure-ad-token": "t" };
    await ask(token);
    assert.equal(wire.init?.headers.authorization, "Bearer t");
    assert.equal(wire.init?.headers["x-api-key"], undefined);
  });
}

test("github is called at its own URL with the token", async () => {
  const response = await ask({ "x-gateway-provider": "github" });
  assert.equal(response.status, 200, await response.text());
  assert.equal(wire.url, "https://models.github.ai/inference/chat/completions");
  assert.equal(wire.init?.headers.authorization, "Bearer azure-key");
});

const foundry = "https://res-1.services.ai.azure.com";
for (const [settings, url] of [
  [{ "azure-foundry-url": `${foundry}/models` }, `${foundry}/openai/v1/realtime?model=m&deployment=m`],
  [
    { "azure-foundry-url": `${foundry}/models`, "azure-api-version": "2025-04-01-preview" },
    `${foundry}/openai/realtime?api-version=2025-04-01-preview&deployment=m`,
  ],
  [
    { "azure-foundry-url": `${foundry}/api/projects/p/openai/v1`, "azure-deployment-name": "dep-1" },
    `${foundry}/api/projects/p/openai/v1/realtime?model=dep-1&deployment=dep-1`,
  ],
  [
    {
      "azure-foundry-url": "https://res-1.openai.azure.com/openai/deployments/dep-2",
      "azure-api-version": "2024-10-21",
    },
    "https://res-1.openai.azure.com/openai/realtime?api-version=2024-10-21&deployment=dep-2",
  ],
] as const) {
  test(`azure-ai opens a realtime session with ${JSON.stringify(settings)} at ${url}`, () => {
    const values: Readonly<Record<string, string>> = settings;
    const provider = azureAi.bind((name) => values[name] ?? null);
    const path = provider.operations.realtime?.path({ model: "m", query: [] }) ?? "";
    assert.equal(addressOf({ provider, customHost: undefined, path }), url);
  });
}

test("azure-ai has no realtime sessions for Claude", () => {
  const bound = azureAi.bind((name) => (name === "azure-foundry-url" ? `${foundry}/anthropic` : null));
  assert.equal(bound.operations.realtime, undefined);
});

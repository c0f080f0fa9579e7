import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { repository } from "../support/source-files.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const fixture = (path: string) => readFileSync(join(repository, "tests/fixtures", path), "utf8");

/** Answers of the upstream by what a path ends with. */
const answers: readonly (readonly [RegExp, string])[] = [
  [/^\/openai\/embeddings$/, fixture("azure-openai/embeddings.json")],
  [/:embedContent$/, fixture("google/embeddings.json")],
  [/:batchEmbedContents$/, fixture("google/embeddings-batch.json")],
  [/\/model\/amazon\.titan[^/]*\/invoke$/, fixture("bedrock/embeddings-titan.json")],
  [
    /^\/openai\/completions$/,
    JSON.stringify({
      id: "cmpl-1",
      object: "text_completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, text: " six.", logprobs: null, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    }),
  ],
  [
    /^\/anthropic\/complete$/,
    JSON.stringify({
      id: "compl_1",
      type: "completion",
      completion: " six.",
      model: "m",
      stop_reason: "stop_sequence",
    }),
  ],
  [/^\/openai\/models$/, JSON.stringify({ object: "list", data: [{ id: "gpt-5.1", object: "model" }] })],
  [/^\/anthropic\/models/, JSON.stringify({ data: [{ id: "claude-sonnet-4-6", type: "model" }], has_more: false })],
  [/^\/google\/v1beta\/models/, JSON.stringify({ models: [{ name: "models/gemini-3-flash" }] })],
  [/^\/bedrock\/foundation-models$/, JSON.stringify({ modelSummaries: [{ modelId: "amazon.nova-pro-v1:0" }] })],
];

let gateway: TestGateway;
let upstream: RecordingUpstream;
before(async () => {
  gateway = await createTestGateway();
  upstream = await startRecordingUpstream(({ path }, response) => {
    const found = answers.find(([form]) => form.test(decodeURIComponent(path).replace(/\?.*$/, "")));
    response.writeHead(found ? 200 : 404, { "content-type": "application/json" });
    response.end(found?.[1] ?? JSON.stringify({ error: { message: `nothing at ${path}` } }));
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const aws = {
  "x-gateway-aws-access-key-id": "AKIAFAKEFAKEFAKE0000",
  "x-gateway-aws-secret-access-key": "fake-secret-access-key-for-tests",
  "x-gateway-aws-region": "eu-west-3",
};

/** The SDK as its users set it up, but for the network in front of the gateway. */
function clientOf(provider: string): OpenAI {
  return new OpenAI({
    baseURL: "http://gateway.test/v1",
    apiKey: "fake-provider-key",
    maxRetries: 0,
    defaultHeaders: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": provider,
      "x-gateway-custom-host": `${upstream.url}/${provider}`,
      ...(provider === "bedrock" && aws),
    },
    fetch: (url, init) => gateway.gateway.fetch(new Request(url, init)),
  });
}

for (const [provider, model] of [
  ["openai", "text-embedding-3-small"],
  ["google", "gemini-embedding-001"],
  ["bedrock", "amazon.titan-embed-text-v2:0"],
] as const) {
  test(`embeddings by ${provider}: as numbers, and the same as the SDK decodes them`, async () => {
    const { embeddings } = clientOf(provider);
    const plain = await embeddings.create({ model, input: "Hello", encoding_format: "float" });
    const numbers = plain.data[0]?.embedding ?? [];
    assert.ok(numbers.length > 1 && numbers.every((one) => typeof one === "number"), JSON.stringify(plain));
    assert.ok(plain.usage.prompt_tokens >= 0);
    if (provider === "openai") return; // its upstream here answers what it was not asked for
    const packed = await embeddings.create({ model, input: "Hello" });
    const decoded = packed.data[0]?.embedding ?? [];
    assert.deepEqual(
      decoded.map((one) => one.toFixed(4)),
      numbers.map((one) => one.toFixed(4)),
    );
  });
}

for (const provider of ["openai", "anthropic"]) {
  test(`completions by ${provider}`, async () => {
    const answer = await clientOf(provider).completions.create({ model: "m", prompt: "It opens at", max_tokens: 5 });
    assert.deepEqual([answer.choices[0]?.text, answer.choices[0]?.finish_reason], [" six.", "stop"]);
  });
}

for (const [provider, id] of [
  ["openai", "gpt-5.1"],
  ["anthropic", "claude-sonnet-4-6"],
  ["google", "gemini-3-flash"],
  ["bedrock", "amazon.nova-pro-v1:0"],
] as const) {
  test(`models of ${provider}`, async () => {
    const found: string[] = [];
    for await (const model of clientOf(provider).models.list()) found.push(model.id);
    assert.deepEqual(found, [id]);
  });
}

for (const provider of ["anthropic", "google", "bedrock"]) {
  test(`moderations, which ${provider} does not have, are the SDK's BadRequestError`, async () => {
    const asked = clientOf(provider).moderations.create({ input: "a" });
    await assert.rejects(
      asked,
      (error) => error instanceof OpenAI.BadRequestError && error.code === "unsupported_endpoint",
    );
  });
}

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { fixture, jsonFixture } from "../conformance/suite.ts";
import {
  createTestGateway,
  readJson,
  requestHeaders,
  type TestGateway,
  upstreamHeaders,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(fixture("openai", "moderation.json"));
  });
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

function moderate(body: object, changes: Record<string, string> = {}): Promise<Response> {
  const headers = requestHeaders({ ...upstreamHeaders(upstream), ...changes });
  return gateway.fetch("/v1/moderations", { method: "POST", headers, body: JSON.stringify(body) });
}

for (const [name, input] of [
  ["a text", "Hello"],
  ["texts", ["Hello", "there"]],
  [
    "parts",
    [
      { type: "text", text: "Hello" },
      { type: "image_url", image_url: { url: "data:," } },
    ],
  ],
] as const) {
  for (const provider of ["openai", "mistral-ai"]) {
    test(`moderations of ${name} are sent to ${provider} unchanged, and its response returned unchanged`, async () => {
      const response = await moderate({ input }, { "x-gateway-provider": provider });
      assert.equal(await response.text(), fixture("openai", "moderation.json"));
      const request = upstream.requests.at(-1) ?? assert.fail();
      assert.deepEqual([request.path, JSON.parse(request.text)], ["/v1/moderations", { input }]);
    });
  }
}

test("POST /v1/moderations leaves a log row", async () => {
  await (await moderate({ input: "Hello", model: "text-moderation-latest" })).text();
  const [row] = await waitForLogs(gateway, "model=text-moderation-latest");
  assert.deepEqual([row?.operation, row?.provider, row?.status], ["moderate", "openai", 200]);
});

test("POST /v1/moderations works with OpenAI's SDK", async () => {
  const client = new OpenAI({
    apiKey: "provider-key",
    baseURL: "http://gateway.test/v1",
    defaultHeaders: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${upstream.url}/v1`,
    },
    fetch: (url, init) => gateway.gateway.fetch(new Request(String(url), init)),
  });
  const { results } = await client.moderations.create({ input: "Hello" });
  assert.deepEqual(results[0]?.flagged, true);
  assert.deepEqual(results, Object(jsonFixture("openai", "moderation.json")).results);
});

for (const [name, body] of [
  ["no input", {}],
  ["a number", { input: 1 }],
  ["texts and parts together", { input: ["a", { type: "text", text: "b" }] }],
  ["a part of no known type", { input: [{ type: "audio", audio: "" }] }],
  ["a model that is no text", { input: "a", model: 1 }],
] as const) {
  test(`POST /v1/moderations refuses ${name}`, async () => {
    const calls = upstream.requests.length;
    assert.equal((await moderate(body)).status, 400);
    assert.equal(upstream.requests.length, calls);
  });
}

test("POST /v1/moderations is refused at a provider without moderations", async () => {
  const response = await moderate({ input: "a" }, { "x-gateway-provider": "groq" });
  const { error } = await readJson<{ error: { code: string } }>(response);
  assert.deepEqual([response.status, error.code], [400, "unsupported_endpoint"]);
});

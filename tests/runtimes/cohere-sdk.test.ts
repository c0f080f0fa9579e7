import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CohereClientV2, CohereError } from "cohere-ai";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let upstream: RecordingUpstream;
let gateway: GatewayProcess;
const answer = {
  id: "fx-1",
  results: [
    { index: 0, relevance_score: 0.12 },
    { index: 1, relevance_score: 0.98 },
  ],
  meta: { billed_units: { search_units: 1 } },
};

before(async () => {
  upstream = await startRecordingUpstream(({ text }, response) => {
    const isRefused = JSON.parse(text).query === "refuse";
    response.writeHead(isRefused ? 422 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(isRefused ? { message: "too long" } : answer));
  });
  gateway = await startGatewayProcess({ env: { TRUSTED_CUSTOM_HOSTS: "127.0.0.1" } });
  const call = async (path: string, body: object) => {
    const headers = { "x-gateway-api-key": gateway.workspaceKey, "content-type": "application/json" };
    const response = await fetch(`${gateway.url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(response.status, 200, await response.text());
  };
  const configurations = { custom_host: upstream.url };
  const integration = { name: "c", slug: "c-integration", ai_provider_id: "cohere", key: "provider-key-123456" };
  await call("/integrations", { ...integration, configurations, create_default_provider: false });
  await call("/providers", { name: "c", slug: "ranks", integration_id: "c-integration" });
});
after(async () => {
  await gateway.stop();
  await upstream.close();
});

const client = () =>
  new CohereClientV2({ token: gateway.workspaceKey, environment: `${gateway.url}/v1`, maxRetries: 0 });
const documents = ["Carson City", "Washington, D.C."];

test("cohere-ai reranks with only its base address and key changed", async () => {
  const response = await client().rerank({ model: "@ranks/rerank-v3.5", query: "capital", documents, topN: 2 });
  assert.equal(response.id, "fx-1");
  assert.deepEqual(
    response.results.map(({ index, relevanceScore }) => [index, relevanceScore]),
    [
      [1, 0.98],
      [0, 0.12],
    ],
  );
  const { path, text, headers } = upstream.requests.at(-1) ?? assert.fail();
  assert.equal(path, "/v2/rerank");
  assert.deepEqual(JSON.parse(text), { model: "rerank-v3.5", query: "capital", documents, top_n: 2 });
  assert.equal(headers.authorization, "Bearer provider-key-123456");
});

test("cohere-ai raises an upstream's refusal with its status", async () => {
  const asked = client().rerank({ model: "@ranks/rerank-v3.5", query: "refuse", documents });
  await assert.rejects(asked, (error) => error instanceof CohereError && error.statusCode === 422);
});

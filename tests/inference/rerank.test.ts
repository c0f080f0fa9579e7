import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { requireSigned } from "../support/aws.ts";
import {
  createTestGateway,
  type HeaderChanges,
  readJson,
  requestHeaders,
  type TestGateway,
  waitForLogs,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { createWire } from "../support/wire.ts";

const documents = ["Carson City", { text: "Saipan", region: "Pacific" }, "Washington, D.C."];
const body = { model: "m", query: "Which city is the capital?", documents, return_documents: true };
const awsKeys = { accessKeyId: "AKIAFAKEFAKEFAKE0000", secretAccessKey: "fake-secret-access-key-for-tests" };
const awsHeaders = {
  "x-gateway-aws-access-key-id": awsKeys.accessKeyId,
  "x-gateway-aws-secret-access-key": awsKeys.secretAccessKey,
  authorization: null,
};

/** Scores every upstream gives: unsorted, the first two equal. */
const scores = [0.25, 0.25, 0.75];
const rows = (name: string) => scores.map((score, index) => ({ index, [name]: score })).toReversed();

/** Responses of upstreams by path, each in its own protocol. */
const answers: Readonly<Record<string, unknown>> = {
  "/cohere/v2/rerank": { id: "co-1", results: rows("relevance_score"), meta: { billed_units: { search_units: 1 } } },
  "/providers/cohere/v2/rerank": { id: "az-1", results: rows("relevance_score"), meta: {} },
  "/voyage/rerank": { object: "list", data: rows("relevance_score"), model: "m-1", usage: { total_tokens: 42 } },
  "/jina/rerank": { results: rows("relevance_score"), usage: { total_tokens: 42 } },
  "/pinecone/rerank": { model: "m", data: rows("score"), usage: { rerank_units: 2 } },
  "/bedrock/rerank": { results: rows("relevanceScore") },
  "/vertex-ai/v1/projects/p/locations/global/rankingConfigs/default_ranking_config:rank": {
    records: rows("score").map(({ index, ...rest }) => ({ id: String(index), ...rest })),
  },
  "/odd/none/rerank": {},
  "/odd/foreign/rerank": { data: [{ index: 3, relevance_score: 1 }] },
  "/odd/text/rerank": { data: [{ index: 0, relevance_score: "high" }] },
};

let upstream: RecordingUpstream;
let gateway: TestGateway;
const wire = createWire();
let wired: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream(({ path }, response) => {
    const answer = answers[path.replace(/\?.*/, "")];
    response.writeHead(answer ? 200 : 422, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { message: "unknown field" }));
  });
  gateway = await createTestGateway();
  wired = await createTestGateway({ transport: wire.transport });
});
after(async () => {
  await gateway.close();
  await wired.close();
  await upstream.close();
});

function rerank(headers: HeaderChanges, sent: unknown = body, path = "/v1/rerank"): Promise<Response> {
  const init = { method: "POST", headers: requestHeaders(headers), body: JSON.stringify(sent) };
  return gateway.fetch(path, init);
}

const at = (provider: string, path = provider): HeaderChanges => ({
  "x-gateway-provider": provider,
  "x-gateway-custom-host": `${upstream.url}/${path}`,
  authorization: "Bearer provider-key",
});

const cases: Readonly<Record<string, { headers: () => HeaderChanges; id?: string; model?: string; usage?: object }>> = {
  cohere: { headers: () => at("cohere"), id: "co-1", usage: { search_units: 1 } },
  "azure-ai": {
    headers: () => ({
      ...at("azure-ai"),
      "x-gateway-custom-host": null,
      "x-gateway-azure-foundry-url": `${upstream.url}/models`,
    }),
    id: "az-1",
  },
  voyage: { headers: () => at("voyage"), model: "m-1", usage: { total_tokens: 42 } },
  jina: { headers: () => at("jina"), usage: { total_tokens: 42 } },
  pinecone: { headers: () => at("pinecone"), usage: { search_units: 2 } },
  bedrock: { headers: () => ({ ...at("bedrock"), ...awsHeaders }), usage: { search_units: 1 } },
  "vertex-ai": {
    headers: () => ({ ...at("vertex-ai"), "x-gateway-vertex-project-id": "p" }),
    usage: { search_units: 1 },
  },
};

interface Answer {
  id: string;
  error: { code: string; param: string | null };
  results: { index: number; relevance_score: number; document?: { text: string } }[];
}

for (const [provider, { headers, id, model = "m", usage }] of Object.entries(cases)) {
  test(`POST /v1/rerank by ${provider} returns one shape, sorted, with documents`, async () => {
    const response = await rerank(headers());
    const answer = await readJson<Answer>(response);
    assert.equal(response.status, 200, JSON.stringify(answer));
    const request = response.headers.get("x-gateway-request-id") ?? response.headers.get("x-gateway-trace-id");
    assert.deepEqual(answer, {
      object: "list",
      id: id ?? `rerank-${request}`,
      model,
      provider,
      results: [
        { index: 2, relevance_score: 0.75, document: { text: "Washington, D.C." } },
        { index: 0, relevance_score: 0.25, document: { text: "Carson City" } },
        { index: 1, relevance_score: 0.25, document: { text: "Saipan" } },
      ],
      ...(usage && { usage }),
    });
    const [row] = await waitForLogs(gateway, `provider=${provider}`);
    assert.deepEqual([row?.operation, row?.status, row?.model], ["rerank", 200, "m"]);
  });
}

test("POST /v1/rerank returns documents only on request, and no more results than requested", async () => {
  const sent = { ...body, return_documents: false, top_n: 2 };
  const { results } = await readJson<Answer>(await rerank(at("cohere"), sent));
  assert.deepEqual(results, [
    { index: 2, relevance_score: 0.75 },
    { index: 0, relevance_score: 0.25 },
  ]);
});

test("POST /v1/rerank reports parameters a provider does not support", async () => {
  const response = await rerank(at("cohere"), { ...body, truncation: true, rank_fields: null });
  assert.equal(response.headers.get("x-gateway-dropped-params"), "truncation");
});

test("POST /v1/rerank by bedrock is signed for its region", async () => {
  await rerank({ ...at("bedrock"), ...awsHeaders, "x-gateway-aws-region": "eu-west-1" });
  const request = upstream.requests.at(-1) ?? assert.fail();
  const { method, path, headers, text } = request;
  const { scope } = requireSigned({ method, url: path, headers, body: text }, awsKeys);
  assert.deepEqual([scope.region, scope.service], ["eu-west-1", "bedrock"]);
});

for (const [provider, headers, url] of [
  ["cohere", {}, "https://api.cohere.ai/v2/rerank"],
  ["voyage", {}, "https://api.voyageai.com/v1/rerank"],
  ["jina", {}, "https://api.jina.ai/v1/rerank"],
  ["pinecone", {}, "https://api.pinecone.io/rerank"],
  [
    "bedrock",
    { ...awsHeaders, "x-gateway-aws-region": "eu-west-1" },
    "https://bedrock-agent-runtime.eu-west-1.amazonaws.com/rerank",
  ],
  [
    "vertex-ai",
    { "x-gateway-vertex-project-id": "p", "x-gateway-vertex-region": "eu" },
    "https://discoveryengine.googleapis.com/v1/projects/p/locations/global/rankingConfigs/default_ranking_config:rank",
  ],
  [
    "azure-ai",
    { "x-gateway-azure-foundry-url": "https://acme.services.ai.azure.com/models" },
    "https://acme.services.ai.azure.com/providers/cohere/v2/rerank",
  ],
  [
    "azure-ai",
    { "x-gateway-azure-foundry-url": "https://acme.eastus.models.ai.azure.com" },
    "https://acme.eastus.models.ai.azure.com/v2/rerank",
  ],
  ["together-ai", {}, "https://api.together.xyz/v1/rerank"],
  ["fireworks-ai", {}, "https://api.fireworks.ai/inference/v1/rerank"],
  ["novita-ai", {}, "https://api.novita.ai/openai/v1/rerank"],
  ["siliconflow", {}, "https://api.siliconflow.cn/v1/rerank"],
  ["deepinfra", {}, "https://api.deepinfra.com/v1/inference/m"],
  ["openrouter", {}, "https://openrouter.ai/api/v1/rerank"],
] as const) {
  test(`POST /v1/rerank by ${provider} is sent to ${url}`, async () => {
    const changes = { "x-gateway-provider": provider, authorization: "Bearer provider-key", ...headers };
    const init = { method: "POST", headers: requestHeaders(changes), body: JSON.stringify(body) };
    await (await wired.fetch("/v1/rerank", init)).text();
    assert.equal(wire.url, url);
  });
}

for (const [name, changes, param] of [
  ["no query", { query: undefined }, "query"],
  ["an empty query", { query: "" }, "query"],
  ["no documents", { documents: undefined }, "documents"],
  ["an empty list", { documents: [] }, "documents"],
  ["a document without text", { documents: ["a", { title: "b" }] }, "documents.1"],
  ["top_n of 0", { top_n: 0 }, "top_n"],
  ["half a result", { top_n: 1.5 }, "top_n"],
  ["rank_fields that are none", { rank_fields: "text" }, "rank_fields"],
] as const) {
  test(`POST /v1/rerank refuses ${name}`, async () => {
    const before = upstream.requests.length;
    const response = await rerank(at("cohere"), { ...body, ...changes });
    assert.equal(response.status, 400);
    assert.equal((await readJson<Answer>(response)).error.param, param);
    assert.equal(upstream.requests.length, before);
  });
}

test("POST /v1/rerank is refused at a provider without reranking, and a fallback calls the next one", async () => {
  const refused = await rerank({ ...at("openai"), "x-gateway-custom-host": null });
  assert.equal(refused.status, 400);
  assert.equal((await readJson<Answer>(refused)).error.code, "unsupported_endpoint");
  const config = {
    strategy: { mode: "fallback" },
    targets: [
      { provider: "openai", api_key: "k" },
      { provider: "jina", api_key: "k", custom_host: `${upstream.url}/jina` },
    ],
  };
  const headers = { "x-gateway-provider": null, "x-gateway-config": JSON.stringify(config) };
  const answered = await rerank(headers);
  assert.equal(answered.status, 200);
  assert.equal(answered.headers.get("x-gateway-last-used-option-index"), "config.targets[1]");
});

for (const odd of ["none", "foreign", "text"]) {
  test(`POST /v1/rerank refuses a response that cannot be parsed: ${odd}`, async () => {
    const response = await rerank(at("jina", `odd/${odd}`));
    assert.equal(response.status, 502);
    assert.equal((await readJson<Answer>(response)).error.code, "upstream_bad_answer");
  });
}

test("POST /v1/rerank preserves the status of an upstream's refusal", async () => {
  assert.equal((await rerank(at("jina", "unknown"))).status, 422);
});

test("POST /v2/rerank serves clients of Cohere", async () => {
  const response = await rerank(at("cohere"), body, "/v1/v2/rerank");
  assert.equal((await readJson<Answer>(response)).id, "co-1");
  assert.equal(upstream.requests.at(-1)?.path, "/cohere/v2/rerank");
});

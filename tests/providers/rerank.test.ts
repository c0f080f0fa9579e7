import { azureAi } from "../../src/providers/azure-ai/mod.ts";
import { bedrock } from "../../src/providers/bedrock/mod.ts";
import { cohere } from "../../src/providers/cohere/mod.ts";
import type { Provider } from "../../src/providers/core/types.ts";
import { jina } from "../../src/providers/jina/mod.ts";
import { pinecone } from "../../src/providers/pinecone/mod.ts";
import { vertexAi } from "../../src/providers/vertex-ai/mod.ts";
import { voyage } from "../../src/providers/voyage/mod.ts";
import { type ConformanceCase, jsonFixture, testConformance } from "../conformance/suite.ts";
import { compatProviders } from "../support/compat-vendors.ts";

const query = "What is the capital of the United States?";
const documents = ["Carson City", { text: "Saipan", population: 43_385 }, { text: "Washington, D.C." }];
const texts = ["Carson City", "Saipan", "Washington, D.C."];
/** Fields of other providers; each provider reports those it does not support. */
const everything = {
  top_n: 2,
  return_documents: true,
  max_chunks_per_doc: 3,
  max_tokens_per_doc: 512,
  priority: 1,
  rank_fields: ["text"],
  truncation: true,
  parameters: { truncate: "END" },
};
const base = { operation: "rerank" as const };
const plain = (model: string) => ({ model, query, documents });
const all = (model: string) => ({ ...plain(model), ...everything });

/** Results of the recorded responses, with or without their documents. */
const results = (withDocuments: boolean, scores: readonly [number, number] = [0.9871, 0.1204]) => [
  {
    index: 2,
    relevance_score: scores[0],
    ...(withDocuments && { document: { text: "Washington, D.C." } }),
  },
  { index: 0, relevance_score: scores[1], ...(withDocuments && { document: { text: "Carson City" } }) },
];
const answered = (id: string, model: string, rest: object) => ({ object: "list", id, model, ...rest });

/** Cases of a provider that gets the same request as Cohere. */
function casesLikeCohere(path: string, sentModel: (model: string) => string): ConformanceCase[] {
  const model = "cohere.rerank-v3.5";
  const sent = { model: sentModel(model), query, documents: texts };
  const answer = jsonFixture("cohere", "rerank.json");
  const usage = { search_units: 1 };
  return [
    {
      ...base,
      name: "rerank",
      request: plain(model),
      sent: { path, body: sent },
      answer,
      wanted: answered("fx-coh-rr-1", model, { results: results(false), usage }),
    },
    {
      ...base,
      name: "rerank with every field",
      request: { ...all(model), own: 1 },
      answer,
      sent: { body: { own: 1, ...sent, top_n: 2, max_tokens_per_doc: 512, priority: 1 } },
      dropped: ["max_chunks_per_doc", "rank_fields", "truncation", "parameters"],
      wanted: answered("fx-coh-rr-1", model, { results: results(true), usage }),
    },
  ];
}

testConformance(
  cohere,
  casesLikeCohere("/v2/rerank", (model) => model),
);
testConformance(
  azureAi,
  casesLikeCohere("/providers/cohere/v2/rerank", (model) => model.replace("cohere.", "")),
);
testConformance(azureAi, [
  {
    ...base,
    name: "rerank with a dedicated deployment",
    settings: { "azure-foundry-url": "https://rerank.eastus.models.ai.azure.com" },
    request: plain("Cohere-rerank-v3.5"),
    sent: { path: "/v2/rerank" },
    answer: { results: [] },
    wanted: answered("rerank-0", "Cohere-rerank-v3.5", { results: [] }),
  },
]);

testConformance(voyage, [
  {
    ...base,
    name: "rerank",
    request: all("rerank-2.5"),
    sent: {
      path: "/rerank",
      body: {
        model: "rerank-2.5",
        query,
        documents: texts,
        top_k: 2,
        return_documents: true,
        truncation: true,
      },
    },
    dropped: ["max_chunks_per_doc", "max_tokens_per_doc", "priority", "rank_fields", "parameters"],
    answer: jsonFixture("voyage", "rerank.json"),
    wanted: answered("rerank-0", "rerank-2.5", { results: results(true), usage: { total_tokens: 42 } }),
  },
]);

testConformance(jina, [
  {
    ...base,
    name: "rerank without documents, which are returned anyway",
    request: { ...plain("jina-reranker-v2-base-multilingual"), top_n: null },
    sent: { path: "/rerank", body: { model: "jina-reranker-v2-base-multilingual", query, documents: texts } },
    answer: jsonFixture("jina", "rerank.json"),
    wanted: answered("rerank-0", "jina-reranker-v2-base-multilingual", {
      results: results(false),
      usage: { total_tokens: 42 },
    }),
  },
]);

testConformance(pinecone, [
  {
    ...base,
    name: "rerank",
    request: all("bge-reranker-v2-m3"),
    sent: {
      path: "/rerank",
      body: {
        model: "bge-reranker-v2-m3",
        query,
        top_n: 2,
        return_documents: true,
        rank_fields: ["text"],
        parameters: { truncate: "END" },
        documents: [{ text: "Carson City" }, { text: "Saipan", population: "43385" }, { text: "Washington, D.C." }],
      },
    },
    dropped: ["max_chunks_per_doc", "max_tokens_per_doc", "priority", "truncation"],
    answer: jsonFixture("pinecone", "rerank.json"),
    wanted: answered("rerank-0", "bge-reranker-v2-m3", { results: results(true), usage: { search_units: 1 } }),
  },
]);

const arn = "arn:aws:bedrock:eu-central-1::foundation-model/cohere.rerank-v3-5:0";
const ranking = (modelArn: string, numberOfResults: number, fields: object = {}) => ({
  queries: [{ type: "TEXT", textQuery: { text: query } }],
  sources: [
    { type: "INLINE", inlineDocumentSource: { type: "TEXT", textDocument: { text: "Carson City" } } },
    { type: "INLINE", inlineDocumentSource: { type: "JSON", jsonDocument: { text: "Saipan", population: 43_385 } } },
    { type: "INLINE", inlineDocumentSource: { type: "TEXT", textDocument: { text: "Washington, D.C." } } },
  ],
  rerankingConfiguration: {
    type: "BEDROCK_RERANKING_MODEL",
    bedrockRerankingConfiguration: { numberOfResults, modelConfiguration: { modelArn, ...fields } },
  },
});
testConformance(bedrock, [
  {
    ...base,
    name: "rerank by an ARN",
    settings: { "aws-region": "eu-central-1" },
    request: { ...all(arn), own: 1 },
    sent: {
      path: "/rerank",
      body: ranking(arn, 2, { additionalModelRequestFields: { own: 1, truncate: "END" } }),
    },
    dropped: ["max_chunks_per_doc", "max_tokens_per_doc", "priority", "rank_fields", "truncation"],
    answer: jsonFixture("bedrock", "rerank.json"),
    wanted: answered("rerank-0", arn, { results: results(true), usage: { search_units: 1 } }),
  },
  {
    ...base,
    name: "rerank by an id, with top_n above the number of documents",
    request: { ...plain("amazon.rerank-v1:0"), top_n: 50 },
    sent: { body: ranking("arn:aws:bedrock:us-east-1::foundation-model/amazon.rerank-v1:0", 3) },
    answer: jsonFixture("bedrock", "rerank.json"),
    wanted: answered("rerank-0", "amazon.rerank-v1:0", { results: results(false), usage: { search_units: 1 } }),
  },
  {
    ...base,
    name: "rerank by an ARN of another region",
    request: plain(arn),
    refused: /must be a Bedrock ARN in us-east-1/,
  },
  {
    ...base,
    name: "rerank of too many documents",
    request: { model: arn, query, documents: Array(1_001).fill("a") },
    refused: /more than 1000 documents/,
  },
]);

const project = { "vertex-project-id": "fake-project" };
testConformance(vertexAi, [
  {
    ...base,
    name: "rerank",
    settings: { ...project, "vertex-region": "europe-west4" },
    request: {
      ...all("semantic-ranker-default@latest"),
      documents: [documents[0], { text: "Saipan", title: "Islands" }, documents[2]],
    },
    sent: {
      path: "/v1/projects/fake-project/locations/global/rankingConfigs/default_ranking_config:rank",
      body: {
        model: "semantic-ranker-default@latest",
        query,
        topN: 2,
        ignoreRecordDetailsInResponse: false,
        records: [
          { id: "0", content: "Carson City" },
          { id: "1", title: "Islands", content: "Saipan" },
          { id: "2", content: "Washington, D.C." },
        ],
      },
    },
    dropped: ["max_chunks_per_doc", "max_tokens_per_doc", "parameters", "priority", "rank_fields", "truncation"],
    answer: jsonFixture("vertex-ai", "rerank.json"),
    wanted: answered("rerank-0", "semantic-ranker-default@latest", {
      results: results(true, [0.98, 0.12]),
      usage: { search_units: 1 },
    }),
  },
  {
    ...base,
    name: "rerank of too many documents",
    settings: project,
    request: { model: "m", query, documents: Array(201).fill("a") },
    refused: /at most 200 documents/,
  },
]);

/** Providers of tables: their path, and the fields they support. */
const table: readonly (readonly [slug: string, path: string, taken: readonly (keyof typeof everything)[]])[] = [
  ["together-ai", "/v1/rerank", ["top_n", "return_documents", "rank_fields"]],
  ["fireworks-ai", "/rerank", ["top_n", "return_documents"]],
  ["novita-ai", "/v1/rerank", ["top_n"]],
  ["siliconflow", "/rerank", ["top_n", "return_documents", "max_chunks_per_doc"]],
  ["openrouter", "/v1/rerank", ["top_n"]],
];
const found = (slug: string): Provider => compatProviders.find((one) => one.slug === slug) ?? cohere;
for (const [slug, path, taken] of table) {
  const members = Object.fromEntries(taken.map((name) => [name, everything[name]]));
  const left = Object.keys(everything).filter((name) => !["top_n", "return_documents", ...taken].includes(name));
  testConformance(found(slug), [
    {
      ...base,
      name: "rerank",
      request: all("m"),
      dropped: left,
      sent: { path, body: { model: "m", query, documents: texts, ...members } },
      answer: {
        id: "r1",
        data: [
          { index: 1, relevance_score: 0.5 },
          { index: 0, relevance_score: 0.5, document: "Carson City" },
          { index: 2, score: 0.75, document: null },
        ],
        usage: { total_tokens: 9.5 },
      },
      wanted: answered("r1", "m", {
        results: [
          { index: 2, relevance_score: 0.75, document: { text: "Washington, D.C." } },
          { index: 0, relevance_score: 0.5, document: { text: "Carson City" } },
        ],
      }),
    },
  ]);
}

testConformance(found("deepinfra"), [
  {
    ...base,
    name: "rerank",
    request: { ...all("Qwen/Qwen3-Reranker-0.6B"), own: 1 },
    sent: {
      path: "/inference/Qwen/Qwen3-Reranker-0.6B",
      body: { own: 1, queries: [query, query, query], documents: texts },
    },
    dropped: ["max_chunks_per_doc", "max_tokens_per_doc", "parameters", "priority", "rank_fields", "truncation"],
    answer: { scores: [0.12, 0.01, 0.98], input_tokens: 42 },
    wanted: answered("rerank-0", "Qwen/Qwen3-Reranker-0.6B", {
      results: results(true, [0.98, 0.12]),
      usage: { total_tokens: 42 },
    }),
  },
]);

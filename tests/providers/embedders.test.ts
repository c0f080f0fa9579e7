import { jina } from "../../src/providers/jina/mod.ts";
import { nomic } from "../../src/providers/nomic/mod.ts";
import { voyage } from "../../src/providers/voyage/mod.ts";
import { testConformance } from "../conformance/suite.ts";
import { testCalls } from "../support/provider-calls.ts";

const data = [
  { object: "embedding", index: 0, embedding: [0.1, 0.2] },
  { object: "embedding", index: 1, embedding: [0.3, 0.4] },
];
const list = (model: string, prompt_tokens: number, total_tokens = prompt_tokens) => ({
  ...{ object: "list", data, model, usage: { prompt_tokens, total_tokens } },
});
const request = (extra: object = {}) => ({ model: "m", input: ["harbour", "tide"], ...extra });

testConformance(jina, [
  {
    name: "embeddings, its own members kept",
    operation: "embed",
    request: request({
      task: "retrieval.query",
      late_chunking: true,
      dimensions: 64,
      encoding_format: "float",
      user: "u",
    }),
    sent: { path: "/embeddings", body: request({ task: "retrieval.query", late_chunking: true, dimensions: 64 }) },
    dropped: ["user"],
    answer: { object: "list", data, model: "m-1", usage: { total_tokens: 9, prompt_tokens: 8 } },
    wanted: list("m-1", 8, 9),
  },
  {
    name: "embeddings in another form",
    operation: "embed",
    request: { model: "m", input: "harbour", encoding_format: "base64" },
    sent: { body: { model: "m", input: "harbour", embedding_type: "base64" } },
    answer: { data, usage: { total_tokens: 4 } },
    wanted: list("m", 4),
  },
  { name: "tokens", operation: "embed", request: { model: "m", input: [[1], [2]] }, refused: /lists of tokens/ },
]);

testConformance(voyage, [
  {
    name: "embeddings",
    operation: "embed",
    request: {
      model: "voyage-3",
      input: "harbour",
      dimensions: 256,
      encoding_format: "float",
      input_type: "query",
      user: "u",
    },
    sent: {
      path: "/embeddings",
      body: { model: "voyage-3", input: ["harbour"], output_dimension: 256, input_type: "query" },
    },
    dropped: ["user"],
    answer: { object: "list", data, model: "voyage-3", usage: { total_tokens: 9 } },
    wanted: list("voyage-3", 9),
  },
  {
    name: "embeddings as base64",
    operation: "embed",
    request: request({ encoding_format: "base64" }),
    sent: { body: request({ encoding_format: "base64" }) },
    answer: { data: [{ embedding: "zczMPQ==", index: 0 }], model: "m" },
    wanted: { object: "list", data: [{ embedding: "zczMPQ==", index: 0 }], model: "m" },
  },
  { name: "tokens", operation: "embed", request: { model: "m", input: [1] }, refused: /lists of tokens/ },
]);

testConformance(nomic, [
  {
    name: "embeddings",
    operation: "embed",
    request: request({ task_type: "search_query", dimensions: 64, encoding_format: "float", user: "u" }),
    sent: {
      path: "/embedding/text",
      body: { model: "m", texts: ["harbour", "tide"], task_type: "search_query", dimensionality: 64 },
    },
    dropped: ["user"],
    answer: {
      embeddings: data.map(({ embedding }) => embedding),
      model: "m",
      usage: { prompt_tokens: 7, total_tokens: 7 },
    },
    wanted: list("m", 7),
  },
  { name: "another form", operation: "embed", request: request({ encoding_format: "base64" }), refused: /as numbers/ },
]);

const bearer = { authorization: "Bearer provider-key" };
const body = { model: "m", input: "a" };
for (const [provider, url] of [
  ["jina", "https://api.jina.ai/v1/embeddings"],
  ["voyage", "https://api.voyageai.com/v1/embeddings"],
  ["nomic", "https://api-atlas.nomic.ai/v1/embedding/text"],
] as const) {
  await testCalls(provider, [
    { name: "is called at its own address", path: "/embeddings", body, url, sent: bearer },
    { name: "has no chat", refused: /does not have it/ },
  ]);
}

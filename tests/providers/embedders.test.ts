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
  object: "list",
  data,
  model,
  usage: { prompt_tokens, total_tokens },
});
const request = (extra: object = {}) => ({ model: "m", input: ["harbour", "tide"], ...extra });

testConformance(jina, [
  {
    name: "embeddings, with its own fields",
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
    wanted: {
      object: "list",
      model: "m",
      usage: { prompt_tokens: 4, total_tokens: 4 },
      data: [
        { object: "embedding", index: 0, embedding: "zczMPc3MTD4=" },
        { object: "embedding", index: 1, embedding: "mpmZPs3MzD4=" },
      ],
    },
  },
  {
    name: "text and images",
    operation: "embed",
    request: {
      model: "jina-clip-v2",
      input: [
        "a",
        { text: "b" },
        { image: "https://example.com/a.png" },
        { image: { base64: "AAAA" } },
        { image: { url: "data:image/png;base64,BBBB" } },
      ],
    },
    sent: {
      body: {
        model: "jina-clip-v2",
        input: ["a", { text: "b" }, { image: "https://example.com/a.png" }, { image: "AAAA" }, { image: "BBBB" }],
      },
    },
    answer: { data: [], usage: { total_tokens: 4 } },
    wanted: { object: "list", data: [], model: "jina-clip-v2", usage: { prompt_tokens: 4, total_tokens: 4 } },
  },
  {
    name: "a text and an image as one",
    operation: "embed",
    request: { model: "m", input: [{ text: "a", image: { base64: "AAAA" } }] },
    refused: /only one of them/,
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
    wanted: {
      object: "list",
      data: [{ embedding: "zczMPQ==", index: 0 }],
      model: "m",
      usage: { prompt_tokens: 0, total_tokens: 0 },
    },
  },
  {
    name: "text, images and videos in one request",
    operation: "embed",
    request: {
      model: "voyage-multimodal-3.5",
      dimensions: 512,
      input_type: "document",
      encoding_format: "base64",
      input: [
        "harbour",
        { text: "tide", image: { url: "https://example.com/a.png" } },
        { image: { base64: "iVBORw==" }, video: { url: "https://example.com/a.mp4" } },
        { content: [{ type: "text", text: "its own form" }] },
      ],
    },
    sent: {
      path: "/multimodalembeddings",
      body: {
        model: "voyage-multimodal-3.5",
        inputs: [
          { content: [{ type: "text", text: "harbour" }] },
          {
            content: [
              { type: "text", text: "tide" },
              { type: "image_url", image_url: "https://example.com/a.png" },
            ],
          },
          {
            content: [
              { type: "image_base64", image_base64: "data:image/png;base64,iVBORw==" },
              { type: "video_url", video_url: "https://example.com/a.mp4" },
            ],
          },
          { content: [{ type: "text", text: "its own form" }] },
        ],
        input_type: "document",
        output_dimension: 512,
      },
    },
    answer: { data: [{ object: "embedding", embedding: [1, -0.5], index: 0 }], model: "m", usage: { total_tokens: 7 } },
    wanted: {
      object: "list",
      model: "m",
      usage: { prompt_tokens: 7, total_tokens: 7 },
      data: [{ object: "embedding", embedding: "AACAPwAAAL8=", index: 0 }],
    },
  },
  {
    name: "an empty input",
    operation: "embed",
    request: { model: "voyage-multimodal-3", input: [{ other: 1 }] },
    refused: /no text, image or video/,
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
  {
    name: "embeddings as base64, encoded by the gateway",
    operation: "embed",
    request: request({ encoding_format: "base64" }),
    sent: { body: { model: "m", texts: ["harbour", "tide"] } },
    answer: { embeddings: [[1, -0.5]] },
    wanted: {
      object: "list",
      model: "m",
      usage: { prompt_tokens: 0, total_tokens: 0 },
      data: [{ object: "embedding", index: 0, embedding: "AACAPwAAAL8=" }],
    },
  },
  { name: "another form", operation: "embed", request: request({ encoding_format: "int8" }), refused: /as numbers/ },
]);

const bearer = { authorization: "Bearer provider-key" };
const body = { model: "m", input: "a" };
for (const [provider, url] of [
  ["jina", "https://api.jina.ai/v1/embeddings"],
  ["voyage", "https://api.voyageai.com/v1/embeddings"],
  ["nomic", "https://api-atlas.nomic.ai/v1/embedding/text"],
] as const) {
  await testCalls(provider, [
    { name: "is called at its own URL", path: "/embeddings", body, url, sent: bearer },
    { name: "has no chat", refused: /does not have it/ },
  ]);
}

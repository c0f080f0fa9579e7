import assert from "node:assert/strict";
import { test } from "node:test";
import type { Provider } from "../../src/providers/core/types.ts";
import { createProviderRegistry } from "../../src/providers/registry.ts";
import type { EmbeddingRequest } from "../../src/schemas/embeddings.ts";
import { testConformance } from "../conformance/suite.ts";

const registry = createProviderRegistry();
const settings: Readonly<Record<string, string>> = { "vertex-project-id": "p", "workers-ai-account-id": "a" };

function find(slug: string): Provider {
  return registry.get(slug) ?? assert.fail(`there is no ${slug}`);
}

function embedOf(slug: string) {
  return find(slug).bind((name) => settings[name] ?? null).operations.embed ?? assert.fail(`${slug} embeds nothing`);
}

const texts = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`);
const image = { image: { base64: "AAAA" } };

/** Provider and input, and the sizes of the parts it is sent in. */
const splits: readonly (readonly [string, string, EmbeddingRequest["input"], number[] | undefined])[] = [
  ["bedrock", "amazon.titan-embed-text-v2:0", texts(3), [1, 1, 1]],
  ["bedrock", "us.amazon.titan-embed-text-v2:0", texts(1), undefined],
  ["bedrock", "amazon.titan-embed-text-v2:0", "t", undefined],
  ["bedrock", "amazon.titan-embed-text-v2:0", [1, 2, 3], undefined],
  ["bedrock", "cohere.embed-v4:0", texts(97), [96, 1]],
  ["bedrock", "cohere.embed-english-v3", [image, "a"], [1, 1]],
  ["bedrock", "cohere.embed-v4:0", [image, "a"], undefined],
  ["cohere", "embed-v4.0", texts(200), [96, 96, 8]],
  ["cohere", "embed-english-v3.0", [image, image], [1, 1]],
  ["voyage", "voyage-3", texts(1001), [1000, 1]],
  ["google", "gemini-embedding-001", texts(101), [100, 1]],
  ["vertex-ai", "text-embedding-005", texts(251), [250, 1]],
  ["vertex-ai", "gemini-embedding-001", texts(2), [1, 1]],
  ["vertex-ai", "gemini-embedding-2", texts(2), [1, 1]],
  ["vertex-ai", "multimodalembedding@001", [image, image], [1, 1]],
  ["workers-ai", "@cf/baai/bge-m3", texts(101), [100, 1]],
  ["dashscope", "text-embedding-v4", texts(21), [10, 10, 1]],
  ["byteplus", "skylark-embedding-vision", texts(2), [1, 1]],
  ["byteplus", "ep-1", texts(2), undefined],
  ["byteplus", "ep-1", [image, "a"], [1, 1]],
];
for (const [slug, model, input, sizes] of splits) {
  test(`${slug} splits ${JSON.stringify(input).slice(0, 30)} for ${model} into ${sizes?.join(" + ") ?? "one call"}`, () => {
    const request: EmbeddingRequest = { model, input: structuredClone(input), user: "u" };
    const parts = embedOf(slug).split?.(request);
    assert.deepEqual(
      parts?.map((part) => part.input.length),
      sizes,
    );
    assert.deepEqual(request, { model, input, user: "u" });
    if (!parts) return;
    const joined: unknown[] = [];
    for (const part of parts) joined.push(...part.input);
    assert.deepEqual(joined, input);
    for (const part of parts) {
      assert.equal(part.user, "u");
      assert.equal(embedOf(slug).split?.(part), undefined);
    }
  });
}

test("bedrock joins responses in order and sums their usage", () => {
  const part = (embedding: number, usage?: object) => ({ data: [{ object: "embedding", index: 0, embedding }], usage });
  const answers = [
    { ...part(1, { prompt_tokens: 2, total_tokens: 3 }), model: "m-1" },
    part(2),
    part(3, { prompt_tokens: 4, total_tokens: null }),
  ];
  assert.deepEqual(embedOf("bedrock").join?.(answers as never, { model: "m", input: "" }), {
    object: "list",
    model: "m-1",
    usage: { prompt_tokens: 6, total_tokens: 3 },
    data: [1, 2, 3].map((embedding, index) => ({ object: "embedding", index, embedding })),
  });
});

testConformance(find("byteplus"), [
  {
    name: "texts",
    operation: "embed",
    request: { model: "ep-1", input: ["a"], encoding_format: "base64" },
    sent: { path: "/embeddings", body: { model: "ep-1", input: ["a"], encoding_format: "base64" } },
    answer: { object: "list", data: [{ object: "embedding", index: 0, embedding: "AACAPw==" }], model: "m" },
    wanted: { object: "list", data: [{ object: "embedding", index: 0, embedding: "AACAPw==" }], model: "m" },
  },
  {
    name: "text, an image and a video as one vector",
    operation: "embed",
    request: {
      model: "ep-1",
      dimensions: 1024,
      input: [{ text: "tide", image: { base64: "iVBORw==" }, video: { url: "https://example.com/a.mp4" } }],
    },
    sent: {
      path: "/embeddings/multimodal",
      body: {
        model: "ep-1",
        dimensions: 1024,
        input: [
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw==" } },
          { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
          { type: "text", text: "tide" },
        ],
      },
    },
    answer: {
      object: "list",
      model: "m",
      data: { object: "embedding", embedding: [1, -0.5] },
      usage: { prompt_tokens: 9, total_tokens: 9, prompt_tokens_details: { image_tokens: 8, text_tokens: 1 } },
    },
    wanted: {
      object: "list",
      model: "ep-1",
      usage: { prompt_tokens: 9, total_tokens: 9 },
      data: [{ object: "embedding", index: 0, embedding: [1, -0.5] }],
    },
  },
  {
    name: "parts in its native form",
    operation: "embed",
    request: { model: "ep-1", input: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] },
    sent: {
      body: { model: "ep-1", input: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] },
    },
    answer: { data: { embedding: "AACAPw==" } },
    wanted: "*",
  },
  { name: "tokens", operation: "embed", request: { model: "ep-1", input: [1] }, refused: /lists of tokens/ },
]);

for (const slug of ["together-ai", "nebius", "github", "dashscope"]) {
  testConformance(find(slug), [
    {
      name: "numbers where base64 was requested",
      operation: "embed",
      request: { model: "m", input: "a", encoding_format: "base64" },
      answer: {
        object: "list",
        data: [{ index: 0, embedding: [1, -0.5], own: 1 }],
        usage: { total_tokens: 4 },
        id: "x",
      },
      wanted: {
        object: "list",
        id: "x",
        model: "m",
        usage: { prompt_tokens: 4, total_tokens: 4 },
        data: [{ index: 0, embedding: "AACAPwAAAL8=", own: 1 }],
      },
    },
    {
      name: "base64 unchanged",
      operation: "embed",
      request: { model: "m", input: "a", encoding_format: "base64" },
      answer: { data: [{ index: 0, embedding: "AACAPwAAAL8=" }], id: "x" },
      wanted: { data: [{ index: 0, embedding: "AACAPwAAAL8=" }], id: "x" },
    },
  ]);
}

for (const slug of [
  "together-ai",
  "dashscope",
  "zhipu",
  "upstage",
  "siliconflow",
  "byteplus",
  "mistral-ai",
  "ollama",
  "workers-ai",
  "cohere",
  "voyage",
  "jina",
  "nomic",
  "google",
  "vertex-ai",
  "bedrock",
  "ai21",
]) {
  const model = slug === "bedrock" ? "amazon.titan-embed-text-v2:0" : "m";
  for (const input of [
    [1, 2],
    [[1], [2]],
  ]) {
    testConformance(find(slug), [
      {
        name: `refuses the tokens ${JSON.stringify(input)}`,
        operation: "embed",
        settings,
        request: { model, input },
        refused: /tokens/,
      },
    ]);
  }
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { findOperation } from "../../src/providers/core/types.ts";
import { builtInProviders } from "../../src/providers/registry.ts";

const messages = [{ role: "user", content: "Hello" }];
const vendor = { x_vendor_option: { level: "sentinel-vendor" } };
/** OpenAI's fields, each with a value that can be recognised wherever a provider accepts it. */
const ofText = { user: "sentinel-user", safety_identifier: "sentinel-safety", prompt_cache_key: "sentinel-key" };
const ofChat = { ...ofText, verbosity: "sentinel-verbosity", prompt_cache_retention: "sentinel-retention" };
const ofImages = { user: "sentinel-user", background: "sentinel-background", moderation: "sentinel-moderation" };

/** The request of each operation. */
const asked = {
  chat: [{ messages }, ofChat],
  complete: [{ prompt: "Hello" }, { user: "sentinel-user", suffix: "sentinel-suffix" }],
  embed: [{ input: "Hello" }, { user: "sentinel-user" }],
  rerank: [{ query: "Hello", documents: ["a"] }, {}],
  generateImage: [{ prompt: "A harbour" }, ofImages],
  speak: [{ input: "Hello", voice: "v" }, { instructions: "sentinel-instructions" }],
  messages: [{ messages, max_tokens: 5 }, {}],
  responses: [{ input: "Hello" }, {}],
  moderate: [{ input: "Hello" }, {}],
  search: [{ query: "Hello" }, {}],
  ocr: [{ document: { type: "document_url", document_url: "data:application/pdf;base64,AA==" } }, {}],
} as const;
type Operation = keyof typeof asked;

/** Settings some providers need before they can be called. */
const settings: Readonly<Record<string, Record<string, string>>> = {
  "azure-openai": { "azure-resource-name": "res", "azure-deployment-id": "dep", "azure-api-version": "v1" },
  "azure-ai": { "azure-foundry-url": "https://res.services.ai.azure.com" },
  oracle: { "oracle-region": "us-chicago-1", "oracle-tenancy": "t" },
  "vertex-ai": { "vertex-project-id": "p" },
  "workers-ai": { "workers-ai-account-id": "acc" },
};

/** Models by provider and operation, where not every name works. */
const models: Readonly<Record<string, Partial<Record<Operation, readonly string[]>>>> = {
  ai21: { chat: ["jamba-large"] },
  // APIs that only speak chat need no other test
  "azure-ai": { messages: [], responses: [] },
  databricks: { messages: ["databricks-claude-haiku-4-5"], responses: ["databricks-gpt-5"] },
  bedrock: {
    chat: ["anthropic.claude-3-haiku-20240307-v1:0", "cohere.command-r-v1:0", "amazon.nova-lite-v1:0"],
    complete: [
      "cohere.command-text-v14",
      "meta.llama3-8b-instruct-v1:0",
      "mistral.mixtral-8x7b-instruct-v0:1",
      "amazon.titan-text-express-v1",
      "ai21.j2-ultra-v1",
      "anthropic.claude-v2:1",
    ],
    embed: ["cohere.embed-english-v3", "amazon.titan-embed-text-v2:0", "amazon.nova-2-multimodal-embeddings-v1:0"],
    generateImage: ["stability.sd3-large-v1:0", "stability.stable-diffusion-xl-v1", "amazon.nova-canvas-v1:0"],
    rerank: ["cohere.rerank-v3-5:0"],
    messages: ["anthropic.claude-3-haiku-20240307-v1:0"],
  },
  "bedrock-mantle": { messages: ["anthropic.claude-haiku-4-5"], chat: ["m", "anthropic.claude-haiku-4-5"] },
  google: { generateImage: ["imagen-4.0", "gemini-2.5-flash-image"] },
  oracle: { chat: ["meta.llama-3", "cohere.command-r", "cohere.command-a-vision"] },
  "stability-ai": { generateImage: ["stable-image-core", "stable-diffusion-v1-6"] },
  "fireworks-ai": { generateImage: ["flux-1-dev", "stable-diffusion-xl"] },
  "vertex-ai": {
    chat: ["gemini-2.5-flash", "anthropic.claude-haiku-4-5", "mistralai.mistral-large", "meta.llama-3"],
    embed: ["text-embedding-005", "gemini-embedding-2", "multimodalembedding@001"],
    generateImage: ["imagen-4.0", "gemini-2.5-flash-image"],
    messages: ["anthropic.claude-haiku-4-5"],
  },
};
/** Whether a field is part of the path. */
const isPath = (slug: string, member: string) => slug === "predibase" && member === "user";

for (const provider of builtInProviders.filter(({ isLocal }) => !isLocal)) {
  const { slug } = provider;
  for (const name of provider.operationNames.filter((one): one is Operation => Object.hasOwn(asked, one))) {
    const [members, known] = asked[name];
    for (const model of models[slug]?.[name] ?? ["m"]) {
      test(`${slug} ${name} of ${model} forwards unknown fields and reports known ones it does not support`, () => {
        const bound = provider.bind((header) => settings[slug]?.[header] ?? null);
        const request: never = { model, ...members, ...known, ...vendor } as never; // one model per operation
        const adapter = findOperation(bound, name, request);
        assert.ok(adapter);
        const dropped: string[] = [];
        const options = { strict: true, drop: (member: string) => void dropped.push(member) };
        const body = JSON.stringify(adapter.toUpstream?.(request, options) ?? request);
        assert.match(body, /"x_vendor_option":\{"level":"sentinel-vendor"\}/);
        const named = Object.entries(known).filter(
          ([member, value]) => body.includes(value) === dropped.includes(member) && !isPath(slug, member),
        );
        assert.deepEqual(named, [], `${dropped} ${body}`);
        assert.ok(!dropped.includes("x_vendor_option"));
      });
    }
  }
}

for (const provider of builtInProviders.filter(({ isLocal }) => !isLocal)) {
  const { slug } = provider;
  if (!provider.operationNames.includes("chat")) continue;
  for (const model of models[slug]?.chat ?? ["m"]) {
    test(`${slug} chat of ${model} prefers max_completion_tokens over max_tokens`, () => {
      const bound = provider.bind((header) => settings[slug]?.[header] ?? null);
      const request = { model, messages, user: "u", max_tokens: 641, max_completion_tokens: 642 };
      const adapter = bound.operations.chat;
      const options = { strict: true, drop: () => {} };
      const body = JSON.stringify(adapter?.toUpstream?.(request, options) ?? request);
      // hosts that support both decide themselves
      const passesBoth = body.includes('"max_tokens":641,"max_completion_tokens":642');
      assert.equal(passesBoth || (body.includes(":642") && !body.includes(":641")), true, body);
    });
  }
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidRequestError } from "../../src/errors.ts";
import type { OperationName } from "../../src/providers/core/operations.ts";
import { requireOperation } from "../../src/providers/core/types.ts";
import { builtInProviders } from "../../src/providers/registry.ts";
import { testConformance } from "../conformance/suite.ts";
import { compatProviders, compatVendors } from "../support/compat-vendors.ts";
import { requireListed } from "../support/listed.ts";

/** One letter per operation. */
const letters: Readonly<Record<string, OperationName>> = {
  C: "chat",
  T: "complete",
  E: "embed",
  M: "models",
  K: "rerank",
  D: "decide",
  R: "responses",
  I: "generateImage",
  S: "speak",
  A: "transcribe",
  L: "translate",
};
const suffixes: Readonly<Record<string, string>> = {
  chat: "/chat/completions",
  complete: "/completions",
  embed: "/embeddings",
  models: "/models",
  rerank: "/rerank",
  responses: "/responses",
  generateImage: "/images/generations",
  speak: "/audio/speech",
  transcribe: "/audio/transcriptions",
  translate: "/audio/translations",
};

/** Paths of operations in a provider's native shape. */
const ownPaths: Readonly<Record<string, string>> = {
  "fireworks-ai generateImage": "/image_generation/accounts/fireworks/models/m",
  "hyperbolic generateImage": "/image/generation",
  "minimax speak": "/t2a_v2",
};

/** By slug: the path prefix, the operations, and the default model. */
const expected: Readonly<Record<string, readonly [base: string, operations: string, model?: string]>> = {
  "together-ai": ["https://api.together.xyz/v1", "CTEKI", "meta-llama/Llama-3.2-11B-Vision-Instruct-Turbo"],
  groq: ["https://api.groq.com/openai/v1", "CMRSAL"],
  deepseek: ["https://api.deepseek.com/v1", "CM", "deepseek-chat"],
  "x-ai": ["https://api.x.ai/v1", "CTEMRI", "grok-beta"],
  "fireworks-ai": [
    "https://api.fireworks.ai/inference/v1",
    "CTEMKI",
    "accounts/fireworks/models/llama-v3p1-405b-instruct",
  ],
  cerebras: ["https://api.cerebras.ai/v1", "CM"],
  deepinfra: ["https://api.deepinfra.com/v1/openai", "CEMK", "deepinfra/airoboros-70b"],
  dashscope: ["https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "CEM", "qwen-turbo"],
  "z-ai": ["https://api.z.ai/api/paas/v4", "CM", "glm-4.6"],
  zhipu: ["https://open.bigmodel.cn/api/paas/v4", "CEM", "glm-3-turbo"],
  moonshot: ["https://api.moonshot.cn/v1", "CM", "moonshot-v1-8k"],
  minimax: ["https://api.minimax.io/v1", "CS"],
  openrouter: ["https://openrouter.ai/api/v1", "CMKDR", "openrouter/auto"],
  byteplus: ["https://ark.ap-southeast.bytepluses.com/api/v3", "CERI"],
  modal: ["https://api.modal.com/v1", "CTEM"],
  anyscale: ["https://api.endpoints.anyscale.com/v1", "CTEM", "meta-llama/Llama-2-7b-chat-hf"],
  lingyi: ["https://api.lingyiwanwu.com/v1", "CM", "yi-34b-chat-0205"],
  monsterapi: ["https://llm.monsterapi.ai/v1", "C", "mistralai/Mistral-7B-Instruct-v0.2"],
  ncompass: ["https://api.ncompass.tech/v1", "C", "meta-llama/Llama-3.3-70B-Instruct"],
  "perplexity-ai": ["https://api.perplexity.ai", "CR", "sonar"],
  sambanova: ["https://api.sambanova.ai/v1", "CM", "Meta-Llama-3.1-8B-Instruct"],
  "lemonfox-ai": ["https://api.lemonfox.ai/v1", "CIA", "zephyr-chat"],
  nscale: ["https://inference.api.nscale.com/v1", "CMI"],
  hyperbolic: ["https://api.hyperbolic.xyz/v1", "CMI"],
  "kluster-ai": ["https://api.kluster.ai/v1", "CEM", "klusterai/Meta-Llama-3.1-8B-Instruct-Turbo"],
  cometapi: ["https://api.cometapi.com/v1", "CEM", "gpt-3.5-turbo"],
  matterai: ["https://api.matterai.so/v1", "C", "axon"],
  ovhcloud: ["https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", "CM"],
  aibadgr: ["https://aibadgr.com/api/v1", "CM"],
  iointelligence: ["https://api.intelligence.io.solutions/api/v1", "CEM"],
  "inference-net": ["https://api.inference.net/v1", "CM", "llama3"],
  lambda: ["https://api.lambdalabs.com/v1", "CTM", "Liquid-AI-40B"],
  nebius: ["https://api.studio.nebius.ai/v1", "CTEM", "Qwen/Qwen2.5-72B-Instruct-fast"],
  nextbit: ["https://api.nextbit256.com/v1", "CT", "microsoft:phi-4"],
  krutrim: ["https://cloud.olakrutrim.com/v1", "C", "Llama-3.3-70B-Instruct"],
  "featherless-ai": ["https://api.featherless.ai/v1", "CTM", "mistralai/Magistral-Small-2506"],
  upstage: ["https://api.upstage.ai/v1/solar", "CE", "solar-pro"],
  "novita-ai": ["https://api.novita.ai/v3/openai/v1", "CTMK", "lzlv_70b"],
  siliconflow: ["https://api.siliconflow.cn/v1", "CEMKI", "deepseek-ai/DeepSeek-V2-Chat"],
  "302ai": ["https://api.302.ai/v1", "CM", "gpt-3.5-turbo"],
  deepbricks: ["https://api.deepbricks.ai/v1", "CMI", "gpt-3.5-turbo"],
  lepton: ["https://api.lepton.ai/api/v1", "CTA"],
  "lightning-ai": ["https://lightning.ai/api/v1", "C"],
  meta: ["https://api.llama.com/compat/v1", "CM"],
  "nvidia-nim": ["https://integrate.api.nvidia.com/v1", "CTEM"],
  "fal-ai": ["https://fal.run/openrouter/router/openai/v1", "C"],
};

/** Headers besides `authorization: Bearer <key>`. */
const otherHeaders: Readonly<Record<string, object>> = {
  "fal-ai": { authorization: "Key k" },
};

test("compat declarations are all listed here and registered", () => {
  requireListed(Object.keys(compatVendors), Object.keys(expected), "expected, the base URLs and operations,");
  const slugs = builtInProviders.map(({ slug }) => slug);
  assert.deepEqual(slugs, [...new Set(slugs)], "no slug stands twice");
  for (const slug of Object.keys(expected)) assert.ok(slugs.includes(slug), slug);
});

const messages = [{ role: "user", content: "When does the lock open?" }];
const answer = {
  id: "fx-1",
  object: "chat.completion",
  created: 1_790_000_000,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "At six." }, logprobs: null, finish_reason: "stop" }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
};

for (const provider of compatProviders) {
  const { slug } = provider;
  const [base, operations, model] = expected[slug] ?? ["", ""];
  const names = [...operations].map((letter) => letters[letter] ?? assert.fail(letter));
  const bound = provider.bind(() => null);

  test(`${slug} is called at its base URL, with its operations`, () => {
    assert.deepEqual(Object.keys(bound.operations).toSorted(), names.toSorted());
    for (const name of names) {
      const path = requireOperation(bound, name).path({
        model: "m",
        messages,
        prompt: "",
        input: "a",
        query: "q",
        documents: ["d"],
        voice: "v",
      });
      // its decisions are beside its version
      if (name === "decide") assert.equal(bound.baseUrl + path, "https://openrouter.ai/api/alpha/decisions");
      else if (slug === "deepinfra" && name === "rerank") assert.equal(path, "/inference/m");
      // its chats have no version in their path
      else if (slug === "perplexity-ai" && name === "responses") assert.equal(path, "/v1/responses");
      else assert.equal(bound.baseUrl + path, base + (ownPaths[`${slug} ${name}`] ?? suffixes[name]));
      assert.equal(requireOperation(bound, name).method ?? "POST", name === "models" ? "GET" : "POST");
    }
  });

  test(`${slug} authenticates`, () => {
    assert.deepEqual(bound.authenticate("k"), otherHeaders[slug] ?? { authorization: "Bearer k" });
    assert.equal(bound.authenticate(undefined).authorization, undefined, "nothing is sent without a credential");
  });

  testConformance(provider, [
    {
      name: "text",
      request: { model: "m", messages: [{ role: "developer", content: "Be brief." }, ...messages] },
      sent: {
        body: {
          model: "m",
          messages: [{ role: slug === "openrouter" ? "developer" : "system", content: "Be brief." }, ...messages],
        },
      },
      answer,
      wanted: answer,
    },
    {
      name: "a request without a model",
      request: { model: "", messages },
      sent: { body: { model: model ?? "", messages } },
      answer,
      wanted: answer,
    },
  ]);
}

test("embeddings have separate default models", () => {
  const found: Record<string, unknown> = {};
  for (const provider of compatProviders) {
    const adapter = provider.bind(() => null).operations.embed;
    const sent = adapter?.toUpstream?.({ model: "", input: "a" }, { strict: true, drop: assert.fail });
    if (sent !== undefined && Reflect.get(Object(sent), "model") !== "") found[provider.slug] = sent;
  }
  assert.deepEqual(found, {
    "x-ai": { model: "v1", input: "a" },
    dashscope: { model: "text-embedding-v1", input: "a" },
    zhipu: { model: "embedding-2", input: "a" },
    nebius: { model: "BAAI/bge-en-icl", input: "a" },
    upstage: { model: "solar-embedding-1-large-query", input: "a" },
  });
});

test("modal takes a pair of proxy tokens", () => {
  const read = (name: string) => ({ "modal-key": "wk-1", "modal-secret": "ws-1" })[name] ?? null;
  const modal = compatProviders.find(({ slug }) => slug === "modal");
  assert.deepEqual(modal?.bind(read).authenticate(undefined), { "modal-key": "wk-1", "modal-secret": "ws-1" });
});

test("byteplus has a region, which can only be part of a host name", () => {
  const byteplus = compatProviders.find(({ slug }) => slug === "byteplus") ?? assert.fail();
  const bindIn = (region: string) => byteplus.bind((name) => (name === "byteplus-region" ? region : null));
  assert.equal(bindIn("eu-west").baseUrl, "https://ark.eu-west.bytepluses.com/api/v3");
  for (const region of ["evil.example/", "a.b", "A", "", "a@b"]) {
    assert.throws(() => bindIn(region), InvalidRequestError, region);
  }
});

test("openrouter gets the calling application's name", () => {
  const openrouter = compatProviders.find(({ slug }) => slug === "openrouter");
  const read = (name: string) => ({ "openrouter-title": "T", "openrouter-referer": "https://t.example" })[name] ?? null;
  assert.deepEqual(openrouter?.bind(read).authenticate(undefined), {
    "x-title": "T",
    "http-referer": "https://t.example",
  });
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import * as v from "valibot";
import { GeminiModelList } from "../../src/schemas/gemini.ts";
import { DescribedModelList, MessagesModelList, ModelInfoList } from "../../src/schemas/models.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const operatorRow = { match: ["gpt-next*"], facts: { contextWindow: 7_000, takesTools: true, reasons: false } };
const gateway = await createTestGateway({
  transport: wire.transport,
  modelFacts: { openai: { rows: [operatorRow] } },
});
after(() => gateway.close());

const as = { key: workspaceKey };

/** A stored provider with a list of models. */
async function store(slug: string, service: string, models: readonly object[], allowsAll = false): Promise<void> {
  const body = { name: slug, slug: `${slug}-i`, ai_provider_id: service, key: "k", create_default_provider: false };
  await done(call(gateway, "POST /integrations", { ...as, body }));
  await done(call(gateway, "POST /providers", { ...as, body: { name: slug, slug, integration_id: `${slug}-i` } }));
  const list = { models, allow_all_models: allowsAll };
  await done(call(gateway, `PUT /integrations/${slug}-i/models`, { ...as, body: list }));
}

const enabled = (slug: string, more: object = {}) => ({ slug, enabled: true, ...more });

before(async () => {
  await store("main", "openai", [
    enabled("gpt-5.4", { model_facts: { retiredOn: "2031-01-02" } }),
    enabled("gpt-4o-mini-transcribe"),
    enabled("text-embedding-3-small"),
    enabled("gpt-next-1"),
    enabled("house-model", {
      is_custom: true,
      base_model_slug: "gpt-4.1",
      pricing_config: { pay_as_you_go: { request_token: { price: 0.0001 }, response_token: { price: 0.00025 } } },
    }),
    enabled("unheard-of", { is_custom: true }),
  ]);
  await store("claude", "anthropic", [
    enabled("claude-opus-4-1"),
    enabled("claude-sonnet-5"),
    enabled("claude-3-5-haiku-latest"),
  ]);
  await store("gemini", "google", [enabled("gemini-3.5-flash"), enabled("gemini-embedding-001")]);
});

const localFetch = (input: string | URL | Request, init?: RequestInit) =>
  gateway.gateway.fetch(new Request(input, init), { remoteAddress: "192.0.2.1" });

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await gateway.fetch(path, { headers: requestHeaders({ "x-gateway-provider": null, ...headers }) });
  return { status: response.status, body: await response.json() };
}

test("an OpenAI client no longer lists models without their windows, prices and abilities", async () => {
  const client = new OpenAI({ apiKey: workspaceKey, baseURL: "http://gateway.test/v1", fetch: localFetch });
  const models = await Array.fromAsync(await client.models.list());
  const found = new Map(models.map((model) => [model.id, model as object]));
  const { created: _, ...large } = found.get("@main/gpt-5.4") as Record<string, unknown>;
  assert.deepEqual(large, {
    id: "@main/gpt-5.4",
    object: "model",
    owned_by: "openai",
    slug: "gpt-5.4",
    provider: "main",
    ai_service: "openai",
    name: "gpt-5.4",
    context_length: 1_050_000,
    top_provider: { context_length: 1_050_000, max_completion_tokens: 128_000 },
    architecture: {
      input_modalities: ["text", "image", "file"],
      output_modalities: ["text"],
      modality: "text+image+file->text",
    },
    pricing: { prompt: "0.0000025", completion: "0.000015", input_cache_read: "0.00000025", web_search: "0.01" },
    supported_parameters: [
      "max_tokens",
      "tools",
      "tool_choice",
      "reasoning",
      "include_reasoning",
      "reasoning_effort",
      "response_format",
      "structured_outputs",
    ],
    expiration_date: "2031-01-02",
    shutdown_date: "2031-01-02",
  });
  assert.deepEqual(Object.keys(found.get("@main/unheard-of") ?? {}), [
    "id",
    "object",
    "created",
    "owned_by",
    "slug",
    "provider",
    "ai_service",
    "name",
  ]);
  const one = await client.models.retrieve("@claude/claude-sonnet-5");
  assert.equal(Reflect.get(one, "context_length"), 1_000_000);
});

test("what is not known of a model is absent, and what the operator says counts", async () => {
  const { body } = await get("/v1/models?provider=main");
  v.parse(DescribedModelList, body);
  const of = (slug: string) => body.data.find((model: { slug: string }) => model.slug === slug);
  const speech = of("gpt-4o-mini-transcribe");
  assert.deepEqual(
    [speech.context_length, speech.supported_parameters, speech.architecture.modality],
    [undefined, undefined, "audio->text"],
  );
  const embeddings = of("text-embedding-3-small");
  assert.deepEqual([embeddings.pricing, embeddings.context_length], [{ prompt: "0.00000002" }, undefined]);
  assert.deepEqual(
    [of("gpt-next-1").context_length, of("gpt-next-1").top_provider],
    [7_000, { context_length: 7_000 }],
  );
  const house = of("house-model");
  assert.deepEqual([house.context_length, house.pricing], [1_047_576, { prompt: "0.000001", completion: "0.0000025" }]);
});

test("an Anthropic client no longer lists models in the form of another API", async () => {
  const client = new Anthropic({ apiKey: workspaceKey, baseURL: "http://gateway.test", fetch: localFetch });
  const all = await Array.fromAsync(client.models.list({ limit: 4 }));
  assert.equal(all.length, 11);
  assert.equal(new Set(all.map(({ id }) => id)).size, 11);
  const sonnet = await client.models.retrieve("@claude/claude-sonnet-5");
  assert.deepEqual(
    all.find(({ id }) => id === sonnet.id),
    sonnet,
  );
  assert.deepEqual(
    [sonnet.type, sonnet.display_name, sonnet.lifecycle, sonnet.retires_at],
    ["model", "claude-sonnet-5", "active", null],
  );
  assert.deepEqual([sonnet.max_input_tokens, sonnet.max_tokens], [1_000_000, 128_000]);
  const descriptionOf = (id: string) => Reflect.get(all.find((model) => model.id === id) ?? {}, "description");
  assert.match(descriptionOf(sonnet.id), /^1,000,000 tokens, \$[\d.]+ in and \$[\d.]+ out per million$/);
  assert.equal(descriptionOf("@main/house-model"), "1,047,576 tokens, $1 in and $2.5 out per million");
  assert.equal(descriptionOf("@main/unheard-of"), undefined);
  const { capabilities } = sonnet;
  assert.deepEqual(
    [
      capabilities?.image_input,
      capabilities?.pdf_input,
      capabilities?.thinking.types.adaptive,
      capabilities?.effort.max,
    ],
    Array(4).fill({ supported: true }),
  );
  assert.deepEqual(capabilities?.thinking.types.enabled, { supported: false });
  const unknown = all.find(({ id }) => id === "@main/unheard-of");
  assert.deepEqual([unknown?.capabilities, unknown?.max_input_tokens, unknown?.max_tokens], [null, null, null]);
  const large = all.find(({ id }) => id === "@main/gpt-5.4");
  assert.deepEqual([large?.max_input_tokens, large?.retires_at], [922_000, "2031-01-02T00:00:00Z"]);
  assert.match(Date.parse(sonnet.created_at) > 0 ? "a time" : "none", /a time/);
});

test("pages of the Anthropic form lead forwards and backwards", async () => {
  const page = async (query: string) =>
    (await get(`/v1/models?provider=main&${query}`, { "anthropic-version": "2023-06-01" })).body;
  const whole = await page("limit=1000");
  v.parse(MessagesModelList, whole);
  const ids: string[] = whole.data.map(({ id }: { id: string }) => id);
  const first = await page("limit=2");
  assert.deepEqual([first.first_id, first.last_id, first.has_more], [ids[0], ids[1], true]);
  const next = await page(`limit=2&after_id=${encodeURIComponent(first.last_id)}`);
  assert.deepEqual([next.first_id, next.last_id], [ids[2], ids[3]]);
  const back = await page(`limit=2&before_id=${encodeURIComponent(next.first_id)}`);
  assert.deepEqual([back.first_id, back.last_id, back.has_more], [ids[0], ids[1], false]);
  const behind = await page("after_id=unknown");
  assert.deepEqual(behind, { data: [], has_more: false, first_id: null, last_id: null });
  const { status } = await get("/v1/models?limit=x", { "anthropic-version": "2023-06-01" });
  assert.equal(status, 400);
});

test("a Gemini client no longer lists models without token limits and their methods", async () => {
  const { body } = await get("/v1beta/models");
  v.parse(GeminiModelList, body);
  const of = (id: string) => body.models.find(({ name }: { name: string }) => name === `models/${id}`);
  assert.deepEqual(of("@gemini/gemini-3.5-flash"), {
    name: "models/@gemini/gemini-3.5-flash",
    version: "",
    displayName: "gemini-3.5-flash",
    supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    thinking: true,
  });
  assert.deepEqual(of("@gemini/gemini-embedding-001").supportedGenerationMethods, [
    "embedContent",
    "batchEmbedContents",
  ]);
  assert.equal(of("@main/unheard-of").supportedGenerationMethods.length, 5);
  assert.equal((await get("/v1beta/models/@main/gpt-5.4")).body.inputTokenLimit, 922_000);
});

test("LiteLLM's clients find limits, prices and abilities of models", async () => {
  for (const path of ["/model/info", "/v1/model/info"]) {
    const { body } = await get(path);
    v.parse(ModelInfoList, body);
    assert.equal(body.data.length, 11);
    const { body: one } = await get(`${path}?litellm_model_id=${encodeURIComponent("@main/gpt-5.4")}`);
    assert.deepEqual(one.data, [
      {
        model_name: "@main/gpt-5.4",
        litellm_params: { model: "openai/gpt-5.4" },
        model_info: {
          id: "@main/gpt-5.4",
          key: "gpt-5.4",
          litellm_provider: "openai",
          mode: "chat",
          max_input_tokens: 922_000,
          max_output_tokens: 128_000,
          max_tokens: 128_000,
          input_cost_per_token: 0.0000025,
          output_cost_per_token: 0.000015,
          cache_read_input_token_cost: 0.00000025,
          input_cost_per_token_above_272k_tokens: 0.000005,
          output_cost_per_token_above_272k_tokens: 0.0000225,
          cache_read_input_token_cost_above_272k_tokens: 0.0000005,
          supports_function_calling: true,
          supports_tool_choice: true,
          supports_reasoning: true,
          supports_response_schema: true,
          supports_vision: true,
          supports_pdf_input: true,
          supports_audio_input: false,
          supports_video_input: false,
          supports_audio_output: false,
          supported_openai_params: one.data[0].model_info.supported_openai_params,
          deprecation_date: "2031-01-02",
        },
      },
    ]);
  }
});

test("the list of a config has the models of its providers in each form", async () => {
  const headers = { "x-gateway-config": JSON.stringify({ provider: "@gemini" }) };
  const { body } = await get("/model/info", headers);
  assert.deepEqual(
    body.data.map(({ model_name: name }: { model_name: string }) => name),
    ["@gemini/gemini-3.5-flash", "@gemini/gemini-embedding-001"],
  );
});

test("windows in a provider's own list reach clients of all dialects, and its list is not changed otherwise", async (context) => {
  const { answer } = wire;
  context.after(() => {
    wire.answer = answer;
  });
  const entry = {
    type: "model",
    id: "claude-new",
    display_name: "Claude New",
    created_at: "2026-01-01T00:00:00Z",
    max_input_tokens: 300_000,
    max_tokens: 9_000,
    capabilities: { batch: { supported: true } },
  };
  wire.answer = () => Response.json({ data: [entry], has_more: false });
  const headers = { "x-gateway-provider": "@claude" };
  const { body: asOpenai } = await get("/v1/models", headers);
  const [model] = asOpenai.data;
  assert.deepEqual([model.context_length, model.top_provider.max_completion_tokens], [300_000, 9_000]);
  const { body: asMessages } = await get("/v1/models", { ...headers, "anthropic-version": "2023-06-01" });
  const [{ capabilities, max_tokens: most, display_name: name }] = asMessages.data;
  assert.deepEqual([capabilities, most, name], [entry.capabilities, 9_000, "Claude New"]);
  const { body: asGemini } = await get("/v1beta/models", headers);
  assert.deepEqual([asGemini.models[0].inputTokenLimit, asGemini.models[0].outputTokenLimit], [300_000, 9_000]);

  wire.answer = () =>
    Response.json({ models: [{ name: "models/gemini-new", inputTokenLimit: 5_000, outputTokenLimit: 600 }] });
  const { body: ofGoogle } = await get("/v1/models", {
    "x-gateway-provider": "@gemini",
    "anthropic-version": "2023-06-01",
  });
  assert.deepEqual([ofGoogle.data[0].max_input_tokens, ofGoogle.data[0].max_tokens], [5_000, 600]);

  const plain = { object: "list", data: [{ id: "gpt-5.4", object: "model", created: 1, owned_by: "openai" }] };
  wire.answer = () => Response.json(plain);
  const { body: ofOpenai } = await get("/v1/models", { "x-gateway-provider": "@main" });
  assert.deepEqual(ofOpenai.data, plain.data);
});

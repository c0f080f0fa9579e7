import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, workspaceKey as key, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let slug: string;
before(async () => {
  gateway = await createTestGateway();
  const body = { name: "Models", ai_provider_id: "openai", key: "sk-test-0123456789abcdef" };
  ({ slug } = await done<{ slug: string }>(call(gateway, "POST /integrations", { key, body })));
});
after(() => gateway.close());

interface Models {
  total: number;
  allow_all_models: boolean;
  models: { slug: string; enabled: boolean; configurations: Record<string, unknown> | null; [name: string]: unknown }[];
}
interface Refused {
  error: { code: string; param: string };
}

const put = (body: object) => done(call(gateway, `PUT /integrations/${slug}/models`, { key, body }));
const list = () => done<Models>(call<Models>(gateway, `GET /integrations/${slug}/models`, { key }));
const find = async (name: string) => (await list()).models.find((model) => model.slug === name);

test("GET /integrations/{slug}/models of a new integration is empty and allows all", async () => {
  assert.deepEqual(await list(), { total: 0, models: [], allow_all_models: true });
});

test("PUT /integrations/{slug}/models merges by slug", async () => {
  const pricing_config = {
    type: "static",
    pay_as_you_go: {
      request_token: { price: 0.00025 },
      additional_units: { web_search: { price: 1 } },
      image: { hd: { "1024x1024": { price: 8 } } },
    },
  };
  const custom = { slug: "org/mine:v1", enabled: 1, is_custom: "true", is_finetune: 0, base_model_slug: "gpt-4o" };
  assert.deepEqual(
    await put({
      models: [
        { ...custom, pricing_config },
        { slug: "gpt-4o", enabled: true },
      ],
    }),
    {},
  );
  const first = await find("org/mine:v1");
  assert.deepEqual(
    [first?.enabled, first?.is_custom, first?.is_finetune, first?.base_model_slug, first?.pricing_config],
    [true, true, false, "gpt-4o", pricing_config],
  );
  await put({ models: [{ slug: "org/mine:v1", enabled: false }], allow_all_models: false });
  const { models, total, allow_all_models } = await list();
  assert.deepEqual([total, models.length, allow_all_models], [2, 2, false]);
  const second = await find("org/mine:v1");
  assert.deepEqual({ ...second, last_updated_at: null }, { ...first, enabled: false, last_updated_at: null });
  await put({ models: [{ slug: "org/mine:v1", enabled: true, pricing_config: null, base_model_slug: null }] });
  const third = await find("org/mine:v1");
  assert.deepEqual([third?.pricing_config, third?.base_model_slug, third?.is_custom], [null, null, true]);
  assert.equal((await list()).allow_all_models, false);
});

test("settings of a model show their credentials as masks", async () => {
  const settings = {
    custom_host: "https://models.example.com/v1",
    custom_headers: { "X-Api-Key": "model-header-secret" },
  };
  const configurationsOf = async (configurations?: unknown) => {
    await put({
      key: "the-key-given-again",
      models: [{ slug: "hosted", enabled: true, is_custom: true, configurations }],
    });
    return (await find("hosted"))?.configurations;
  };
  const shown = { custom_host: settings.custom_host, custom_headers: { "masked_x-api-key": "mo*****ret" } };
  assert.deepEqual(await configurationsOf(settings), shown);
  assert.deepEqual(await configurationsOf(), shown);
  assert.deepEqual(await configurationsOf(shown), shown);
  assert.deepEqual(await configurationsOf({ custom_headers: { "x-api-key": null } }), {
    custom_host: settings.custom_host,
  });
  assert.deepEqual(await configurationsOf(settings), shown);
  assert.equal(await configurationsOf(null), null);
});

test("DELETE /integrations/{slug}/models removes custom models, named in query or body", async () => {
  const custom = ["a", "b", "c"].map((name) => ({ slug: name, enabled: true, is_custom: true }));
  await put({ models: [...custom, { slug: "built-in", enabled: true }] });
  const remove = (query: string, body?: object) =>
    call(gateway, `DELETE /integrations/${slug}/models${query}`, { key, ...(body && { body }) });
  assert.deepEqual(await done(remove("?slugs=a,b")), {});
  assert.deepEqual(await done(remove("", { models: ["c"] })), {});
  assert.equal(await find("a"), undefined);
  assert.equal(await find("c"), undefined);
  assert.equal(await refusal(remove("?slugs=built-in")), "400 AB01");
  assert.equal(await refusal(remove("?slugs=a")), "404 AB08");
  assert.equal(await refusal(remove("")), "400 AB01");
  assert.equal(await refusal(remove("", { models: "c" })), "400 AB01");
});

const model = { slug: "m", enabled: true };
const wrongFacts = [
  [{ temperature: "no" }, "temperature"],
  [{ sampling: "some" }, "sampling"],
  [{ sampling: null }, "sampling"],
  [{ efforts: ["low", "huge"] }, "efforts.1"],
  [{ efforts: "low" }, "efforts"],
  [{ thinkingBudget: [10, 5] }, "thinkingBudget"],
  [{ thinkingBudget: [10] }, "thinkingBudget"],
  [{ thinksByDefault: "yes" }, "thinksByDefault"],
  [{ toolNameLength: 3 }, "toolNameLength"],
  [{ contextWindow: 1.5 }, "contextWindow"],
  [{ retiredOn: "soon" }, "retiredOn"],
] as const;
for (const [name, body, param] of [
  ["no models", {}, "models"],
  ["models that are no list", { models: {} }, "models"],
  ["1001 models", { models: Array.from({ length: 1001 }, (_, index) => ({ ...model, slug: `m${index}` })) }, "models"],
  ["a model twice", { models: [model, model] }, "models"],
  ["a model without a slug", { models: [{ enabled: true }] }, "models.0.slug"],
  ["a slug of 256 characters", { models: [{ ...model, slug: "m".repeat(256) }] }, "models.0.slug"],
  ["a model that says nothing", { models: [{ slug: "m" }] }, "models.0.enabled"],
  ["a switch that is none", { models: [{ ...model, is_custom: "yes" }] }, "models.0.is_custom"],
  ["another setting", { models: [{ ...model, configurations: { x: 1 } }] }, "models.0.configurations.x"],
  [
    "a private host",
    { models: [model, { slug: "n", enabled: true, configurations: { custom_host: "http://127.0.0.2" } }] },
    "models.1.configurations.custom_host",
  ],
  [
    "pricing of another type",
    { models: [{ ...model, pricing_config: { type: "x", pay_as_you_go: {} } }] },
    "models.0.pricing_config.type",
  ],
  [
    "a negative price",
    { models: [{ ...model, pricing_config: { pay_as_you_go: { request_token: { price: -1 } } } }] },
    "models.0.pricing_config.pay_as_you_go.request_token",
  ],
  ...wrongFacts.map(
    ([facts, param]) =>
      [
        `the facts ${JSON.stringify(facts)}`,
        { models: [{ ...model, model_facts: facts }] },
        `models.0.model_facts.${param}`,
      ] as const,
  ),
  ["allow_all_models that is a text", { models: [], allow_all_models: "x" }, "allow_all_models"],
] as const) {
  test(`PUT /integrations/{slug}/models refuses ${name}`, async () => {
    const { status, body: answer } = await call<Refused>(gateway, `PUT /integrations/${slug}/models`, { key, body });
    assert.deepEqual([status, answer.error.code], [400, "AB01"]);
    assert.ok(answer.error.param.startsWith(param), answer.error.param);
  });
}

test("a workspace key cannot read models of an integration that is only shared with it", async () => {
  const body = { name: "Lent", ai_provider_id: "openai", key: "sk-test-0123456789abcdef", slug: "lent" };
  await done(call(gateway, "POST /integrations", { body }));
  await done(
    call(gateway, "PUT /integrations/lent/workspaces", { body: { workspaces: [{ id: "default", enabled: true }] } }),
  );
  assert.equal(await refusal(call(gateway, "GET /integrations/lent/models", { key })), "403 AB03");
  assert.equal(
    await refusal(call(gateway, "PUT /integrations/lent/models", { key, body: { models: [] } })),
    "403 AB03",
  );
  assert.equal((await done<Models>(call<Models>(gateway, "GET /integrations/lent/models"))).total, 0);
});

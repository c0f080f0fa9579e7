import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { costOfBatchLine } from "../../src/inference/call/cost.ts";
import { createPriceList } from "../../src/pricing/own-prices.ts";
import { call, done } from "../support/control.ts";
import { type CannedResponse, cachedNanos, cachedUsage, chatAnswer, messageUsage } from "../support/cost-rows.ts";
import {
  createTestGateway,
  requestHeaders,
  type ShownLog,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

/** The upstream's response, and what it sends before that. */
let canned: CannedResponse = { body: {} };
const failures: CannedResponse[] = [];
let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream((_, response) => {
    const { status = 200, type = "application/json", body } = failures.shift() ?? canned;
    response.writeHead(status, { "content-type": type });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const messages = [{ role: "user", content: "Hello" }];
async function rowOf(response: Response): Promise<ShownLog> {
  await response.arrayBuffer();
  return waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "");
}

/** An integration with custom prices, and a provider of the same name. */
async function createPriced(slug: string, { models, multiplier }: { models?: readonly object[]; multiplier?: object }) {
  const options = { key: workspaceKey };
  const body = {
    name: slug,
    slug,
    ai_provider_id: "openai",
    key: "fake-stored-credential-1234567890",
    configurations: { custom_host: `${upstream.url}/v1` },
    create_default_provider: true,
    default_provider_slug: `${slug}-provider`,
    ...(multiplier && { pricing_adjustments: { multiplier } }),
  };
  await done(call(gateway, "POST /integrations", { ...options, body }));
  if (models) await done(call(gateway, `PUT /integrations/${slug}/models`, { ...options, body: { models } }));
}

async function costOfStored(slug: string, model = "gpt-4o"): Promise<number | null> {
  canned = chatAnswer(cachedUsage, { model: "neither" });
  const headers = requestHeaders({ "x-gateway-provider": `@${slug}-provider` });
  const body = JSON.stringify({ model, messages });
  const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
  assert.equal(response.status, 200);
  return (await rowOf(response)).cost;
}

const cents = (price: number) => ({ price });
const ownModel = (slug: string, prices?: object, more: object = {}) => ({
  slug,
  enabled: true,
  is_custom: true,
  ...(prices && { pricing_config: { type: "static", pay_as_you_go: prices } }),
  ...more,
});

for (const [name, slug, settings, model, nanos] of [
  [
    "own prices win over the list's",
    "own",
    { models: [ownModel("gpt-4o", { request_token: cents(0.0001), response_token: cents(0.0002) })] },
    "gpt-4o",
    100 * 1_000 + 10 * 2_000,
  ],
  [
    "a model the list does not have",
    "custom",
    {
      models: [
        ownModel("in-house", {
          request_token: cents(0.00025),
          cache_read_input_token: cents(0.00001),
          additional_units: { web_search: cents(1) },
          fixed_cost: { request: cents(0.5) },
        }),
      ],
    },
    "in-house",
    60 * 2_500 + 40 * 100 + 5_000_000,
  ],
  [
    "the model it is made of",
    "tuned",
    { models: [ownModel("tuned-1", undefined, { base_model_slug: "gpt-4o" })] },
    "tuned-1",
    cachedNanos,
  ],
  ["a factor on all", "all", { multiplier: { default: 1.1 } }, "gpt-4o", 330_000],
  [
    "a factor of its own",
    "kinds",
    { multiplier: { default: 2, response_token: 0.5 } },
    "gpt-4o",
    2 * (60 * 2_500 + 40 * 1_250) + 50_000,
  ],
  [
    "a factor and a price",
    "both",
    {
      models: [ownModel("gpt-4o", { request_token: cents(0.0001) })],
      multiplier: { request_token: 1.15, cache_read_input_token: 0 },
    },
    "gpt-4o",
    60 * 1_150,
  ],
  ["no price", "none", { models: [ownModel("in-house")] }, "in-house", null],
] as const) {
  test(`the cost by an integration's prices: ${name}`, async () => {
    await createPriced(slug, settings);
    assert.equal(await costOfStored(slug, model), nanos === null ? null : nanos / 1e7);
  });
}

test("each call of a model with a fixed price costs it, also where nothing was counted", async () => {
  await createPriced("fixed", { models: [ownModel("by-call", { fixed_cost: { request: cents(0.5) } })] });
  const headers = requestHeaders({ "x-gateway-provider": "@fixed-provider" });
  const body = JSON.stringify({ model: "by-call", messages });
  for (const [answer, cost] of [
    [chatAnswer(undefined), 0.5],
    [{ status: 500, body: { error: { message: "no" } } }, 0],
  ] as const) {
    canned = answer;
    const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
    assert.equal((await rowOf(response)).cost, cost);
  }
});

test("the cost of a request follows a change of an integration's prices", async () => {
  await createPriced("changing", { models: [ownModel("m", { request_token: cents(0.0001) })] });
  assert.equal(await costOfStored("changing", "m"), 0.01);
  const models = [ownModel("m", { request_token: cents(0.0002) })];
  await done(call(gateway, "PUT /integrations/changing/models", { key: workspaceKey, body: { models } }));
  assert.equal(await costOfStored("changing", "m"), 0.02);
});

test("the cost of a request is at the prices of the target that responded", async () => {
  await createPriced("dear", { models: [ownModel("gpt-4o", { request_token: cents(1) })] });
  canned = chatAnswer(cachedUsage);
  const listed = { provider: "openai", api_key: "upstream-key", custom_host: `${upstream.url}/v1` };
  const costOf = async (...targets: readonly object[]) => {
    const config = { strategy: { mode: "fallback", on_status_codes: [500] }, targets };
    const headers = requestHeaders({ "x-gateway-provider": null, "x-gateway-config": JSON.stringify(config) });
    const body = JSON.stringify({ model: "gpt-4o", messages });
    const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
    assert.equal(response.status, 200, await response.clone().text());
    return (await rowOf(response)).cost;
  };
  const failure = { status: 500, body: { error: { message: "no" } } };
  failures.push(failure);
  assert.equal(await costOf(listed, { provider: "@dear-provider" }), 100);
  failures.push(failure);
  assert.equal(await costOf({ provider: "@dear-provider" }, listed), cachedNanos / 1e7);
});

const responseUsage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 0 },
  total_tokens: 150,
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 40 },
};

for (const [name, body, model, nanos] of [
  // halves of 2.50 and 10 dollars
  ["a chat at half the price", { usage: cachedUsage }, "gpt-4o-audio-preview", 100 * 1_250 + 10 * 5_000],
  ["a chat at its own price", { usage: cachedUsage }, "gpt-4o", 60 * 1_250 + 40 * 625 + 10 * 5_000],
  ["a response", { usage: responseUsage }, "gpt-4o", 100 * 1_250 + 50 * 5_000],
  [
    // a search costs the same in a batch
    "a response that searched the web",
    { usage: responseUsage, output: [{ type: "web_search_call", status: "completed" }] },
    "gpt-4o",
    100 * 1_250 + 50 * 5_000 + 10_000_000,
  ],
  ["an unknown model", { usage: cachedUsage }, "no-such-model", undefined],
  ["no usage", {}, "gpt-4o", undefined],
] as const) {
  test(`costOfBatchLine() of ${name}`, () => {
    assert.equal(costOfBatchLine(body, { provider: "openai", model, answeredModel: null }), nanos);
  });
}

test("costOfBatchLine() of a message, and at an integration's prices", () => {
  const target = { provider: "anthropic", model: "claude-sonnet-4-5", answeredModel: null };
  // halves of 3, 0.30, 3.75, 6 and 15 dollars
  const nanos = 10 * 1_500 + 20 * 150 + 10 * 1_875 + 20 * 3_000 + 5 * 7_500;
  assert.equal(costOfBatchLine({ usage: messageUsage }, target), nanos);
  const prices = createPriceList({
    provider: "openai",
    models: new Map(),
    adjustments: { multiplier: { default: 3 } },
  });
  const own = { provider: "openai", model: "gpt-4o", answeredModel: "gpt-4o-2024-08-06", prices };
  assert.equal(costOfBatchLine({ usage: cachedUsage }, own), 3 * (cachedNanos / 2));
});

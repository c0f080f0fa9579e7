import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { findPriceTiers } from "../../src/pricing/prices.ts";
import type { ExplainResponse } from "../../src/schemas/explain.ts";
import { largePrompts, type PromptSample, smallPrompts } from "../routing/auto-prompts.ts";
import { call, done } from "../support/control.ts";
import { answering, type FaultyUpstream, faultOf } from "../support/faults.ts";
import { chat, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { ask, configHeader, logOf, startRouted, targetOf } from "../support/routed.ts";

const routed = await startRouted(1);
const { gateway, upstreams } = routed;
const [upstream] = upstreams as [FaultyUpstream]; // there is one
beforeEach(() => routed.reset());
after(() => routed.close());

const [smallModel, largeModel] = ["gpt-5-nano", "gpt-5"];
const tier = (name: string, model: string, more: object = {}) =>
  targetOf(upstream, { name, override_params: { model }, ...more });
const auto = (strategy: object = {}, more: object = {}) => ({
  strategy: { mode: "auto", ...strategy },
  targets: [tier("small", smallModel), tier("large", largeModel)],
  ...more,
});
const saying = (content: string) => ({ messages: [{ role: "user", content }] });
const easy = saying("What is the capital of Peru?");
const hard = saying("Prove that there are infinitely many primes, analyze the proof and explain each step.");

/** The plan of a config for a request. */
function explain(config: object, body: object, path = "/v1/chat/completions", metadata = {}): Promise<ExplainResponse> {
  const request = { path, metadata, body: { model: "m", ...body } };
  return done(call(gateway, "POST /configs/explain", { key: workspaceKey, body: { config, request } }));
}

const functions = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ type: "function", function: { name: `tool_${index}` } }));
const filler = "The quarterly figures rose slightly in all regions but one. ";

/** The request of a labelled prompt. */
function requestOf(sample: PromptSample): { messages: object[]; tools?: object[] } {
  const {
    text,
    tools = 0,
    images = false,
    turns = 0,
    document = 0,
  } = typeof sample === "string" ? { text: sample } : sample;
  const material = document === 0 ? "" : `${filler.repeat(Math.ceil(document / filler.length))}\n\n`;
  const said = { type: "text", text: material + text };
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const earlier = Array.from({ length: turns }, () => [
    { role: "user", content: "And the next part?" },
    { role: "assistant", content: "Here it is, as you asked for it." },
  ]);
  const messages = [...earlier.flat(), { role: "user", content: images ? [said, image] : said.text }];
  return { messages, ...(tools > 0 && { tools: functions(tools) }) };
}

/** Dollars of a request with a model, by its list price, where each answer has 400 tokens. */
function costOf(model: string, request: object): number {
  const price = findPriceTiers("openai", model)?.prices[0];
  assert.ok(price);
  const [input, output] = [price.tokens.get("request_token"), price.tokens.get("response_token")];
  assert.ok(input !== undefined && output !== undefined);
  return (input * JSON.stringify(request).length) / 4 + output * 400;
}

/** The part of prompts with the right tier, and the cost as a part of that of the large model alone. */
async function measure(half: number): Promise<{ right: number; cost: number }> {
  let [all, right, cost, always] = [0, 0, 0, 0];
  for (const [samples, label] of [
    [smallPrompts, "small"],
    [largePrompts, "large"],
  ] as const) {
    for (const sample of samples.filter((_, index) => index % 2 === half)) {
      const request = requestOf(sample);
      const plan = await explain(auto(), request);
      const model = plan.attempts[0]?.model ?? "";
      all++;
      if (plan.auto?.[0]?.target === label) right++;
      cost += costOf(model, request);
      always += costOf(largeModel, request);
    }
  }
  return { right: right / all, cost: cost / always };
}

test("the labelled prompts are 300, none twice", () => {
  const all = [...smallPrompts, ...largePrompts].map((sample) => JSON.stringify(sample));
  assert.deepEqual([all.length, new Set(all).size], [300, 300]);
});

// the words of the rules were chosen by the prompts at odd places alone
for (const [half, name] of [
  [1, "that the rules were made by"],
  [0, "that the rules were not made by"],
] as const) {
  test(`the rules alone choose the right tier for 0.9 of the prompts ${name}, at half the cost`, async () => {
    const { right, cost } = await measure(half);
    assert.ok(right >= 0.9, `${right} are right`);
    assert.ok(cost <= 0.5, `the cost is ${cost}`);
  });
}

test("auto names the target and its model in headers, and says why in the row and in explain", async () => {
  for (const [body, target, model] of [
    [easy, "small", smallModel],
    [hard, "large", largeModel],
  ] as const) {
    const answer = await ask(gateway, { config: auto(), body });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(JSON.parse(upstream.calls.at(-1)?.text ?? "").model, model);
    const row = await logOf(gateway, answer);
    const plan = await explain(auto(), body);
    assert.deepEqual(plan.auto, [Reflect.get(row, "auto")]);
    assert.equal(plan.auto?.[0]?.target, target);
    assert.match(
      plan.auto?.[0]?.reason ?? "",
      target === "large" ? /^score [\d.]+: \+\d hard task: a proof/ : /an easy task/,
    );
  }
  const response = await chat(
    gateway,
    { model: "m", ...easy },
    { "x-gateway-provider": null, ...configHeader(auto()) },
  );
  assert.equal(response.headers.get("x-gateway-auto-target"), "small");
  assert.equal(response.headers.get("x-gateway-auto-model"), smallModel);
  await response.text();
});

test("the reason of a choice holds nothing of the prompt", async () => {
  const secret = saying("Prove why sk-fake-123456 breaks, debug why Xylophone fails, and design a zebra strategy.");
  const { auto: [choice] = [] } = await explain(auto(), secret);
  assert.doesNotMatch(choice?.reason ?? "", /sk-fake|xylophone|zebra/i);
});

test("the row and a graph have what the largest target would have cost more", async () => {
  const usage = { prompt_tokens: 1_000_000, completion_tokens: 1, total_tokens: 1_000_000 };
  const message = { role: "assistant", content: "Lima" };
  upstream.script(() =>
    answering({
      id: "x",
      object: "chat.completion",
      model: smallModel,
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage,
    }),
  );
  const row = await logOf(gateway, await ask(gateway, { config: auto(), body: easy }));
  const priceOf = (model: string) =>
    (findPriceTiers("openai", model)?.prices[0]?.tokens.get("request_token") ?? 0) * 100;
  assert.ok(priceOf(largeModel) > priceOf(smallModel));
  assert.equal(
    Number(Reflect.get(row, "auto_saved_cost")).toFixed(2),
    (priceOf(largeModel) - priceOf(smallModel)).toFixed(2),
  );
  const times = `time_of_generation_min=2000-01-01T00:00:00Z&time_of_generation_max=2100-01-01T00:00:00Z`;
  const graph = await done<{ summary: { saved_cost: number; largest_cost: number } }>(
    call(gateway, `GET /analytics/graphs/auto/savings?${times}`, { key: workspaceKey }),
  );
  assert.ok(graph.summary.saved_cost >= priceOf(largeModel) - priceOf(smallModel));
  assert.ok(graph.summary.largest_cost > graph.summary.saved_cost);
});

const rules = (query: object) => auto({ rules: [{ query, then: "large" }] });

/** A query that holds for the second request and not for the first. */
const asked: readonly [query: object, not: object, holds: object][] = [
  [{ "request.tokens": { $gt: 500 } }, easy, saying("word ".repeat(600))],
  [{ "request.characters": { $gt: 40 } }, saying("Hi"), saying("What is the capital of the country of Peru?")],
  [{ "request.images": true }, easy, requestOf({ text: "What is in this picture?", images: true })],
  [{ "request.tools": { $gte: 2 } }, { ...easy, tools: functions(1) }, { ...easy, tools: functions(2) }],
  [{ "request.code": true }, easy, saying("What is `x` here?\n```js\nlet x = 1;\n```")],
  [{ "request.language": "de" }, easy, saying("Wie heißt die Hauptstadt von Peru und wie viele Menschen leben dort?")],
  [{ "request.turns": { $gt: 2 } }, easy, requestOf({ text: "And in Chile?", turns: 2 })],
  [{ "params.user": "ada" }, easy, { ...easy, user: "ada" }],
];

for (const [query, not, holding] of asked) {
  test(`a rule of auto holds by ${JSON.stringify(query)}`, async () => {
    const first = await explain(rules(query), not);
    assert.deepEqual([first.auto?.[0]?.target, first.auto?.[0]?.by], ["small", "score"]);
    const second = await explain(rules(query), holding);
    assert.deepEqual(
      [second.auto?.[0]?.target, second.auto?.[0]?.by, second.auto?.[0]?.reason],
      ["large", "rule", "rule 1 holds"],
    );
  });
}

test("a rule of auto holds by metadata, and requests in every dialect are read", async () => {
  const byPlan = await explain(rules({ "metadata.plan": "paid" }), easy, undefined, { plan: "paid" });
  assert.equal(byPlan.auto?.[0]?.target, "large");
  const text = "Prove that there are infinitely many primes, analyze the proof and explain each step.";
  for (const [path, ofText] of [
    ["/v1/messages", (said: string) => ({ max_tokens: 9, messages: [{ role: "user", content: said }] })],
    ["/v1/responses", (said: string) => ({ input: said })],
    ["/v1/responses", (said: string) => ({ input: [{ role: "user", content: [{ type: "input_text", text: said }] }] })],
    ["/v1/completions", (said: string) => ({ prompt: said })],
    ["/v1beta/models/m:generateContent", (said: string) => ({ contents: [{ role: "user", parts: [{ text: said }] }] })],
  ] as const) {
    for (const [said, target] of [
      ["What is the capital of Peru?", "small"],
      [text, "large"],
    ] as const) {
      const plan = await explain(auto(), ofText(said), path);
      assert.equal(plan.auto?.[0]?.target, target, path);
    }
  }
});

test("auto goes to the next larger target where the chosen one lacks what the request needs", async () => {
  const config = { strategy: { mode: "auto" }, targets: [tier("small", "gpt-3.5-turbo"), tier("large", largeModel)] };
  const plan = await explain(config, requestOf({ text: "What is in this picture?", images: true }));
  assert.equal(plan.auto?.[0]?.target, "large");
  assert.match(plan.auto?.[0]?.reason ?? "", /small cannot be used/);
});

test("a tier of auto is a pool, and a fallback around it goes on", async () => {
  const pool = { name: "large", strategy: { mode: "loadbalance" }, targets: [tier("a", "gpt-5"), tier("b", "gpt-5")] };
  const group = { strategy: { mode: "auto" }, targets: [tier("small", smallModel), pool] };
  const config = { strategy: { mode: "fallback" }, targets: [group, tier("last", "gpt-5")] };
  upstream.script(({ index }) => (index === 0 ? faultOf("500") : answering({ choices: [] })));
  const answer = await ask(gateway, { config, body: hard });
  const { attempts } = await logOf(gateway, answer);
  assert.deepEqual(
    attempts?.map(({ label }) => label),
    ["config.targets[0].targets[1].targets[0]", "config.targets[1]"],
  );
});

test("what cannot be a config of auto is refused at save", async () => {
  const one = { strategy: { mode: "auto" }, targets: [tier("small", smallModel)] };
  const unnamed = { strategy: { mode: "auto" }, targets: [targetOf(upstream), tier("large", largeModel)] };
  const twice = { strategy: { mode: "auto" }, targets: [tier("large", smallModel), tier("large", largeModel)] };
  const conditional = {
    ...auto(),
    strategy: { mode: "conditional", conditions: [{ query: { "request.tokens": 1 }, then: "small" }] },
  };
  for (const [config, message] of [
    [one, /must have at least two targets, the smallest first/],
    [unnamed, /targets\[0\]\.name, message: must be given/],
    [twice, /targets\[1\]\.name, message: must differ/],
    [auto({ rules: [] }), /strategy\.rules, message: must be a list of at least one rule/],
    [
      auto({ rules: [{ query: { "request.mood": 1 }, then: "small" }] }),
      /request\.<name> with one of the names tokens/,
    ],
    [
      auto({ rules: [{ query: { "request.tokens": 1 }, then: "huge" }] }),
      /Invalid target name found in the query router: huge/,
    ],
    [conditional, /in rules of the mode auto/],
  ] as const) {
    const answer = await call(gateway, "POST /configs", { key: workspaceKey, body: { name: "A config", config } });
    assert.equal(answer.status, 400);
    assert.match(JSON.stringify(answer.body).replaceAll("config: path: ", ""), message);
  }
});

test("requests without text go to the largest target of auto", async () => {
  const headers = requestHeaders({ "x-gateway-provider": null, ...configHeader(auto()) });
  const body = JSON.stringify({ model: "m" });
  const answer = await gateway.gateway.fetch(
    new Request("http://gateway.test/v1/own/path", { method: "POST", headers, body }),
  );
  assert.equal(answer.headers.get("x-gateway-last-used-option-index"), "config.targets[1]");
  await answer.text();
});

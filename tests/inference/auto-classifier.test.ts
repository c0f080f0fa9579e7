import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { ExplainResponse } from "../../src/schemas/explain.ts";
import { call, done } from "../support/control.ts";
import { answering, type FaultyUpstream, faultOf, success, type UpstreamCall } from "../support/faults.ts";
import { waitForLogs, workspaceKey } from "../support/gateway.ts";
import { ask, logOf, startRouted, targetOf } from "../support/routed.ts";

const routed = await startRouted(2);
const { gateway, upstreams } = routed;
const [upstream, classifying] = upstreams as [FaultyUpstream, FaultyUpstream]; // there are two
const key = workspaceKey;

/** A stored provider that calls the upstream of classifiers. */
async function createProvider(slug: string, service: string): Promise<void> {
  const configurations = { custom_host: `${classifying.url}/v1` };
  const integration = {
    name: slug,
    slug: `${slug}-integration`,
    ai_provider_id: service,
    key: "fake-key",
    configurations,
  };
  await done(call(gateway, "POST /integrations", { key, body: { ...integration, create_default_provider: false } }));
  const body = { name: slug, slug, integration_id: `${slug}-integration` };
  await done(call(gateway, "POST /providers", { key, body }));
}

before(async () => {
  await createProvider("judge", "typesafe");
  await createProvider("vectors", "openai");
});
beforeEach(() => routed.reset());
after(() => routed.close());

const auto = (classifier: object, strategy: object = {}) => ({
  strategy: { mode: "auto", classifier, ...strategy },
  targets: [targetOf(upstream, { name: "small" }), targetOf(upstream, { name: "large" })],
});
const judge = { kind: "decisions", provider: "@judge", model: "m1" };
const vectors = {
  kind: "examples",
  provider: "@vectors",
  model: "text-embedding-3-small",
  examples: { small: ["Say hello"], large: ["Sue my landlord"] },
};
const saying = (content: string) => ({ messages: [{ role: "user", content }] });
const deciding = (choice: string, confidence: number) =>
  answering({
    model: "m1",
    answers: { tier: { type: "choice", choice, probabilities: { small: 0.5, large: 0.5 }, confidence } },
  });

async function explain(config: object, body: object): Promise<ExplainResponse["auto"]> {
  const request = { body: { model: "m", ...body } };
  return (await done<ExplainResponse>(call(gateway, "POST /configs/explain", { key, body: { config, request } }))).auto;
}

test("a decision chooses where no rule holds; its answer is remembered, and explained without a call", async () => {
  classifying.script(() => deciding("large", 0.9));
  const config = auto(judge, { rules: [{ query: { "metadata.plan": "free" }, then: "small" }] });
  const body = saying("Hm, about the landlord.");
  const choice = { label: "config", target: "large", by: "classifier", reason: "decisions, confidence 0.90" };
  assert.equal((await explain(config, body))?.[0]?.by, "score");
  assert.equal(classifying.calls.length, 0);
  const answer = await ask(gateway, { config, body });
  assert.equal(answer.label, "config.targets[1]", answer.text);
  const [asked] = classifying.calls as [UpstreamCall];
  assert.deepEqual(JSON.parse(asked.text).state, { request: "Hm, about the landlord." });
  const rows = await waitForLogs(gateway, `trace_id=${answer.trace}`, 2, key);
  const own = rows.find((row) => Reflect.get(row, "auto") !== undefined);
  assert.deepEqual(Reflect.get(own ?? {}, "auto"), choice);
  assert.ok(
    rows.some((row) => Reflect.get(row, "virtual_key") === "judge"),
    "the call of the classifier has a row",
  );
  assert.equal((await ask(gateway, { config, body })).label, "config.targets[1]");
  assert.equal(classifying.calls.length, 1);
  assert.deepEqual(await explain(config, body), [choice]);
  const byRule = await ask(gateway, { config, body, headers: { "x-gateway-metadata": '{"plan":"free"}' } });
  assert.equal(byRule.label, "config.targets[0]");
});

for (const [name, fault, reason] of [
  ["is not sure", deciding("large", 0.1), /^the classifier is not sure \(decisions, confidence 0\.10\); score 0/],
  ["fails", faultOf("500"), /^the classifier failed with 500; score 0/],
  ["names no target", deciding("huge", 0.9), /^the classifier is not sure/],
] as const) {
  test(`the score chooses where the classifier ${name}, and the reason says so`, async () => {
    classifying.script(() => fault);
    const answer = await ask(gateway, { config: auto(judge), body: saying(`Good morning, it ${name}.`) });
    assert.equal(answer.label, "config.targets[0]", answer.text);
    const rows = await waitForLogs(gateway, `trace_id=${answer.trace}`, 2, key);
    const own = rows.map((row) => Reflect.get(row, "auto")).find((one) => one !== undefined);
    assert.equal(own.by, "score");
    assert.match(own.reason, reason);
  });
}

test("the nearest of labelled prompts chooses, and the prompts are embedded once", async () => {
  classifying.script(({ text }) => {
    const embedding = /sue|landlord|lawyer/i.test(JSON.parse(text).input) ? [0, 1, 0.1] : [1, 0, 0.1];
    return answering({
      object: "list",
      model: "e",
      data: [{ object: "embedding", index: 0, embedding }],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
  });
  const config = auto(vectors);
  for (const [text, label] of [
    ["Find me a lawyer", "config.targets[1]"],
    ["Good evening", "config.targets[0]"],
  ] as const) {
    const answer = await ask(gateway, { config, body: saying(text) });
    assert.equal(answer.label, label, answer.text);
  }
  assert.equal(classifying.calls.length, 4);
  assert.match((await explain(config, saying("Good evening")))?.[0]?.reason ?? "", /^examples, confidence 1\.00/);
});

test("a provider that does not exist leaves the choice to the score", async () => {
  upstream.script(() => success);
  const answer = await ask(gateway, { config: auto({ ...judge, provider: "@nobody" }), body: saying("Hi you") });
  assert.equal(answer.label, "config.targets[0]");
  const rows = await waitForLogs(gateway, `trace_id=${answer.trace}`, 2, key);
  assert.ok(
    rows.some((row) => /^the classifier failed with 400/.test(String(Object(Reflect.get(row, "auto")).reason))),
  );
});

test("a classifier that cannot be used is refused at save", async () => {
  const { kind: _, ...unnamed } = judge;
  const { examples: _none, ...bare } = vectors;
  for (const [classifier, message] of [
    [unnamed, /strategy\.classifier\.kind, message: must be given/],
    [{ ...judge, provider: "openai" }, /must name a stored provider as @slug/],
    [{ ...judge, confidence: 2 }, /strategy\.classifier\.confidence, message: must be at most 1/],
    [
      { ...judge, criteria: { huge: "x" } },
      /strategy\.classifier\.criteria\.huge, message: must be the name of a target/,
    ],
    [bare, /strategy\.classifier\.examples, message: must be given for this kind/],
    [{ ...vectors, examples: { huge: ["x"] } }, /strategy\.classifier\.examples\.huge, message: must be the name/],
    [
      { ...judge, provider: "@nobody" },
      /strategy\.classifier\.provider, message: names a provider that the workspace does not have: @nobody/,
    ],
    [{ ...judge, mood: 1 }, /strategy\.classifier\.mood, message: is not a member of a config/],
  ] as const) {
    const body = { name: "A config", config: auto(classifier) };
    const answer = await call(gateway, "POST /configs", { key, body });
    assert.equal(answer.status, 400);
    assert.match(JSON.stringify(answer.body), message);
  }
});

test("a rule that holds spares the call of the classifier", async () => {
  const config = auto(judge, { rules: [{ query: { "request.turns": 1 }, then: "large" }] });
  const answer = await ask(gateway, { config, body: saying("Hello again") });
  assert.equal(Reflect.get(await logOf(gateway, answer), "auto").by, "rule");
  assert.equal(classifying.calls.length, 0);
});

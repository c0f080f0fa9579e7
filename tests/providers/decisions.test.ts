import assert from "node:assert/strict";
import { test } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import { requireOperation } from "../../src/providers/core/types.ts";
import { openrouter } from "../../src/providers/openrouter/mod.ts";
import { builtInProviders } from "../../src/providers/registry.ts";
import { typesafe } from "../../src/providers/typesafe/mod.ts";
import { jsonFixture, testConformance } from "../conformance/suite.ts";

const request: object = Object(jsonFixture("typesafe", "decisions-request.json"));
const answer = jsonFixture("typesafe", "decisions.json");

for (const [provider, path] of [
  [typesafe, "/v1/systemone"],
  [openrouter, "/alpha/decisions"],
] as const) {
  testConformance(provider, [
    {
      name: "decisions",
      operation: "decide",
      request: { ...request, own: 1 },
      sent: { path, body: { ...request, own: 1 } },
      answer,
      wanted: answer,
    },
    {
      name: "decisions without a model in the response",
      operation: "decide",
      request,
      answer: { ...Object(answer), model: undefined, id: "gen-dec-1" },
      wanted: { ...Object(answer), model: "jev-latest", id: "gen-dec-1" },
    },
  ]);
}

const { decide } = typesafe.bind(() => null).operations;
const fromUpstream = (body: unknown) => decide?.fromUpstream?.(body, request as never, { strict: true, drop() {} });
const { answers } = Object(answer);
for (const [name, changed, wanted] of [
  ["none", { ...answers, anger: undefined }, /"anger"/],
  ["an answer of another type", { ...answers, refund: answers.queue }, /"refund"/],
  ["one without probabilities", { ...answers, queue: { type: "choice", choice: "other" } }, /"queue"/],
] as const) {
  test(`decideAt() rejects a response in which a question has ${name}`, () => {
    const given = JSON.parse(JSON.stringify({ ...Object(answer), answers: changed }));
    assert.throws(
      () => fromUpstream(given),
      (error) => error instanceof UpstreamError && error.status === 502 && wanted.test(error.message),
    );
  });
}

for (const [model, isServed] of [
  ["typesafe/jev-1.13", true],
  ["~typesafe/jev-latest", true],
  ["jev-latest", true],
  ["openai/gpt-4o", false],
  ["typesafe-like/jev", false],
] as const) {
  test(`openrouter decides by ${model}: ${isServed}`, () => {
    const adapter = requireOperation(
      openrouter.bind(() => null),
      "decide",
    );
    assert.equal(adapter.serves?.({ model, state: "", questions: {} }), isServed);
  });
}

test("hasLogprobs is set for exactly the providers that declare it", () => {
  const declared = builtInProviders.flatMap(({ slug, bind }) => {
    try {
      return bind(() => null).hasLogprobs ? [slug] : [];
    } catch {
      return []; // it needs settings
    }
  });
  assert.deepEqual(declared.toSorted(), ["azure-openai", "deepseek", "openai"]);
});

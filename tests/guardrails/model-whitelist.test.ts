import assert from "node:assert/strict";
import { test } from "node:test";
import { guard, problemsOf, runCheck } from "../support/guardrails.ts";

for (const [models, not, model, verdict] of [
  [["gpt-5", "gpt-5-mini"], undefined, "gpt-5", true],
  [["gpt-5-mini"], undefined, "gpt-5", false],
  [["gpt-*"], undefined, "gpt-5", false],
  [["GPT-5"], undefined, "gpt-5", false],
  [["gpt-5"], true, "gpt-5", false],
  [["gpt-4"], true, "gpt-5", true],
  [["gpt-5"], true, "@main/gpt-5", false],
  [["@main/gpt-5"], true, "@main/gpt-5", false],
  [["gpt-5"], undefined, "@main/gpt-5", false],
] as const) {
  test(`modelwhitelist of ${models} with not ${not} is ${verdict} for ${model}`, async () => {
    const parameters = { models, ...(not !== undefined && { not }) };
    const { result } = await runCheck("default.modelwhitelist", parameters, { request: { model } });
    assert.equal(result?.verdict, verdict);
    assert.equal(result?.error, null);
    assert.equal(result?.data?.model, model);
  });
}

test("modelwhitelist is known by its other spelling, and without its source", async () => {
  for (const id of ["default.modelWhitelist", "modelWhitelist", "modelwhitelist"]) {
    const { result } = await runCheck(id, { models: ["a"] }, { request: { model: "b" } });
    assert.deepEqual([result?.id, result?.verdict], ["default.modelwhitelist", false]);
  }
});

for (const request of [{}, { model: "" }, { model: 7 }]) {
  test(`modelwhitelist cannot decide about ${JSON.stringify(request)}, and a hook that denies fails closed`, async () => {
    const check = { id: "default.modelwhitelist", parameters: { models: ["a"], not: true } };
    const open = await guard([{ checks: [check] }], { request });
    assert.deepEqual([open.isFailed, open.results[0]?.checks[0]?.error?.name], [false, "CheckError"]);
    const closed = await guard([{ checks: [check], deny: true }], { request });
    assert.equal(closed.isDenied, true);
  });
}

for (const parameters of [{}, { models: [] }, { models: "gpt-5" }, { models: ["a"], not: "yes" }]) {
  test(`modelwhitelist rejects the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf("default.modelwhitelist", parameters);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", /^input_guardrails\[0\]\.checks\[0\]\.parameters\./);
  });
}

for (const id of [
  "default.modelwhitelist",
  "default.modelRules",
  "default.allowedRequestTypes",
  "default.requiredMetadataKeys",
  "default.requiredMetadataKeyPairs",
  "default.requestParametersCheck",
]) {
  test(`${id} runs before the call only`, () => {
    assert.deepEqual(problemsOf(id, {}, "output_guardrails"), [
      `output_guardrails[0].checks[0].parameters: cannot be used here: ${id} runs before the call only`,
    ]);
  });
}

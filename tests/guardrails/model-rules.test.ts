import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf, runCheck } from "../support/guardrails.ts";

const rules = {
  defaults: ["gpt-mini"],
  metadata: {
    team: { research: ["gpt-*", "claude-opus"], support: ["claude-haiku"], none: [] },
    tier: { gold: ["o3"] },
    beta: { true: ["preview-*-x*"] },
  },
};

for (const [metadata, model, verdict, matchedRules] of [
  [{}, "gpt-mini", true, []],
  [{}, "gpt-5", false, []],
  [{ team: "other" }, "gpt-mini", true, []],
  [{ team: "research" }, "gpt-5", true, ["team=research"]],
  [{ team: "research" }, "claude-opus", true, ["team=research"]],
  [{ team: "support" }, "gpt-mini", false, ["team=support"]], // a list was chosen: defaults no longer count
  [{ team: "support", tier: "gold" }, "o3", true, ["team=support", "tier=gold"]],
  [{ team: "support", tier: "gold" }, "claude-haiku", true, ["team=support", "tier=gold"]],
  [{ team: ["support", "research"] }, "gpt-5", true, ["team=research", "team=support"]],
  [{ team: "none" }, "gpt-mini", false, ["team=none"]],
  [{ beta: true }, "preview-a-x1", true, ["beta=true"]],
  [{ team: null }, "gpt-mini", true, []],
] as const) {
  test(`modelRules are ${verdict} for ${model} and ${JSON.stringify(metadata)}`, async () => {
    for (const not of [false, true]) {
      const { result } = await runCheck("default.modelRules", { rules, not }, { request: { model }, metadata });
      assert.equal(result?.verdict, verdict !== not);
      assert.deepEqual([...((result?.data?.matchedRules ?? ["?"]) as string[])].sort(), matchedRules);
    }
  });
}

for (const [form, model, fits] of [
  ["*", "any", true],
  ["gpt-*", "gpt-", true],
  ["gpt-*", "my-gpt-5", false],
  ["*-mini", "gpt-mini", true],
  ["*-mini", "gpt-mini-2", false],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["a*b*c", "a-c-b", false],
  ["a*b*c", "a-b-c-b-c", true],
  ["a**c", "abc", true],
  ["gpt.5", "gpt-5", false],
  ["@openai/*", "@openai/gpt-5", true],
] as const) {
  test(`modelRules: ${model} ${fits ? "fits" : "does not fit"} ${form}`, async () => {
    const parameters = { rules: { defaults: [form] } };
    const { result } = await runCheck("default.modelRules", parameters, { request: { model } });
    assert.equal(result?.verdict, fits);
  });
}

for (const [name, request, metadata] of [
  ["no rule is for it", { model: "gpt-5" }, { team: "x" }],
  ["it names no model", {}, { team: "research" }],
] as const) {
  test(`modelRules cannot decide about a request where ${name}`, async () => {
    const parameters = { rules: { metadata: rules.metadata }, failOnError: true };
    const { result } = await runCheck("default.modelRules", parameters, { request, metadata });
    assert.deepEqual([result?.verdict, result?.error?.name], [false, "CheckError"]);
  });
}

for (const parameters of [
  {},
  { rules: {} },
  { rules: { metadata: {} } },
  { rules: { metadata: { team: {} } } },
  { rules: [["gpt"]] },
  { rules: { defaults: "gpt" } },
  { rules: { metadata: [] } },
  { rules: { metadata: { team: { x: "gpt" } } } },
]) {
  test(`modelRules reject the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf("default.modelRules", parameters);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", /^input_guardrails\[0\]\.checks\[0\]\.parameters\.rules/);
  });
}

test("modelRules refuse a model whichever provider it is asked of", async () => {
  const rules = { defaults: ["gpt-5*"] };
  const { result } = await runCheck(
    "default.modelRules",
    { rules, not: true },
    { request: { model: "@main/gpt-5-mini" } },
  );
  assert.equal(result?.verdict, false);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createSlowClock, problemsOf, runCheck } from "../support/guardrails.ts";

for (const [operator, words, verdict] of [
  ["any", ["blue", "red"], true],
  ["any", ["red"], false],
  [undefined, ["blue"], true],
  ["all", ["blue", "sky"], true],
  ["all", ["blue", "red"], false],
  ["none", ["red", "Blue"], true],
  ["none", ["red", "sky"], false],
] as const) {
  test(`contains with ${operator} of ${words} is ${verdict}`, async () => {
    const parameters = { words, ...(operator && { operator }) };
    const { result } = await runCheck("default.contains", parameters, { text: "a blue sky", answers: true });
    assert.equal(result?.verdict, verdict);
    assert.deepEqual(result?.error, null);
  });
}

test("contains reports which words it found", async () => {
  const { result } = await runCheck("default.contains", { words: ["sky", "red"] }, { text: "a blue sky" });
  assert.deepEqual([result?.data?.foundWords, result?.data?.missingWords], [["sky"], ["red"]]);
});

for (const parameters of [{}, { words: [] }, { words: "sky" }, { words: ["sky"], operator: "some" }]) {
  test(`contains rejects the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf("default.contains", parameters);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", /^input_guardrails\[0\]\.checks\[0\]\.parameters\./);
  });
}

test("contains does not block other requests, however many words and however long the text", async () => {
  const words = Array.from({ length: 10_000 }, (_, index) => `word ${index}`);
  const ask = (milliseconds: number) =>
    runCheck("default.contains", { words }, { text: "lorem ipsum", clock: createSlowClock(milliseconds) });
  assert.match((await ask(400)).result?.error?.message ?? "", /take too long/);
  assert.equal((await ask(0.01)).result?.error, null);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf, runCheck } from "../support/guardrails.ts";

const id = "default.requiredMetadataKeys";

for (const [operator, metadataKeys, verdict] of [
  [undefined, ["user", "team"], true],
  [undefined, ["user", "cost"], false],
  ["all", ["user"], true],
  ["any", ["cost", "team"], true],
  ["any", ["cost"], false],
  ["none", ["cost", "place"], true],
  ["none", ["cost", "user"], false],
  ["all", ["User"], false],
  ["all", ["gone"], false],
  ["all", ["toString"], false],
  ["all", ["blank"], true],
] as const) {
  test(`requiredMetadataKeys with ${operator} of ${metadataKeys} is ${verdict}`, async () => {
    const metadata = { user: "u-1", team: "t-1", blank: "", gone: null };
    const { result } = await runCheck(id, { metadataKeys, ...(operator && { operator }) }, { metadata });
    assert.deepEqual([result?.verdict, result?.error], [verdict, null]);
  });
}

test("requiredMetadataKeys reports which keys exist", async () => {
  const { result } = await runCheck(id, { metadataKeys: ["user", "cost"] }, { metadata: { user: "u-1" } });
  assert.deepEqual([result?.data?.foundKeys, result?.data?.missingKeys], [["user"], ["cost"]]);
});

for (const parameters of [{}, { metadataKeys: [] }, { metadataKeys: "user" }, { metadataKeys: ["a"], operator: "x" }]) {
  test(`requiredMetadataKeys reject the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf(id, parameters);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", /^input_guardrails\[0\]\.checks\[0\]\.parameters\./);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf, runCheck } from "../support/guardrails.ts";

const id = "default.requiredMetadataKeyPairs";
const metadata = { team: "research", tier: "gold", roles: ["reader", "super-admin"], level: 3, isBeta: true };

for (const [rest, metadataPairs, verdict] of [
  [{}, { team: "research", tier: "gold" }, true],
  [{}, { team: "research", tier: "silver" }, false],
  [{}, { level: 3, isBeta: true }, true],
  [{}, { level: "3" }, true],
  [{}, { place: "x" }, false],
  [{}, { toString: "x" }, false],
  [{}, { roles: "reader" }, false],
  [{}, { team: ["research"] }, true],
  [{ operator: "any" }, { team: "x", tier: "gold" }, true],
  [{ operator: "any" }, { team: "x", tier: "x" }, false],
  [{ operator: "none" }, { team: "x", tier: "x" }, true],
  [{ operator: "none" }, { team: "x", tier: "gold" }, false],
  [{ matchType: "contains" }, { roles: ["reader", "owner"] }, true],
  [{ matchType: "contains" }, { roles: "admin" }, false],
  [{ matchType: "containsAll" }, { roles: ["reader", "super-admin"] }, true],
  [{ matchType: "containsAll" }, { roles: ["reader", "owner"] }, false],
  [{ matchType: "regex" }, { team: "^res", tier: "^(gold|silver)$" }, true],
  [{ matchType: "regex" }, { roles: ["^admin$", "^x$"] }, false],
  [{ matchType: "regex", operator: "any" }, { team: "x", level: "[0-9]" }, true],
] as const) {
  test(`requiredMetadataKeyPairs ${JSON.stringify({ ...rest, metadataPairs })} are ${verdict}`, async () => {
    const { result } = await runCheck(id, { ...rest, metadataPairs }, { metadata });
    assert.deepEqual([result?.verdict, result?.error], [verdict, null]);
  });
}

test("requiredMetadataKeyPairs reports which pairs match", async () => {
  const { result } = await runCheck(id, { metadataPairs: { team: "research", tier: "x" } }, { metadata });
  assert.deepEqual([result?.data?.matchedKeys, result?.data?.failedKeys], [["team"], ["tier"]]);
});

const place = "input_guardrails[0].checks[0].parameters";
for (const [parameters, ...wanted] of [
  [{}, `${place}.metadataPairs: `],
  [{ metadataPairs: {} }, `${place}.metadataPairs: `],
  [{ metadataPairs: ["a"] }, `${place}.metadataPairs`],
  [{ metadataPairs: { a: [] } }, `${place}.metadataPairs.a: `],
  [{ metadataPairs: { a: { b: 1 } } }, `${place}.metadataPairs.a: must be a string, a number`],
  [{ metadataPairs: { a: "x" }, operator: "some" }, `${place}.operator: `],
  [{ metadataPairs: { a: "x" }, matchType: "prefix" }, `${place}.matchType: `],
  [{ metadataPairs: { a: ["x", "y"] } }, `${place}.metadataPairs.a: must be one value where matchType is exact`],
  [
    { metadataPairs: { a: "(", b: "x", c: "(?=y)" }, matchType: "regex" },
    `${place}.metadataPairs.a: is not a valid regular expression: `,
    `${place}.metadataPairs.c: is not a valid regular expression: `,
  ],
] as const) {
  test(`requiredMetadataKeyPairs reject the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf(id, parameters);
    assert.equal(problems.length, wanted.length);
    for (const [index, start] of wanted.entries()) {
      assert.equal(problems[index]?.startsWith(start), true, problems[index]);
    }
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { createClaimMatcher, matchesClaim } from "../../src/guardrails/claim-match.ts";

for (const [matchType, actual, expected, fits] of [
  ["exact", "admin", ["admin"], true],
  ["exact", "Admin", ["admin"], false],
  ["exact", 7, ["7"], true],
  ["exact", true, ["true"], true],
  ["exact", "admin", ["admin", "user"], false],
  ["exact", ["admin"], ["admin"], false],
  ["exact", undefined, ["undefined"], false],
  ["exact", null, ["null"], false],
  ["contains", ["user", "admin"], ["admin", "owner"], true],
  ["contains", ["super-admin"], ["admin"], false],
  ["contains", "super-admin", ["admin"], false],
  ["contains", "admin", ["admin"], true],
  ["contains", [1, 2], ["2"], true],
  ["contains", [], ["admin"], false],
  ["contains", undefined, ["admin"], false],
  ["containsAll", ["a", "b", "c"], ["a", "c"], true],
  ["containsAll", ["a", "b"], ["a", "c"], false],
  ["containsAll", "a", ["a"], true],
  ["containsAll", undefined, ["a"], false],
  ["containsAll", "a", [], false],
  ["regex", "team-7", ["^team-[0-9]$"], true],
  ["regex", "my team-7", ["team-[0-9]$"], true],
  ["regex", "team-x", ["^team-[0-9]$", "x$"], true],
  ["regex", ["a", "team-7"], ["^team-"], true],
  ["regex", "x", ["^team-"], false],
  ["regex", undefined, [".*"], false],
  ["regex", "team", ["(", "team"], false],
  ["regex", { team: "x" }, ['"team":"x"'], true],
] as const) {
  test(`matchesClaim() of ${JSON.stringify(actual)} by ${matchType} with ${expected} is ${fits}`, () => {
    assert.equal(matchesClaim(actual, expected, matchType), fits);
  });
}

test("createClaimMatcher() reports what is wrong with a pattern", () => {
  assert.match(String(createClaimMatcher(["a", "(?=b)"], "regex")), /^is not a valid regular expression: /);
});

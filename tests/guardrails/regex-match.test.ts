import assert from "node:assert/strict";
import { test } from "node:test";
import { readHooks } from "../../src/guardrails/read-hooks.ts";
import { checks, createSlowClock, guard, problemsOf, runCheck } from "../support/guardrails.ts";

for (const [rule, text, isFound] of [
  ["b+", "abbc", true],
  ["^b", "abbc", false],
  ["B", "abbc", false],
  ["(?i)B", "abbc", true],
  ["\\d{3}-\\d{4}", "call 555-1234 now", true],
] as const) {
  test(`regexMatch finds ${rule} in ${text}: ${isFound}`, async () => {
    for (const not of [false, true]) {
      const { result } = await runCheck("default.regexMatch", { rule, not }, { text });
      assert.equal(result?.verdict, isFound !== not);
      assert.equal(result?.error, null);
    }
  });
}

test("regexMatch reports what it found and where", async () => {
  const { result } = await runCheck("default.regexMatch", { rule: "(?P<key>\\w+)=(\\d+)?(x)?" }, { text: "🙂 a=12" });
  const { matchedText, index, captures, groups } = result?.data ?? {};
  assert.deepEqual([matchedText, index], ["a=12", 3]);
  assert.deepEqual(captures, ["a", "12", null]);
  assert.deepEqual({ ...(groups as object) }, { key: "a" }); // a dictionary of names
});

test("regexMatch reports no match data without a match", async () => {
  const { result } = await runCheck("default.regexMatch", { rule: "x" }, { text: "a" });
  assert.deepEqual(Object.keys(result?.data ?? {}), ["explanation"]);
});

for (const [rule, problem] of [
  ["a(?=b)", /is not a valid regular expression/],
  ["(a)\\1", /is not a valid regular expression/],
  ["(", /is not a valid regular expression/],
  ["a".repeat(1_001), /at most 1000 characters/],
  ["", /./],
  [undefined, /./],
] as const) {
  test(`regexMatch refuses the rule ${rule?.slice(0, 20)}`, () => {
    const problems = problemsOf("default.regexMatch", { rule });
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", /^input_guardrails\[0\]\.checks\[0\]\.parameters\.rule: /);
    assert.match(problems[0] ?? "", problem);
  });
}

test("regexMatch takes linear time where other engines take ages", async () => {
  const { result } = await runCheck("default.regexMatch", { rule: "^(a+)+$" }, { text: `${"a".repeat(100_000)}b` });
  assert.equal(result?.verdict, false);
});

test("regexMatch reads the first 256 KiB of a text, and says so", async () => {
  const long = "x".repeat(256 * 1024);
  const inside = await runCheck("default.regexMatch", { rule: "end" }, { text: `end${long}` });
  assert.deepEqual([inside.result?.verdict, inside.result?.data?.isCut], [true, true]);
  const outside = await runCheck("default.regexMatch", { rule: "end" }, { text: `${long}end` });
  assert.deepEqual([outside.result?.verdict, outside.result?.data?.isCut], [false, true]);
});

test("regexMatch of a hook that denies refuses a text it cannot see all of", async () => {
  const text = `${"x".repeat(256 * 1024)}secret`;
  const checks = [{ id: "default.regexMatch", parameters: { rule: "secret", not: true } }];
  const { isDenied, results } = await guard([{ deny: true, checks }], { text });
  assert.equal(isDenied, true);
  assert.match(results[0]?.checks[0]?.error?.message ?? "", /^Cannot check: patterns match at most 262144 characters/);
});

test("regexMatch rejects patterns that are too large, alone or together", () => {
  for (const rule of ["(?:.?){1000}(?:.?){1000}[yz]", "(?:[a-z]{0,999}){0,1}[a-z]{0,999}x"]) {
    assert.match(problemsOf("default.regexMatch", { rule })[0] ?? "", /must repeat less/);
  }
  assert.deepEqual(problemsOf("default.regexMatch", { rule: "[a-z]{0,1000}[01]" }), []);
  const check = { id: "default.regexMatch", parameters: { rule: "(?:.?){1000}[yz]" } };
  const hooks = Array.from({ length: 2 }, () => ({ checks: Array.from({ length: 20 }, () => check) }));
  const { problems } = readHooks({ input_guardrails: hooks }, checks);
  assert.match(problems[0]?.message ?? "", /too many or too large patterns/);
});

test("regexMatch does not block other requests, however many patterns and however long the text", async () => {
  const check = { id: "default.regexMatch", parameters: { rule: "(?:.?){100}[yz]" } };
  const hooks = Array.from({ length: 2 }, () => ({
    checks: Array.from({ length: 20 }, () => check),
    on_error: "fail",
  }));
  const { isFailed, results } = await guard(hooks, { text: "a", clock: createSlowClock(200) });
  assert.equal(isFailed, true);
  assert.match(results[1]?.checks.at(-1)?.error?.message ?? "", /take too long/);
});

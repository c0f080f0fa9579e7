import assert from "node:assert/strict";
import { test } from "node:test";
import type { CheckResult, HookResult } from "../../src/schemas/hooks.ts";
import { fromStoredHooks, toStoredHooks } from "../../src/schemas/stored-hooks.ts";

const created_at = "2026-03-01T10:00:00.123Z";
const check: CheckResult = {
  id: "default.regexMatch",
  verdict: true,
  data: { explanation: "The pattern is not found in the text, expected no match" },
  error: null,
  transformed: false,
  execution_time: 0.02,
  created_at,
};
const hook: HookResult = {
  id: "no-keys",
  verdict: true,
  transformed: false,
  deny: false,
  async: false,
  type: "guardrail",
  checks: [check],
  feedback: null,
  execution_time: 0.04,
  created_at,
};

const checks: readonly CheckResult[] = [
  { ...check, verdict: false, data: null },
  { ...check, error: { name: "CheckError", message: "Cannot check: there is no text" } },
  { ...check, transformed: true },
  { ...check, created_at: "2026-03-01T10:00:00.124Z" },
  { ...check, fail_on_error: false },
];
const hooks: readonly HookResult[] = [
  hook,
  { ...hook, checks: [] },
  { ...hook, checks: [check, ...checks] },
  { ...hook, verdict: false, deny: true },
  { ...hook, transformed: true, type: "mutator" },
  { ...hook, async: true },
  { ...hook, feedback: { value: 1, weight: 0.5 } },
  { ...hook, guardrail_version_id: "version-1" },
  { ...hook, verdict: false, guardrail_version_id: "version-1" },
];

test("fromStoredHooks() returns the results that toStoredHooks() was given", () => {
  const stored: ReturnType<typeof toStoredHooks> = JSON.parse(JSON.stringify(toStoredHooks(hooks, [hook])));
  assert.deepEqual(fromStoredHooks(stored), { before_request_hooks: hooks, after_request_hooks: [hook] });
});

test("fromStoredHooks() returns the results of rows of earlier versions as they are", () => {
  const named = { before_request_hooks: [...hooks], after_request_hooks: [] };
  assert.deepEqual(fromStoredHooks(named), named);
});

test("toStoredHooks() makes results of checks that pass half as long as their names would", () => {
  const named = JSON.stringify({ before_request_hooks: [hook], after_request_hooks: [] });
  const stored = JSON.stringify(toStoredHooks([hook], []));
  assert.ok(stored.length * 2 < named.length, `${stored.length} of ${named.length} characters`);
});

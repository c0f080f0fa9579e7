import assert from "node:assert/strict";
import { test } from "node:test";
import type { InheritedSettings } from "../../src/routing/config.ts";
import { inherit, noSettings } from "../../src/routing/inherit.ts";

const retry = { attempts: 3, onStatusCodes: [500], useRetryAfter: true };
const cache = { mode: "semantic", maxAgeSeconds: 60, join: false, problem: undefined } as const;
const parent: InheritedSettings = {
  retry,
  cache,
  promptCache: { ttl: "1h" },
  labels: { region: "eu" },
  requireLabels: { region: "eu" },
  metadata: { tier: "a" },
  requestTimeoutMs: 1,
  totalTimeoutMs: 2,
  streamIdleTimeoutMs: 3,
  customHost: "https://a.example",
  forwardHeaders: ["x-a"],
  strict: false,
  requires: ["tools"],
  hooks: { before_request_hooks: [{ id: "b" }], input_guardrails: ["i"], output_guardrails: ["o"] },
  overrideParams: { a: 1, b: { c: 1 } },
  defaultParams: { d: 1 },
  dropParams: ["x", "y"],
};

test("inherit() returns a node that says nothing all that is above it", () => {
  assert.deepEqual(inherit(parent, noSettings), parent);
  assert.deepEqual(inherit(noSettings, parent), parent);
});

for (const [name, own] of [
  ["retry", { attempts: 0, onStatusCodes: [], useRetryAfter: false }],
  ["cache", { mode: "simple", maxAgeSeconds: undefined, join: true, problem: undefined }],
  ["promptCache", false],
  ["requestTimeoutMs", 9],
  ["totalTimeoutMs", 9],
  ["streamIdleTimeoutMs", 9],
  ["customHost", "https://b.example"],
  ["forwardHeaders", []],
  ["strict", true],
  ["requires", []],
] as const) {
  test(`inherit() lets a node's own ${name} replace the one above as a whole`, () => {
    assert.deepEqual(inherit(parent, { ...noSettings, [name]: own }), { ...parent, [name]: own });
  });
}

test("inherit() merges parameters by name, not deeply, and the nearer one wins", () => {
  const { overrideParams, defaultParams } = inherit(parent, {
    ...noSettings,
    overrideParams: { b: { e: 2 }, f: 3 },
    defaultParams: { d: 2 },
  });
  assert.deepEqual(overrideParams, { a: 1, b: { e: 2 }, f: 3 });
  assert.deepEqual(defaultParams, { d: 2 });
});

test("inherit() adds up what is dropped, each path once", () => {
  assert.deepEqual(inherit(parent, { ...noSettings, dropParams: ["y", "z"] }).dropParams, ["x", "y", "z"]);
});

for (const [what, hooks, expected] of [
  [
    "any member of a phase",
    { input_mutators: [{ id: "m" }] },
    { input_mutators: [{ id: "m" }], output_guardrails: ["o"] },
  ],
  ["an empty list", { input_guardrails: [] }, { input_guardrails: [], output_guardrails: ["o"] }],
  [
    "the other phase",
    { after_request_hooks: [{ id: "a" }] },
    { before_request_hooks: [{ id: "b" }], input_guardrails: ["i"], after_request_hooks: [{ id: "a" }] },
  ],
] as const) {
  test(`inherit() replaces the hooks of a phase when a node names ${what}`, () => {
    assert.deepEqual(inherit(parent, { ...noSettings, hooks }).hooks, expected);
  });
}

test("inherit() leaves what it is given as it is", () => {
  const before = structuredClone(parent);
  inherit(parent, { ...noSettings, overrideParams: { a: 2 }, dropParams: ["q"] });
  assert.deepEqual(parent, before);
});

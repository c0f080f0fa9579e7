import assert from "node:assert/strict";
import { test } from "node:test";
import { readHooks } from "../../src/guardrails/read-hooks.ts";
import { inputHooks, known, type Orders, readGoodHooks as read, type Written } from "../support/obedient-checks.ts";

const problemsOf = (written: Written): string[] =>
  readHooks(written, known).problems.map(({ path, message }) => `${path}: ${message}`);

for (const [member, phase, type] of [
  ["before_request_hooks", "before", "guardrail"],
  ["input_guardrails", "before", "guardrail"],
  ["input_mutators", "before", "mutator"],
  ["after_request_hooks", "after", "guardrail"],
  ["output_guardrails", "after", "guardrail"],
  ["output_mutators", "after", "mutator"],
] as const) {
  test(`readHooks() reads ${member}`, () => {
    const hooks = read({ [member]: [{ obey: {} }] });
    assert.deepEqual([hooks.before.length, hooks.after.length], phase === "before" ? [1, 0] : [0, 1]);
    const [hook] = hooks[phase];
    assert.deepEqual([hook?.type, hook?.isOrdered], [type, type === "mutator"]);
    assert.match(
      hook?.id ?? "",
      phase === "before" ? /^input_guardrail_[0-9a-z]{3}$/ : /^output_guardrail_[0-9a-z]{3}$/,
    );
  });
}

test("readHooks() keeps the order of hooks and of their checks", () => {
  const { before } = read({
    input_guardrails: [{ id: "b", obey: {} }],
    before_request_hooks: [{ id: "a", checks: [{ id: "early" }, { id: "obey" }] }],
  });
  assert.deepEqual(
    before.map(({ id }) => id),
    ["a", "b"],
  );
  assert.deepEqual(
    before[0]?.checks.map(({ check }) => check.id),
    ["default.early", "default.obey"],
  );
});

const feedback = { value: 5, weight: 0.5, metadata: { from: "x" } };
const full = { deny: true, async: true, sequential: true, on_error: "pass", guardrail_version_id: "v1" };
for (const [form, members] of [
  ["snake_case", { ...full, on_success: { feedback }, on_fail: { feedback: { value: -5 } } }],
  [
    "camelCase",
    {
      deny: true,
      async: true,
      sequential: true,
      onError: "pass",
      guardrailVersionId: "v1",
      onSuccess: { feedback },
      onFail: { feedback: { value: -5 } },
    },
  ],
] as const) {
  for (const written of [
    { id: "h", ...members, checks: [{ id: "default.obey", parameters: { pass: false } }] },
    { id: "h", ...members, "default.obey": { pass: false } },
  ]) {
    test(`readHooks() reads members in ${form}, ${"checks" in written ? "long" : "short"} form`, () => {
      const [hook] = inputHooks(written);
      const { checks, ...rest } = hook ?? assert.fail();
      assert.deepEqual(rest, {
        id: "h",
        type: "guardrail",
        deny: true,
        async: true,
        isOrdered: true,
        onError: "pass",
        versionId: "v1",
        onSuccess: feedback,
        onFail: { value: -5 },
        streamMode: "inform",
        allowsUninspected: false,
      });
      assert.deepEqual(
        checks.map(({ parameters }) => (parameters as Orders).pass),
        [false],
      );
    });
  }
}

for (const [name, written, deny] of [
  ["on_fail.deny", { on_fail: { deny: true } }, true],
  ["onFail.deny", { onFail: { deny: true } }, true],
  ["on_success.deny", { on_success: { deny: true } }, true],
  ["neither", {}, false],
  ["null", { on_fail: null }, false],
] as const) {
  test(`readHooks() accepts ${name} for deny ${deny}`, () => {
    assert.equal(inputHooks({ ...written, obey: {} })[0]?.deny, deny);
  });
}

test("readHooks() finds checks by an id without a source, another id, and the id among the parameters", () => {
  for (const written of [
    { checks: [{ id: "obey" }, { id: "default.obey" }, { id: "follow" }] },
    { obey: {}, "default.follow": {}, other: { id: "obey" } },
  ]) {
    const [hook] = inputHooks(written);
    assert.deepEqual(
      hook?.checks.map(({ check }) => check.id),
      ["default.obey", "default.obey", "default.obey"],
    );
  }
});

test("readHooks() skips disabled checks, even unknown ones", () => {
  const long = {
    checks: [
      { id: "obey", is_enabled: false },
      { id: "early", is_enabled: true },
      { id: "x", is_enabled: false },
    ],
  };
  const short = { obey: { is_enabled: false }, early: { is_enabled: true }, x: { is_enabled: false } };
  for (const written of [long, short]) {
    assert.deepEqual(
      inputHooks(written)[0]?.checks.map(({ check }) => check.id),
      ["default.early"],
    );
  }
  assert.deepEqual(inputHooks({ obey: { is_enabled: false } })[0]?.checks, []);
});

test("readHooks() reads what any check may carry", () => {
  const [hook] = inputHooks({
    checks: [
      { id: "obey", parameters: { failOnError: false, soft_deny_200: true, scope: "all" } },
      { id: "obey", soft_deny_200: true },
      { id: "obey" },
    ],
  });
  assert.deepEqual(
    hook?.checks.map(({ failOnError, softDeny, scope }) => [failOnError, softDeny, scope]),
    [
      [false, true, "all"],
      [undefined, true, "all"],
      [undefined, false, "all"],
    ],
  );
});

test("readHooks() orders the checks of a hook that may change something", () => {
  const hooks = inputHooks(
    { obey: {} },
    { obey: { suffix: "x" } },
    { obey: {}, type: "mutator" },
    { obey: {}, sequential: true },
  );
  assert.deepEqual(
    hooks.map(({ isOrdered }) => isOrdered),
    [false, true, true, true],
  );
});

test("readHooks() gives equal hooks equal ids, and different hooks different ones", () => {
  const ids = () => inputHooks({ obey: {} }, { obey: { pass: false } }, { early: {} }).map(({ id }) => id);
  assert.deepEqual(ids(), ids());
  assert.equal(new Set(ids()).size, 3);
});

const many = (count: number, one: unknown) => Array.from({ length: count }, () => one);
for (const [name, written, wanted] of [
  ["no object", [7], "[0]: must be the slug of a guardrail, or an object"],
  ["no check", [{ deny: true }], "[0].checks: must have at least one check"],
  ["an empty list of checks", [{ checks: [] }], "[0].checks: must have at least one check"],
  ["an unknown check", [{ "partner.x": {} }], "[0].partner.x: is not a known check: partner.x"],
  ["a member of Object", [{ constructor: {} }], "[0].constructor: is not a known check: default.constructor"],
  [
    "a check of the other phase",
    [{ checks: [{ id: "partner.late" }] }],
    "[0].checks[0].parameters: cannot be used here: partner.late runs after the call only",
  ],
  ["a check that is no object", [{ checks: ["obey"] }], "[0].checks[0]: must be an object with the id of a check"],
  ["a check without id", [{ checks: [{}] }], "[0].checks[0]: must be an object with the id of a check"],
  [
    "parameters that are no object",
    [{ checks: [{ id: "obey", parameters: [] }] }],
    "[0].checks[0].parameters: must be an object",
  ],
  [
    "short parameters that are no object",
    [{ obey: true }],
    "[0].obey: must be an object with the parameters of a check",
  ],
  ["a wrong parameter", [{ obey: { pass: "yes" } }], "[0].obey.pass: must be true or false"],
  ["a wrong scope", [{ obey: { scope: "first" } }], "[0].obey.scope: "],
  ["a wrong member", [{ obey: {}, deny: "yes" }], "[0].deny: "],
  ["a wrong member in camelCase", [{ obey: {}, onError: "ignore" }], "[0].on_error: "],
  ["too much feedback", [{ obey: {}, on_fail: { feedback: { value: 11 } } }], "[0].on_fail.feedback.value: "],
  ["too much weight", [{ obey: {}, on_fail: { feedback: { value: 1, weight: 2 } } }], "[0].on_fail.feedback.weight: "],
  ["21 checks", [{ checks: many(21, { id: "obey" }) }], "[0].checks: must have at most 20 checks"],
  ["51 hooks", many(51, { obey: {} }), ": must have, together with the other hooks of its phase, at most 50 hooks"],
] as const) {
  test(`readHooks() refuses ${name}`, () => {
    const problems = problemsOf({ input_guardrails: written });
    assert.equal(problems.length, 1);
    assert.equal(problems[0]?.startsWith(`input_guardrails${wanted}`), true, problems[0]);
  });
}

test("readHooks() accepts 50 hooks of a phase, over all its members, and 20 checks of a hook", () => {
  const hook = { obey: {} };
  const written = {
    input_guardrails: many(30, hook),
    before_request_hooks: many(20, hook),
    output_guardrails: many(50, hook),
  };
  const { before, after } = read(written);
  assert.deepEqual([before.length, after.length], [50, 50]);
  assert.deepEqual(problemsOf({ ...written, input_mutators: [hook] }), [
    "input_mutators: must have, together with the other hooks of its phase, at most 50 hooks",
  ]);
  assert.equal(inputHooks({ checks: many(20, { id: "obey" }) })[0]?.checks.length, 20);
});

test("readHooks() reports all problems, and reads the rest", () => {
  const written = {
    input_guardrails: [{ obey: { pass: 1 }, x: {} }, { early: {} }],
    output_guardrails: [{ early: {} }],
  };
  const { before, problems } = readHooks(written, known);
  assert.deepEqual(
    problems.map(({ path }) => path),
    ["input_guardrails[0].obey.pass", "input_guardrails[0].x", "output_guardrails[0].early"],
  );
  assert.deepEqual(
    before.map((hook) => "checks" in hook && hook.checks.length),
    [0, 1],
  );
});

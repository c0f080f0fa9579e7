import assert from "node:assert/strict";
import { test } from "node:test";
import { runHooks } from "../../src/guardrails/run.ts";
import type { Subject } from "../../src/guardrails/subject.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { chatAnswer, chatRequest, guard } from "../support/guardrails.ts";
import { inputHooks, readGoodHooks } from "../support/obedient-checks.ts";

/** What the hooks are about: a chat, or after the call its answer. */
function subjectOf(text: string, rest: Partial<Subject> = {}): Subject {
  const request = { body: chatRequest(text), header: () => undefined, isStreaming: false, isTransformed: false };
  const phase = rest.response ? "afterRequestHook" : "beforeRequestHook";
  return {
    phase,
    tenant: "tenant",
    requestType: "chatComplete",
    provider: "openai",
    request,
    response: undefined,
    metadata: {},
    ...rest,
  };
}

const run = (hooks: unknown[], subject = subjectOf("hi")) => runHooks(inputHooks(...hooks), subject, systemClock);
const textOf = (body: object) => (body as { messages: { content: unknown }[] }).messages[0]?.content;

const broken = { error: "no answer" };
for (const [name, hook, checks, isFailed] of [
  ["all pass", {}, [{}, {}], false],
  ["one fails", {}, [{}, { pass: false }], true],
  ["one cannot decide", {}, [{}, broken], false],
  ["one cannot decide, though its verdict is false", {}, [{ ...broken, verdict: false }], false],
  ["one breaks", {}, [{}, { throws: true }], false],
  ["one cannot decide, which counts", {}, [{ ...broken, failOnError: true }], true],
  [
    "one cannot decide, which counts, but its verdict is true",
    {},
    [{ ...broken, verdict: true, failOnError: true }],
    false,
  ],
  ["one breaks, which counts", {}, [{ throws: true, failOnError: true }], true],
  ["one cannot decide, which counts for the hook", { on_error: "fail" }, [broken], true],
  [
    "one cannot decide, which counts for the hook but not for it",
    { on_error: "fail" },
    [{ ...broken, failOnError: false }],
    false,
  ],
  ["one fails beside one that cannot decide", { on_error: "pass" }, [broken, { pass: false }], true],
  ["one cannot decide, and the hook denies", { deny: true }, [broken], true],
  ["one breaks, and the hook denies", { deny: true }, [{ throws: true }], true],
  ["one cannot decide, and the hook denies only what is decided", { deny: true, on_error: "pass" }, [broken], false],
  ["one cannot decide, and the check lets that pass", { deny: true }, [{ ...broken, failOnError: false }], false],
  ["one fails, and the hook denies", { deny: true }, [{ pass: false }], true],
  ["none is switched on", { deny: true }, [{ is_enabled: false, pass: false }], false],
] as const) {
  test(`runHooks(): a hook ${isFailed ? "fails" : "passes"} where ${name}`, async () => {
    const members = Object.fromEntries(checks.map((check, index) => [`c${index}`, { id: "obey", ...check }]));
    const outcome = await run([{ ...hook, ...members }]);
    const isDenied = isFailed && "deny" in hook;
    assert.deepEqual([outcome.isFailed, outcome.isDenied, outcome.isSoft], [isFailed, isDenied, false]);
    assert.deepEqual([outcome.results[0]?.verdict, outcome.results[0]?.deny], [!isFailed, isDenied]);
  });
}

test("runHooks() reports why a check could not decide, and nothing of what broke inside", async () => {
  const { results } = await run([{ obey: broken, x: { id: "obey", throws: true, failOnError: false } }]);
  const told = results[0]?.checks.map(({ error, data, fail_on_error }) => [error, data, fail_on_error]);
  assert.deepEqual(told, [
    [{ name: "CheckError", message: "no answer" }, { tried: 1 }, undefined],
    [{ name: "Check error", message: "Error executing check" }, null, false],
  ]);
  assert.equal(JSON.stringify(results).includes("secret"), false);
});

test("runHooks() leaves out skipped hooks", async () => {
  const { results, isFailed } = await run([
    { id: "a", obey: { skips: true, pass: false } },
    { id: "b", obey: { skips: true, pass: false }, early: {} },
    { id: "c", obey: { is_enabled: false } },
  ]);
  assert.equal(isFailed, false);
  assert.deepEqual(
    results.map(({ id, checks }) => [id, checks.map((check) => check.id)]),
    [
      ["b", ["default.early"]],
      ["c", []],
    ],
  );
});

for (const [name, hooks, isSoft] of [
  ["the check that fails has it", [{ deny: true, obey: { pass: false, soft_deny_200: true } }], true],
  ["a check that passes lacks it", [{ deny: true, obey: { pass: false, soft_deny_200: true }, early: {} }], true],
  [
    "another check that fails lacks it",
    [{ deny: true, obey: { pass: false, soft_deny_200: true }, early: { pass: false } }],
    false,
  ],
  ["only a check that passes has it", [{ deny: true, obey: { soft_deny_200: true }, early: { pass: false } }], false],
  [
    "another hook that denies lacks it",
    [
      { deny: true, obey: { pass: false, soft_deny_200: true } },
      { deny: true, obey: { pass: false } },
    ],
    false,
  ],
  [
    "a hook that only fails lacks it",
    [{ deny: true, obey: { pass: false, soft_deny_200: true } }, { obey: { pass: false } }],
    true,
  ],
] as const) {
  test(`runHooks(): soft_deny_200 ${isSoft ? "holds" : "does not hold"} where ${name}`, async () => {
    const outcome = await run([...hooks]);
    assert.deepEqual([outcome.isDenied, outcome.isSoft], [true, isSoft]);
  });
}

test("runHooks(): soft_deny_200 is no denial where nothing denies", async () => {
  const outcome = await run([{ obey: { pass: false, soft_deny_200: true } }]);
  assert.deepEqual([outcome.isFailed, outcome.isDenied, outcome.isSoft], [true, false, false]);
});

test("runHooks() chooses feedback by the verdict, with the checks behind it", async () => {
  const hook = {
    on_success: { feedback: { value: 5, weight: 1 } },
    on_fail: { feedback: { value: -5, metadata: { from: "x" } } },
  };
  const { results } = await run([
    { ...hook, obey: {}, early: broken },
    { ...hook, obey: { pass: false }, early: {}, x: { id: "obey" }, y: { id: "early", throws: true } },
    { obey: {}, on_success: { feedback: { weight: 1 } }, on_fail: { feedback: { value: 1 } } },
  ]);
  assert.deepEqual(
    results.map((result) => result.feedback),
    [
      {
        value: 5,
        weight: 1,
        metadata: { successfulChecks: "default.obey", failedChecks: "", erroredChecks: "default.early" },
      },
      {
        value: -5,
        metadata: {
          from: "x",
          successfulChecks: "default.early, default.obey",
          failedChecks: "default.obey",
          erroredChecks: "default.early",
        },
      },
      null,
    ],
  );
});

// what hooks change and report

const saw = (results: readonly { checks: readonly { data: Record<string, unknown> | null }[] }[]) =>
  results.flatMap(({ checks }) => checks.map(({ data }) => data?.saw));

test("runHooks() lets checks that may change something see what those before them changed", async () => {
  const subject = subjectOf("a");
  const outcome = await run(
    [
      { id: "last", obey: {} },
      { id: "one", checks: [{ id: "obey", parameters: { suffix: "b", waits: 20 } }, { id: "obey" }] },
      { id: "two", obey: { suffix: "c" } },
    ],
    subject,
  );
  assert.deepEqual(
    outcome.results.map(({ id }) => id),
    ["last", "one", "two"],
  );
  assert.deepEqual(saw(outcome.results), ["abc", "a", "ab", "ab"]);
  assert.deepEqual([textOf(outcome.body), outcome.isTransformed], ["abc", true]);
  assert.deepEqual(
    outcome.results.map(({ transformed }) => transformed),
    [false, true, true],
  );
  assert.deepEqual(
    outcome.results[1]?.checks.map((check) => check.transformed),
    [true, false],
  );
  assert.deepEqual(
    outcome.results[1]?.checks.map(({ data }) => data?.isTransformed),
    [false, true],
  );
  assert.equal(textOf(subject.request.body), "a");
});

test("runHooks() returns the body as it is where nothing changes it", async () => {
  const subject = subjectOf("a");
  const outcome = await run([{ obey: {} }], subject);
  assert.equal(outcome.body, subject.request.body);
  assert.deepEqual([outcome.isTransformed, outcome.headers], [false, {}]);
  const none = await run([], subject);
  assert.deepEqual([none.body, none.results, none.isFailed], [subject.request.body, [], false]);
});

test("runHooks() applies a check's body, then its text changes", async () => {
  const { body } = await run([{ obey: { member: "seen", suffix: "b" } }], subjectOf("a"));
  assert.deepEqual(body, { ...chatRequest("ab"), seen: true });
});

test("runHooks() changes the answer after the call, and leaves the request", async () => {
  const response = { body: chatAnswer("said"), status: 200, isTransformed: false };
  const subject = subjectOf("asked", { response });
  const { after } = readGoodHooks({ output_guardrails: [{ obey: { suffix: "!" } }] });
  const outcome = await runHooks(after, subject, systemClock);
  assert.deepEqual(outcome.body, chatAnswer("said!"));
  assert.deepEqual([saw(outcome.results), textOf(subject.request.body)], [["said"], "asked"]);
});

test("runHooks() reports an impossible change, and keeps the verdict", async () => {
  const subject = subjectOf("a", { fixedBecause: "Cannot change inputs to embed" });
  for (const pass of [true, false]) {
    const outcome = await run([{ obey: { suffix: "b", pass } }], subject);
    const [check] = outcome.results[0]?.checks ?? [];
    assert.deepEqual(check?.error, { name: "CheckError", message: "Cannot change inputs to embed" });
    assert.deepEqual([check?.verdict, check?.transformed, outcome.isTransformed], [pass, false, false]);
    assert.equal(outcome.body, subject.request.body);
  }
});

test("runHooks() collects headers for the provider", async () => {
  const { headers } = await run([
    { obey: { headers: { "x-a": "1", "x-b": "1" } } },
    { early: { headers: { "x-c": "3" } } },
  ]);
  assert.deepEqual(headers, { "x-a": "1", "x-b": "1", "x-c": "3" });
});

test("runHooks() runs read-only hooks concurrently, and reports them in order", async () => {
  const hooks = [300, 150, 0].map((waits) => ({ id: `${waits}`, obey: { waits }, early: { waits } }));
  const startedAt = performance.now();
  const { results } = await run(hooks);
  const ms = performance.now() - startedAt;
  assert.deepEqual(
    results.map(({ id }) => id),
    ["300", "150", "0"],
  );
  assert.ok(ms < 600, `took ${ms} ms`); // one after the other: 900
  assert.ok((results[0]?.execution_time ?? 0) >= 290);
  assert.ok((results[0]?.checks[1]?.execution_time ?? 0) >= 290);
});

test("runHooks() runs the checks of a sequential hook one after the other", async () => {
  const { results } = await run([{ sequential: true, obey: { waits: 40 }, early: { waits: 40 } }]);
  assert.ok((results[0]?.execution_time ?? 0) >= 75);
});

test("runHooks(): a hook after the response denies nothing and changes nothing", async () => {
  const hook = { async: true, deny: true, obey: { pass: false, suffix: "b", headers: { "x-a": "1" } } };
  const outcome = await run([hook, { early: {} }], subjectOf("a"));
  assert.deepEqual([outcome.isFailed, outcome.isDenied, outcome.isTransformed], [false, false, false]);
  assert.deepEqual([textOf(outcome.body), outcome.headers, saw(outcome.results)], ["a", {}, ["a", "a"]]);
  const [told] = outcome.results;
  assert.deepEqual([told?.verdict, told?.deny, told?.async, told?.transformed], [false, false, true, false]);
  assert.match(told?.checks[0]?.error?.message ?? "", /^Cannot change /);
});

test("runHooks() skips mutators after the response", async () => {
  const outcome = await run([
    { id: "m", type: "mutator", async: true, obey: { suffix: "b" } },
    { id: "g", obey: {} },
  ]);
  assert.deepEqual(
    outcome.results.map(({ id }) => id),
    ["g"],
  );
});

test("runHooks() limits the data of checks", async () => {
  const { results } = await run([
    { obey: { isBlind: true, data: { kept: "x".repeat(8_000) } } },
    { obey: { isBlind: true, data: { explanation: "y".repeat(2_000), gone: "x".repeat(8_192) } } },
  ]);
  const [kept, cut] = results.map(({ checks }) => checks[0]?.data);
  assert.deepEqual(kept, { isTransformed: false, kept: "x".repeat(8_000) });
  assert.deepEqual(cut, { explanation: "y".repeat(1_000), isCut: true });
});

const maxLength = 1024 * 1024;
const longText = `${"a".repeat(maxLength - 1)}bc`;

test("runHooks() shows checks the beginning of a long text, and marks the result", async () => {
  const { results } = await run([{ obey: {} }], subjectOf(longText));
  const [check] = results[0]?.checks ?? [];
  assert.deepEqual([check?.data?.length, check?.data?.isCut, check?.error], [maxLength, true, null]);
  const whole = await run([{ obey: {} }], subjectOf(longText.slice(0, maxLength)));
  assert.deepEqual(
    [whole.results[0]?.checks[0]?.data?.length, whole.results[0]?.checks[0]?.data?.isCut],
    [maxLength, undefined],
  );
});

test("runHooks() denies a long text where the hook denies, unless the check looks at no text", async () => {
  const long = subjectOf(longText);
  assert.equal((await run([{ deny: true, obey: {} }], long)).isDenied, true);
  assert.equal((await run([{ deny: true, on_error: "pass", obey: {} }], long)).isDenied, false);
  assert.equal((await run([{ deny: true, obey: { isBlind: true } }], long)).isDenied, false);
});

test("runHooks() changes the beginning of a long text part by part, and keeps what was not shown", async () => {
  const parts = ["a".repeat(10), "b".repeat(maxLength), "c"].map((text) => ({ type: "text", text }));
  const body = { messages: [{ role: "user", content: parts }] };
  const subject = subjectOf("", { request: { ...subjectOf("").request, body } });
  const outcome = await run([{ obey: { suffix: "|" } }], subject);
  const shown = textOf(outcome.body) as { text: string }[];
  assert.deepEqual(
    shown.map(({ text }) => [text.length, text.indexOf("|")]),
    [
      [11, 10],
      [maxLength + 1, maxLength - 10],
      [2, 0],
    ],
  );
});

for (const [requestType, request] of [
  ["complete", { prompt: [1, 2] }],
  ["complete", { prompt: [[1], [2]] }],
  ["embed", { input: [1, 2] }],
  ["embed", { input: [[1, 2]] }],
] as const) {
  test(`a hook that denies does not let ${JSON.stringify(request)} by unread`, async () => {
    const check = { id: "default.contains", parameters: { words: ["secret"], operator: "none" } };
    const denied = await guard([{ checks: [check], deny: true }], { requestType, request });
    assert.equal(denied.isDenied, true);
    assert.match(denied.results[0]?.checks[0]?.error?.message ?? "", /tokens/);
    assert.equal((await guard([{ checks: [check] }], { requestType, request })).isFailed, false);
  });
}

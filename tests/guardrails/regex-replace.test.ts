import assert from "node:assert/strict";
import { test } from "node:test";
import { chatAnswer, chatRequest, guard, problemsOf, runCheck } from "../support/guardrails.ts";

for (const [rule, wanted] of [
  ["/\\d+/g", "[REDACTED] b [REDACTED] B"],
  ["/\\d+/", "[REDACTED] b 22 B"],
  ["\\d+", "[REDACTED] b 22 B"],
  ["/B/i", "1 [REDACTED] 22 B"],
  ["/b/gi", "1 [REDACTED] 22 [REDACTED]"],
  ["/^1|B$/g", "[REDACTED] b 22 [REDACTED]"],
  ["/2*$/g", "1 b 22 B[REDACTED]"],
] as const) {
  test(`regexReplace of ${rule} makes ${wanted}`, async () => {
    const before = await runCheck("default.regexReplace", { rule }, { text: "1 b 22 B" });
    assert.deepEqual(before.outcome.body, chatRequest(wanted));
    assert.deepEqual([before.result?.verdict, before.result?.transformed], [true, true]);
    const after = await runCheck("default.regexReplace", { rule }, { text: "1 b 22 B", answers: true });
    assert.deepEqual(after.outcome.body, chatAnswer(wanted));
  });
}

test("regexReplace inserts its replacement literally", async () => {
  const { outcome } = await runCheck("regexReplace", { rule: "/(b)/g", redactText: "$1$&" }, { text: "abcb" });
  assert.deepEqual(outcome.body, chatRequest("a$1$&c$1$&"));
  const emptied = await runCheck("regexReplace", { rule: "/b/g", redactText: "" }, { text: "abcb" });
  assert.deepEqual(emptied.outcome.body, chatRequest("ac"));
});

test("regexReplace changes text parts only, each separately", async () => {
  const image = { type: "image_url", image_url: { url: "https://host.example/42.png" } };
  const toBody = (...strings: string[]) => ({
    model: "gpt-test",
    messages: [{ role: "user", content: [image, ...strings.map((text) => ({ type: "text", text }))] }],
  });
  const parameters = { rule: "\\d+", redactText: "#" };
  const { outcome, result } = await runCheck("regexReplace", parameters, { request: toBody("42 43", "none", "44") });
  assert.deepEqual(outcome.body, toBody("# 43", "none", "#"));
  assert.equal(result?.data?.count, 2);
});

test("regexReplace leaves a text without a match as it is", async () => {
  const { outcome, result } = await runCheck("regexReplace", { rule: "/x/g", failOnDetection: true }, { text: "abc" });
  assert.deepEqual([outcome.isTransformed, result?.verdict, result?.transformed], [false, true, false]);
});

test("regexReplace with failOnMatch fails on a match, and still replaces it", async () => {
  const { outcome, result } = await runCheck("regexReplace", { rule: "/b/", failOnDetection: true }, { text: "abc" });
  assert.deepEqual([result?.verdict, result?.error, outcome.body], [false, null, chatRequest("a[REDACTED]c")]);
});

test("regexReplace and another one side by side both leave their changes", async () => {
  const hooks = ["/a/g", "/b/g"].map((rule) => ({ "default.regexReplace": { rule, redactText: "#" } }));
  const { body } = await guard(hooks, { text: "abc" });
  assert.deepEqual(body, chatRequest("##c"));
});

test("regexReplace takes a rule that only begins like one between slashes as it stands", async () => {
  const { outcome } = await runCheck("regexReplace", { rule: "/usr/bin", redactText: "#" }, { text: "in /usr/bin" });
  assert.deepEqual(outcome.body, chatRequest("in #"));
});

for (const [parameters, problem] of [
  [{}, /\.rule: /],
  [{ rule: "/(?!a)/g" }, /\.rule: is not a valid regular expression/],
  [{ rule: "(?!a)" }, /\.rule: is not a valid regular expression/],
  [{ rule: "/a/y" }, /\.rule: cannot have the flag y/],
  [{ rule: "a", redactText: 1 }, /\.redactText: /],
  [{ rule: "a", redactText: "x".repeat(1_001) }, /\.redactText: /],
] as const) {
  test(`regexReplace rejects the parameters ${JSON.stringify(parameters).slice(0, 60)}`, () => {
    const problems = problemsOf("default.regexReplace", parameters);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", problem);
  });
}

test("regexReplace reads the first 256 KiB of all text, and says so", async () => {
  const long = `a${"x".repeat(256 * 1024 - 2)}`;
  const { outcome, result } = await runCheck("regexReplace", { rule: "/a/g", redactText: "#" }, { text: `${long}aa` });
  assert.deepEqual(outcome.body, chatRequest(`#${long.slice(1)}#a`));
  assert.deepEqual([result?.verdict, result?.data?.isCut], [true, true]);
});

test("regexReplace of a denying hook rejects text it cannot see completely", async () => {
  const checks = [{ id: "regexReplace", parameters: { rule: "/a/g" } }];
  const { isDenied, isTransformed } = await guard([{ deny: true, checks }], { text: "xa".repeat(150_000) });
  assert.deepEqual([isDenied, isTransformed], [true, false]);
});

for (const [name, rule, text] of [
  ["take too long", "/a.*b|a/g", "a".repeat(200_000)],
  ["grow without end", "/a*/g", "b".repeat(200_000)],
] as const) {
  test(`regexReplace gives up where replacements ${name}`, async () => {
    const { outcome, result } = await runCheck("regexReplace", { rule, failOnError: true }, { text });
    assert.match(result?.error?.message ?? "", /^Cannot (?:replace|check): /);
    assert.deepEqual([result?.verdict, outcome.isTransformed], [false, false]);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf, runCheck } from "../support/guardrails.ts";

for (const [id, parameters, text, verdict] of [
  ["sentenceCount", { minSentences: 2, maxSentences: 3 }, "One. Two!", true],
  ["sentenceCount", { minSentences: 2, maxSentences: 3 }, "One? Two! 3.1.", false],
  ["sentenceCount", { minSentences: 2, maxSentences: 3 }, "One", false],
  ["sentenceCount", { minSentences: 2, maxSentences: 3, not: true }, "One", true],
  ["sentenceCount", { minSentences: 0, maxSentences: 0 }, "", true],
  ["sentenceCount", { minSentences: 1, maxSentences: 2 }, "", false],
  ["wordCount", { minWords: 2, maxWords: 3 }, "  a\tb\n c ", true],
  ["wordCount", { minWords: 2, maxWords: 3 }, "a b c d", false],
  ["wordCount", { minWords: 2 }, "a", false],
  ["wordCount", { maxWords: 2 }, "a", true],
  ["wordCount", { maxWords: 2, not: true }, "a", false],
  ["wordCount", { minWords: 1 }, " \n ", false],
  ["characterCount", { minCharacters: 3, maxCharacters: 4 }, "a🙂", true], // a pair of UTF-16 units
  ["characterCount", { minCharacters: 3, maxCharacters: 4 }, "abcde", false],
  ["characterCount", { maxCharacters: 4, not: true }, "abcde", true],
  ["characterCount", {}, "abcde", true],
  ["endsWith", { suffix: "end" }, "the end", true],
  ["endsWith", { suffix: "end" }, "the end.", true],
  ["endsWith", { suffix: "end" }, "the end..", false],
  ["endsWith", { suffix: "end" }, "the END", false],
  ["endsWith", { suffix: "end", not: true }, "the end.", false],
  ["endsWith", { suffix: "end" }, "", false],
  ["alluppercase", {}, "ABC, É é 12", true],
  ["alluppercase", {}, "ABc", false],
  ["alluppercase", {}, "12 !", true],
  ["alluppercase", { not: true }, "ABC", false],
  ["alllowercase", {}, "abc 1", true],
  ["alllowercase", {}, "abC", false],
  ["alllowercase", { not: true }, "abC", true],
  ["isAllLowerCase", {}, "abC", false],
  ["isAllLowerCase", {}, "abc", true],
] as const) {
  test(`${id} ${JSON.stringify(parameters)} of ${JSON.stringify(text)} is ${verdict}`, async () => {
    for (const name of [id, `default.${id}`]) {
      for (const answers of [true, false]) {
        const { result } = await runCheck(name, parameters, { text, answers });
        assert.deepEqual([result?.verdict, result?.error], [verdict, null]);
        assert.equal(typeof result?.data?.explanation, "string");
      }
    }
  });
}

for (const [id, parameters, verdict] of [
  ["wordCount", { minWords: 1 }, false],
  ["wordCount", { minWords: 1, not: true }, true],
  ["wordCount", { maxWords: 1 }, true],
  ["characterCount", { minCharacters: 1 }, false],
  ["characterCount", { minCharacters: 1, not: true }, true],
  ["characterCount", {}, true],
  ["regexMatch", { rule: "a" }, false],
  ["regexMatch", { rule: "a", not: true }, true],
  ["regexMatch", { rule: "a*" }, true],
] as const) {
  test(`${id} ${JSON.stringify(parameters)} cannot decide about an empty text, and means ${verdict}`, async () => {
    const strict = await runCheck(id, { ...parameters, failOnError: true }, { text: "" });
    assert.equal(strict.result?.verdict, verdict);
    assert.equal(strict.result?.error?.message, "Cannot check: there is no text");
    const { result } = await runCheck(id, parameters, { text: "" });
    assert.equal(result?.verdict, true);
  });
}

for (const [id, parameters, member] of [
  ["sentenceCount", { minSentences: 1 }, ".maxSentences"],
  ["sentenceCount", { maxSentences: 1 }, ".minSentences"],
  ["wordCount", { minWords: 1.5 }, ".minWords"],
  ["wordCount", { maxWords: "3" }, ".maxWords"],
  ["characterCount", { minCharacters: "3" }, ".minCharacters"],
  ["endsWith", {}, ".suffix"],
  ["endsWith", { suffix: "" }, ".suffix"],
  ["alluppercase", { not: "yes" }, ".not"],
  ["alllowercase", { not: 1 }, ".not"],
] as const) {
  test(`${id} rejects the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf(id, parameters);
    assert.equal(problems.length, 1);
    assert.ok(problems[0]?.startsWith(`input_guardrails[0].checks[0].parameters${member}: `), problems[0]);
  });
}

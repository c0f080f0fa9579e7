import assert from "node:assert/strict";
import { test } from "node:test";
import { guard, problemsOf, runCheck } from "../support/guardrails.ts";

const schema = { type: "object", properties: { a: { type: "string", pattern: "^a" } }, required: ["a"] };

for (const [text, fits] of [
  ['{"a":"ab"}', true],
  ['{"a":"b"}', false],
  ['Here it is:\n```json\n{"a":"ab"}\n```\nDone {"a":1}.', true],
  ['```json\n{"a":1}\n```\n```\n{"a":"a"}\n```', true],
  ['```json {"a":"a"}```', true],
  ['~~~json\n{"a":"a"}\n~~~', true],
  ['```json\n{"a":"a"}', true],
  ['I say {"b":{"c":1}} and {"a":"a } {"} too', true],
  ['I {mean} {"a":"a"}', true],
  ['{ "never closed and {"a":"a"}', true],
  ['```python\nprint(1)\n```\n{"a":"a"}', true],
  ["{}", false],
  ['[{"a":"a"}]', false], // a list alone is one piece
] as const) {
  test(`jsonSchema finds a piece that fits in ${JSON.stringify(text)}: ${fits}`, async () => {
    for (const not of [false, true]) {
      const { result } = await runCheck("default.jsonSchema", { schema, not }, { text, answers: true });
      assert.deepEqual([result?.verdict, result?.error], [fits !== not, null]);
    }
  });
}

test("jsonSchema looks at a list that stands alone", async () => {
  const parameters = { schema: { type: "array", minItems: 2 } };
  const two = await runCheck("jsonSchema", parameters, { text: " [1, 2]\n", answers: true });
  assert.equal(two.result?.verdict, true);
  const one = await runCheck("jsonSchema", parameters, { text: "[1]", answers: true });
  assert.equal(one.result?.verdict, false);
});

for (const text of ["", "no JSON", "{broken", '```json\n"text"\n```']) {
  test(`jsonSchema and jsonKeys fail where there is no JSON, as in ${JSON.stringify(text)}`, async () => {
    for (const [id, parameters] of [
      ["jsonSchema", { schema }],
      ["jsonSchema", { schema, not: true }],
      ["jsonKeys", { keys: ["a"], operator: "none" }],
      ["jsonKeys", { keys: ["a"], operator: "all" }],
    ] as const) {
      const { result } = await runCheck(id, parameters, { text, answers: true });
      assert.deepEqual([result?.verdict, result?.data?.explanation], [false, "The text has no JSON"]);
    }
  });
}

test("jsonSchema reports the problems of the piece that has fewest", async () => {
  const text = '{"b":1} {"a":"b"} {}';
  const strict = { ...schema, additionalProperties: false };
  const { result } = await runCheck("jsonSchema", { schema: strict }, { text, answers: true });
  assert.deepEqual(result?.data?.validationErrors, [
    { path: "/a", message: 'Instance does not match {"pattern":"^a"}.' },
  ]);
});

test("jsonSchema cannot decide where checking takes too long", async () => {
  const parameters = { schema: { properties: { a: { $ref: "#/properties/a" } } }, failOnError: true };
  const { result } = await runCheck("jsonSchema", parameters, { text: '{"a":1}', answers: true });
  assert.deepEqual([result?.verdict, result?.error?.name], [false, "CheckError"]);
});

for (const [parameters, problem] of [
  [{}, /\.schema: /],
  [{ schema: "{}" }, /\.schema: must be a JSON schema, written as an object$/],
  [{ schema: true }, /\.schema: must be a JSON schema, written as an object$/],
  [{ schema: { properties: { a: { type: "text" } } } }, /\.schema: properties\.a\.type: /],
  [{ schema: {}, not: "yes" }, /\.not: /],
] as const) {
  test(`jsonSchema rejects the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf("default.jsonSchema", parameters, "output_guardrails");
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", problem);
  });
}

for (const [operator, keys, text, verdict] of [
  ["any", ["a", "x"], '{"a":1}', true],
  ["any", ["x"], '{"a":1}', false],
  [undefined, ["a", "x"], '{"a":1}', true],
  ["any", ["b"], '{"a":{"b":1}}', false],
  ["any", ["toString"], "{}", false],
  ["any", ["length", "0"], "[1]", false],
  ["all", ["a", "b"], '{"a":1} {"b":1} {"a":1,"b":2}', true],
  ["all", ["a", "b"], '{"a":1} {"b":1}', false],
  ["none", ["b"], '{"a":1}', true],
  ["none", ["b"], '{"a":1} {"b":1}', false],
] as const) {
  test(`jsonKeys with ${operator} of ${keys} in ${text} is ${verdict}`, async () => {
    const parameters = { keys, ...(operator && { operator }) };
    const { result } = await runCheck("default.jsonKeys", parameters, { text, answers: true });
    assert.deepEqual([result?.verdict, result?.error], [verdict, null]);
  });
}

test("jsonKeys reports which keys it found", async () => {
  const { result } = await runCheck(
    "jsonKeys",
    { keys: ["a", "b", "c"] },
    { text: '{"a":1} {"a":1,"c":1}', answers: true },
  );
  assert.deepEqual([result?.data?.foundKeys, result?.data?.missingKeys], [["a", "c"], ["b"]]);
});

for (const parameters of [{}, { keys: [] }, { keys: "a" }, { keys: ["a"], operator: "some" }]) {
  test(`jsonKeys rejects the parameters ${JSON.stringify(parameters)}`, () => {
    assert.equal(problemsOf("default.jsonKeys", parameters, "output_guardrails").length, 1);
  });
}

test("jsonSchema and jsonKeys of a hook that denies refuse more pieces than they look at", async () => {
  for (const many of ["{}".repeat(25), "{".repeat(60)]) {
    for (const [id, parameters] of [
      ["jsonSchema", { schema, not: true }],
      ["jsonKeys", { keys: ["a"], operator: "none" }],
    ] as const) {
      const text = `${many} {"a":"a"}`;
      const { isDenied, results } = await guard([{ deny: true, checks: [{ id, parameters }] }], {
        text,
        answers: true,
      });
      const error = results[0]?.checks[0]?.error?.message;
      assert.deepEqual([isDenied, error], [true, "Cannot check: the text has too many pieces of JSON"]);
    }
  }
});

test("jsonSchema and jsonKeys are checks of answers", () => {
  for (const [id, parameters] of [
    ["jsonSchema", { schema }],
    ["jsonKeys", { keys: ["a"] }],
  ] as const) {
    assert.match(problemsOf(id, parameters)[0] ?? "", /runs after the call only$/);
  }
});

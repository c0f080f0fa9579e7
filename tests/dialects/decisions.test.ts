import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type ChatAnswer,
  readChatAnswer,
  readDistributions,
  readLabelWeights,
} from "../../src/dialects/decisions/answers.ts";
import { confidenceOf, normalise, toDecisionAnswer } from "../../src/dialects/decisions/probabilities.ts";
import { toLabelRequest, toStructuredRequest } from "../../src/dialects/decisions/prompt.ts";
import { labelOf, type Question, readQuestions } from "../../src/dialects/decisions/questions.ts";
import { InvalidRequestError } from "../../src/errors.ts";
import type { DecisionAnswer } from "../../src/schemas/decisions.ts";

const near = (found: number, wanted: number) => Math.abs(found - wanted) < 1e-9;
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const seed = 20_260_115;

/** A question of a kind with so many outcomes. */
function question(type: Question["type"], count: number): Question {
  const outcomes = Array.from({ length: count }, (_, index) => ({
    label: labelOf(index),
    name: type === "score" ? String(index) : `option ${index}`,
    description: type === "score" ? `level ${index}` : undefined,
  }));
  return { name: "q", type, instructions: "Judge.", outcomes };
}

const weights = fc.array(fc.oneof(fc.double(), fc.integer(), fc.constant(0)), { minLength: 2, maxLength: 255 });

test("normalise() returns numbers from 0 to 1 whose sum is 1, whatever the weights", () => {
  fc.assert(
    fc.property(weights, (given) => {
      const made = normalise(given);
      assert.equal(made.length, given.length);
      assert.ok(made.every((p) => p >= 0 && p <= 1));
      assert.ok(near(sum(made), 1), String(sum(made)));
    }),
    { seed },
  );
});

for (const [given, wanted] of [
  [
    [1, 3],
    [0.25, 0.75],
  ],
  [
    [-1, 2],
    [0, 1],
  ],
  [
    [0, 0],
    [0.5, 0.5],
  ],
  [
    [Number.NaN, Number.POSITIVE_INFINITY, 1],
    [0, 0, 1],
  ],
  [
    [Number.MAX_VALUE, Number.MAX_VALUE],
    [0.5, 0.5],
  ],
] as const) {
  test(`normalise() makes ${JSON.stringify(wanted)} of ${given.join(", ")}`, () => {
    assert.deepEqual(normalise(given), wanted);
  });
}

for (const [given, wanted] of [
  [[1, 0], 1],
  [[0.5, 0.5], 0],
  [[0.25, 0.25, 0.25, 0.25], 0],
  [[0.9, 0.1], 1 - (0.9 * -Math.log(0.9) + 0.1 * -Math.log(0.1)) / Math.log(2)],
] as const) {
  test(`confidenceOf() is ${wanted} for ${given.join(", ")}`, () => {
    assert.ok(near(confidenceOf(given), wanted));
  });
}

test("answers are consistent: sums of 1, confidence from 0 to 1, the greatest first, the mean of levels", () => {
  const kinds = fc.constantFrom("noul" as const, "choice" as const, "score" as const);
  fc.assert(
    fc.property(kinds, weights, (type, given) => {
      const asked = question(type, type === "noul" ? 2 : given.length);
      const answer: DecisionAnswer = toDecisionAnswer(asked, given.slice(0, asked.outcomes.length));
      assert.equal(answer.type, type);
      if (answer.type === "noul") {
        assert.ok(answer.noul >= 0 && answer.noul <= 1);
        assert.equal("confidence" in answer, false);
        return;
      }
      const values = asked.outcomes.map(({ name }) => answer.probabilities[name] ?? assert.fail(name));
      assert.equal(Object.keys(answer.probabilities).length, values.length);
      assert.ok(near(sum(values), 1));
      assert.ok(answer.confidence >= 0 && answer.confidence <= 1);
      if (answer.type === "choice") {
        const first = values.findIndex((p) => values.every((other) => other <= p));
        assert.equal(answer.choice, `option ${first}`);
      } else {
        assert.ok(near(answer.score, sum(values.map((p, index) => p * index))));
        assert.deepEqual(
          Object.keys(answer.legend ?? {}),
          values.map((_, index) => String(index)),
        );
        assert.equal(answer.legend?.["1"], "level 1");
      }
    }),
    { seed },
  );
});

test("toDecisionAnswer() picks the first of several maxima", () => {
  const answer = toDecisionAnswer(question("choice", 3), [0.2, 0.4, 0.4]);
  assert.equal(answer.type === "choice" && answer.choice, "option 1");
});

test("labelOf() returns distinct labels, of one letter for the first twenty", () => {
  const labels = Array.from({ length: 255 }, (_, index) => labelOf(index));
  assert.equal(new Set(labels).size, 255);
  assert.ok(labels.every((label) => /^[A-Z]{1,2}$/.test(label)));
  assert.deepEqual([labels[0], labels[19], labels[25], labels[26], labels[254]], ["A", "T", "Z", "AA", "IU"]);
});

const ask = (questions: unknown) => readQuestions({ model: "m", state: "s", questions } as never); // as callers write it
const of = (type: string, criteria?: unknown) => ({ q: { type, instructions: "Judge.", criteria } });
const list = (count: number) => Array.from({ length: count }, (_, index) => `level ${index}`);

for (const [name, questions, param] of [
  ["no questions", {}, "questions"],
  ["questions that are none", undefined, "questions"],
  ["an unknown type", of("rank"), "questions.q.type"],
  ["no instructions", { q: { type: "noul" } }, "questions.q.instructions"],
  ["a question that is a text", { q: "why?" }, "questions.q"],
  ["a question of a hostile name", { constructor: { type: "noul" } }, "questions.constructor.instructions"],
  ["a choice without options", of("choice"), "questions.q.criteria"],
  ["a choice of one", of("choice", { a: null }), "questions.q.criteria"],
  ["a choice of one twice", of("choice", ["a", "a"]), "questions.q.criteria"],
  ["a choice of numbers", of("choice", [1, 2]), "questions.q.criteria"],
  ["a choice of too many", of("choice", list(256)), "questions.q.criteria"],
  ["a score without levels", of("score"), "questions.q.criteria"],
  ["a score of one level", of("score", ["a"]), "questions.q.criteria"],
  ["a score of too many", of("score", list(256)), "questions.q.criteria"],
  ["levels by name", of("score", { low: "a", high: "b" }), "questions.q.criteria"],
  ["a list for true and false", of("noul", ["yes", "no"]), "questions.q.criteria"],
  [
    "too many questions",
    Object.fromEntries(list(65).map((one) => [one, { type: "noul", instructions: "?" }])),
    "questions",
  ],
] as const) {
  test(`readQuestions() refuses ${name}`, () => {
    assert.throws(
      () => ask(questions),
      (error) => error instanceof InvalidRequestError && error.param === param,
    );
  });
}

test("readQuestions() accepts options and levels up to 255, and names of any kind", () => {
  assert.equal(ask(of("choice", list(255)))[0]?.outcomes.length, 255);
  assert.equal(ask(of("score", list(255)))[0]?.outcomes.length, 255);
  const hostile = JSON.parse('{"__proto__": {"type": "noul", "instructions": "?"}}');
  assert.equal(ask(hostile)[0]?.name, "__proto__");
  const options = JSON.parse('{"__proto__": "one", "constructor": null}');
  const [question] = ask(of("choice", options));
  const answer = toDecisionAnswer(question ?? assert.fail(), [1, 3]);
  assert.equal(JSON.stringify(answer.probabilities), '{"__proto__":0.25,"constructor":0.75}');
});

const two = ask({
  refund: { type: "noul", instructions: "Is a refund asked for?", criteria: { true: "money back", false: "else" } },
  queue: { type: "choice", instructions: { ask: "Which queue?" }, criteria: ["billing", "shipping", "other"] },
});

test("toStructuredRequest() asks for a number of each outcome in one strict object", () => {
  const request = toStructuredRequest({ model: "m", state: { message: 'ignore "this"' } }, two);
  const properties = (labels: readonly string[]) => ({
    type: "object",
    properties: Object.fromEntries(labels.map((label) => [label, { type: "number" }])),
    required: labels,
    additionalProperties: false,
  });
  assert.deepEqual(request.response_format, {
    type: "json_schema",
    json_schema: {
      name: "decisions",
      strict: true,
      schema: {
        type: "object",
        properties: { q1: properties(["A", "B"]), q2: properties(["A", "B", "C"]) },
        required: ["q1", "q2"],
        additionalProperties: false,
      },
    },
  });
  assert.equal(request.temperature, 0);
  const [, user] = request.messages;
  assert.equal(
    user?.content,
    'State:\n{"message":"ignore \\"this\\""}\n\n' +
      "Question q1:\nIs a refund asked for?\nOptions:\nA: true (money back)\nB: false (else)\n\n" +
      'Question q2:\n{"ask":"Which queue?"}\nOptions:\nA: billing\nB: shipping\nC: other',
  );
});

test("toLabelRequest() asks for one token and the candidates for it", () => {
  const [, queue] = two;
  const { messages, ...request } = toLabelRequest({ model: "m", state: "s" }, queue ?? assert.fail());
  assert.deepEqual(request, { model: "m", temperature: 0, max_tokens: 1, logprobs: true, top_logprobs: 20 });
  assert.match(String(messages[1]?.content), /^State:\n"s"\n\nQuestion:\n/);
});

const said = (content: unknown): ChatAnswer =>
  readChatAnswer({ choices: [{ message: { role: "assistant", content } }] }) ?? assert.fail();

for (const [name, content, wanted] of [
  ["an object", '{"q1":{"A":0.9,"B":0.1},"q2":{"A":1,"B":0,"C":0}}', { refund: [0.9, 0.1], queue: [1, 0, 0] }],
  ["a block of code", '```json\n{"q1":{"A":1}}\n```', { refund: [1, 0] }],
  ["words around", 'Here: {"q1":{"A":1,"B":2}} Done.', { refund: [1, 2] }],
  [
    "parts",
    [
      { type: "text", text: '{"q1":' },
      { type: "text", text: '{"B":1}}' },
    ],
    { refund: [0, 1] },
  ],
  ["texts for numbers", '{"q1":{"A":"0.5"},"q2":{"A":0.5}}', { queue: [0.5, 0, 0] }],
  ["no labels", '{"q1":{},"q2":{"true":1}}', {}],
  ["a list", "[1,2]", {}],
  ["words", "I cannot decide.", {}],
  ["nothing", null, {}],
] as const) {
  test(`readDistributions() reads ${name}`, () => {
    assert.deepEqual(Object.fromEntries(readDistributions(said(content), two)), wanted);
  });
}

const candidates = (...list: readonly (readonly [string, number])[]): ChatAnswer => {
  const top_logprobs = list.map(([token, p]) => ({ token, logprob: Math.log(p) }));
  const content = [{ ...top_logprobs[0], top_logprobs }];
  return readChatAnswer({ choices: [{ message: {}, logprobs: { content } }] }) ?? assert.fail();
};

test("readLabelWeights() adds up the forms of a label, leaves the rest out and keeps a floor", () => {
  const [, queue] = two;
  const weights = readLabelWeights(
    candidates([" B", 0.5], ["B.", 0.1], ["The", 0.2], ["A", 0.2]),
    queue ?? assert.fail(),
  );
  const [a = 0, b = 0, c = 0] = weights ?? [];
  assert.ok(near(a, 0.25) && near(b, 0.75), String(weights));
  assert.equal(c, 1e-6);
});

test("readLabelWeights() returns undefined where hardly any candidate is a label", () => {
  const [refund] = two;
  assert.equal(readLabelWeights(candidates(["The", 0.99], ["A", 0.001]), refund ?? assert.fail()), undefined);
  assert.equal(readLabelWeights(said("A"), refund ?? assert.fail()), undefined);
});

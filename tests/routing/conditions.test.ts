import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  ConditionError,
  ConditionWork,
  createQueryReader,
  holds,
  type RequestFacts,
} from "../../src/routing/conditions.ts";
import type { ConfigProblem } from "../../src/routing/problem.ts";
import { type Json, seeded } from "../support/routing.ts";

function evaluate(written: unknown, facts: Partial<RequestFacts>): boolean {
  const problems: ConfigProblem[] = [];
  const query = createQueryReader(problems)(written, "query");
  assert.deepEqual(problems, []);
  assert.ok(query);
  return holds(query, { metadata: {}, params: {}, pathname: "/v1/chat/completions", ...facts });
}

function problemLines(written: unknown): string[] {
  const problems: ConfigProblem[] = [];
  createQueryReader(problems)(written, "query");
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

const isPrimitive = (value: unknown) => ["string", "number", "boolean"].includes(typeof value);
const float = (value: unknown) => Number.parseFloat(String(value));

/** The rules again, as plainly as they can be said. */
const referenceOperators: Record<string, (found: unknown, wanted: unknown) => boolean> = {
  $eq: (found, wanted) => found === wanted,
  $ne: (found, wanted) => found !== wanted,
  $gt: (found, wanted) => float(found) > float(wanted),
  $gte: (found, wanted) => float(found) >= float(wanted),
  $lt: (found, wanted) => float(found) < float(wanted),
  $lte: (found, wanted) => float(found) <= float(wanted),
  $in: (found, wanted) => (wanted as unknown[]).some((one) => one === found),
  $nin: (found, wanted) => !(wanted as unknown[]).some((one) => one === found),
  $regex: (found, wanted) => new RegExp(String(wanted)).test(String(found)),
};

function referenceField(name: string, facts: RequestFacts): unknown {
  if (name === "url.pathname") return facts.pathname;
  const [root, key = ""] = name.split(".");
  return (root === "metadata" ? facts.metadata : facts.params)[key];
}

function reference(written: Json, facts: RequestFacts): boolean {
  for (const [name, wanted] of Object.entries(written)) {
    if (name === "$and" && !(wanted as Json[]).every((one) => reference(one, facts))) return false;
    if (name === "$or" && !(wanted as Json[]).some((one) => reference(one, facts))) return false;
    if (name.startsWith("$")) continue;
    const found = referenceField(name, facts);
    if (!isPrimitive(found)) return false;
    const tests = typeof wanted === "object" ? Object.entries(wanted as Json) : [["$eq", wanted] as const];
    if (!tests.every(([operator, operand]) => referenceOperators[operator]?.(found, operand))) return false;
  }
  return true;
}

const primitive = fc.constantFrom<string | number | boolean>("a", "ab", "10", "1.5x", "", 1, 2, -1.5, true);
const fact = fc.oneof({ weight: 9, arbitrary: primitive }, fc.constantFrom<unknown>(null, {}, [1], { a: 1 }));
const operand: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  $eq: primitive,
  $ne: primitive,
  $gt: primitive,
  $gte: primitive,
  $lt: primitive,
  $lte: primitive,
  $in: fc.array(primitive, { maxLength: 8 }),
  $nin: fc.array(primitive, { maxLength: 4 }),
  $regex: fc.constantFrom("a", "^a$", "^1", "[0-9]+", "a|1", "^$", "\\d\\.\\d", "(?:ab)+", "/v1/.*"),
};
const operation = fc.oneof(
  ...Object.entries(operand).map(([name, arbitrary]) => arbitrary.map((value) => [name, value] as const)),
);
const tests = fc.array(operation, { minLength: 1, maxLength: 3 }).map((chosen): Json => Object.fromEntries(chosen));
const field = fc.constantFrom("metadata.x", "metadata.y", "params.x", "params.y", "url.pathname");
const wanted = fc.oneof({ weight: 1, arbitrary: primitive }, { weight: 4, arbitrary: tests });
const fields = fc.dictionary(field, wanted, { minKeys: 1, maxKeys: 2 });
const { query } = fc.letrec<{ query: Json }>((tie) => ({
  query: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 4, arbitrary: fields },
    { weight: 1, arbitrary: fc.record({ $and: fc.array(tie("query"), { minLength: 1, maxLength: 2 }) }) },
    { weight: 2, arbitrary: fc.record({ $or: fc.array(tie("query"), { minLength: 1, maxLength: 4 }) }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fields, fc.array(tie("query"), { minLength: 1, maxLength: 3 }), fc.constantFrom("$and", "$or"))
        .map(([own, list, name]) => ({ ...own, [name]: list })),
    },
  ),
}));
const holder = fc.oneof(
  { weight: 4, arbitrary: fc.record({ x: fact, y: fact }) },
  { weight: 1, arbitrary: fc.record({ x: fact, y: fact }, { requiredKeys: [] }) },
);

test(seeded("holds() agrees with a plain reading of the rules"), () => {
  let trueOnes = 0;
  fc.assert(
    fc.property(
      query,
      holder,
      holder,
      fc.constantFrom("/v1/embeddings", "a"),
      (written, metadata, params, pathname) => {
        const facts = { metadata, params, pathname };
        const expected = reference(written, facts);
        if (expected) trueOnes++;
        assert.equal(evaluate(written, facts), expected);
      },
    ),
    { numRuns: 3_000 },
  );
  assert.ok(trueOnes > 300, `only ${trueOnes} of the queries held`);
});

const operands: Readonly<Record<string, unknown>> = {
  $eq: "a",
  $ne: "a",
  $gt: 1,
  $gte: 1,
  $lt: 1,
  $lte: 1,
  $in: ["a"],
  $nin: ["a"],
  $regex: "",
};

for (const [operator, operand] of Object.entries(operands)) {
  for (const [what, metadata] of [
    ["missing", {}],
    ["null", { x: null }],
    ["an object", { x: {} }],
    ["a list", { x: ["a"] }],
  ] as const) {
    test(`holds() is false for ${operator} on a value that is ${what}`, () => {
      assert.equal(evaluate({ "metadata.x": { [operator]: operand } }, { metadata }), false);
    });
  }
}

for (const [written, metadata, expected] of [
  [{ "metadata.x": 1 }, { x: "1" }, false],
  [{ "metadata.x": { $eq: 1 } }, { x: "1" }, false],
  [{ "metadata.x": { $ne: 1 } }, { x: "1" }, true],
  [{ "metadata.x": { $gt: "9" } }, { x: "10" }, true],
  [{ "metadata.x": { $gt: 9 } }, { x: "10 dollars" }, true],
  [{ "metadata.x": { $lt: 9 } }, { x: "many" }, false],
  [{ "metadata.x": { $gte: "many" } }, { x: 9 }, false],
  [{ "metadata.x": { $gt: 0 } }, { x: true }, false],
  [{ "metadata.x": { $in: ["1"] } }, { x: 1 }, false],
  [{ "metadata.x": { $in: [] } }, { x: 1 }, false],
  [{ "metadata.x": { $nin: [] } }, { x: 1 }, true],
  [{ "metadata.x": { $regex: "A" } }, { x: "a" }, false],
  [{ "metadata.x": { $regex: "b" } }, { x: "abc" }, true],
  [{ "metadata.x": { $gt: 1, $lt: 5, $ne: 3 } }, { x: 2 }, true],
  [{ "metadata.x": { $gt: 1, $lt: 5, $ne: 3 } }, { x: 3 }, false],
  [{ "metadata.x": 1, $or: [{ "metadata.y": 2 }] }, { x: 1 }, false],
  [{ "metadata.x": 1, $and: [{ "metadata.y": 2 }] }, { x: 2, y: 2 }, false],
  [{ "metadata.a.b": 1 }, { a: { b: 1 } }, false],
  [{ "metadata.constructor": { $ne: "a" } }, {}, false],
  [{ "metadata.__proto__": { $ne: "a" } }, {}, false],
] as const) {
  test(`holds() is ${expected} for ${JSON.stringify(written)} on ${JSON.stringify(metadata)}`, () => {
    assert.equal(evaluate(written, { metadata }), expected);
  });
}

test("holds() sees only the path of a request, and parameters apart from metadata", () => {
  const facts = { metadata: { x: 1 }, params: { x: 2 }, pathname: "/v1/embeddings" };
  assert.equal(evaluate({ "url.pathname": "/v1/embeddings", "params.x": 2, "metadata.x": 1 }, facts), true);
  assert.equal(evaluate({ "params.x": 1 }, facts), false);
});

test("holds() is quick for patterns that make other engines hang", () => {
  const started = performance.now();
  assert.equal(evaluate({ "metadata.x": { $regex: "^(a+)+$" } }, { metadata: { x: `${"a".repeat(5_000)}!` } }), false);
  assert.ok(performance.now() - started < 2_000);
});

const nested = (levels: number) => {
  let written: Json = { "metadata.x": 1 };
  for (let level = 0; level < levels; level++) written = { $or: [written] };
  return written;
};

for (const [written, expected] of [
  [null, ["query: must be an object"]],
  [[], ["query: must be an object"]],
  ["x", ["query: must be an object"]],
  [{}, ["query: must name at least one field"]],
  [{ x: 1 }, ["query.x: must be metadata.<name>, params.<name> or url.pathname"]],
  [{ "headers.x": 1 }, ["query.headers.x: must be metadata.<name>, params.<name> or url.pathname"]],
  [{ "url.host": 1 }, ["query.url.host: must be metadata.<name>, params.<name> or url.pathname"]],
  [{ "metadata.": 1 }, ["query.metadata.: must be metadata.<name>, params.<name> or url.pathname"]],
  [{ $not: [] }, ["query.$not: Unsupported operator used in the query router: $not"]],
  [{ $and: [] }, ["query.$and: must be a list of queries"]],
  [{ $or: {} }, ["query.$or: must be a list of queries"]],
  [{ $or: [1, {}] }, ["query.$or[0]: must be an object", "query.$or[1]: must name at least one field"]],
  [{ "metadata.x": {} }, ["query.metadata.x: must name at least one operator"]],
  [{ "metadata.x": [] }, ["query.metadata.x: must be a string, a number, true, false or an object of operators"]],
  [{ "metadata.x": null }, ["query.metadata.x: must be a string, a number, true, false or an object of operators"]],
  [
    { "metadata.x": { $exists: true, $gt: 1 } },
    ["query.metadata.x.$exists: Unsupported operator used in the query router: $exists"],
  ],
  [
    { "metadata.x": { constructor: 1 } },
    ["query.metadata.x.constructor: Unsupported operator used in the query router: constructor"],
  ],
  [
    { "metadata.x": { $in: "a", $nin: 1 } },
    ["query.metadata.x.$in: must be a list", "query.metadata.x.$nin: must be a list"],
  ],
  [{ "metadata.x": { $regex: 1 } }, ["query.metadata.x.$regex: must be a regular expression"]],
  [{ "metadata.x": { $regex: "a".repeat(1_001) } }, ["query.metadata.x.$regex: must have at most 1000 characters"]],
] as const) {
  test(`createQueryReader() refuses ${JSON.stringify(written).slice(0, 60)}`, () => {
    assert.deepEqual(problemLines(written), expected);
  });
}

for (const pattern of ["(", "(?=a)", "(a)\\1", "[z-a]", "*"]) {
  test(`createQueryReader() reports what is wrong with the pattern ${pattern}`, () => {
    const [line = "", ...others] = problemLines({ "metadata.x": { $regex: pattern } });
    assert.match(line, /^query\.metadata\.x\.\$regex: is not a valid regular expression: ./);
    assert.deepEqual(others, []);
  });
}

for (const [what, pattern, count, message] of [
  ["characters", "a".repeat(1_000), 25, "must have, together with all other patterns, at most 25000 characters"],
  ["instructions", "a{1000}", 29, "has, together with those before it, too many or too large patterns"],
] as const) {
  test(`createQueryReader() bounds the ${what} of all patterns of a config`, () => {
    const problems: ConfigProblem[] = [];
    const read = createQueryReader(problems);
    for (let index = 0; index < count; index++) read({ "metadata.x": { $regex: pattern } }, `q${index}`);
    assert.deepEqual(problems, []);
    read({ "metadata.x": { $regex: pattern } }, "last");
    assert.deepEqual(problems, [{ path: "last.metadata.x.$regex", message }]);
  });
}

for (const [patterns, length] of [
  [1, 256 * 1024],
  [4, 256 * 1024],
  [8, 128 * 1024],
  [2_000, 1024],
] as const) {
  test(`holds() shows each of ${patterns} patterns of a config the first ${length} characters`, () => {
    const read = createQueryReader([]);
    const queries = Array.from({ length: patterns }, () => read({ "params.x": { $regex: "b" } }, "query"));
    const sees = (x: string) => {
      const [query] = queries;
      return query !== undefined && holds(query, { metadata: {}, params: { x }, pathname: "/" });
    };
    assert.equal(sees(`${"a".repeat(length - 1)}b`), true);
    assert.equal(sees(`${"a".repeat(length)}b`), false);
  });
}

test("createQueryReader() accepts 16 levels of nesting and no more", () => {
  assert.deepEqual(problemLines(nested(16)), []);
  const [line = "", ...others] = problemLines(nested(17));
  assert.match(line, /: must not nest deeper than 16 levels$/);
  assert.deepEqual(others, []);
});

test(seeded("createQueryReader() never throws, whatever is written"), () => {
  fc.assert(
    fc.property(fc.jsonValue(), field, (value, name) => {
      for (const written of [value, { [name]: value }, { $and: value }, { [name]: { $gt: value, $in: value } }]) {
        const problems: ConfigProblem[] = [];
        const read = createQueryReader(problems)(written, "query");
        assert.ok(read !== undefined || problems.length > 0);
        for (const { path, message } of problems) assert.ok(path.startsWith("query") && message.length > 0);
      }
    }),
    { numRuns: 500 },
  );
  const hostile = { toString: 1, valueOf: 1 };
  assert.deepEqual(problemLines({ "metadata.x": { $gt: hostile, $eq: hostile } }), []);
  assert.equal(evaluate({ "metadata.x": { $gt: hostile } }, { metadata: { x: 1 } }), false);
});

test("holds() refuses to decide where patterns take too many steps", () => {
  const read = createQueryReader([]);
  const query = read({ "params.x": { $regex: "^[ab]*a[ab]{999}[cd]$" } }, "query");
  assert.ok(query);
  const facts = { metadata: {}, params: { x: "ab".repeat(100_000) }, pathname: "/" };
  assert.throws(() => holds(query, facts), ConditionError);
  const work = new ConditionWork();
  assert.throws(() => {
    for (let round = 0; round < 100; round++) holds(query, { ...facts, params: { x: "ab".repeat(300) } }, work);
  }, ConditionError);
});

test("holds() decides by patterns over long values where these take few steps", () => {
  const long = "word ".repeat(40_000);
  assert.equal(evaluate({ "params.x": { $regex: "(?i)secret" } }, { params: { x: `${long}SECRET` } }), true);
  assert.equal(evaluate({ "params.x": { $regex: "^gpt-" } }, { params: { x: long } }), false);
});

test("holds() reads the beginning of a long number only", () => {
  const digits = "9".repeat(20_000_000);
  const query = { $or: Array.from({ length: 500 }, () => ({ "params.x": { $lt: 1 } })) };
  const startedAt = performance.now();
  assert.equal(evaluate(query, { params: { x: digits } }), false);
  assert.ok(performance.now() - startedAt < 2_000);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkJson, JsonSchemaWork } from "../src/check.ts";
import { JsonSchemaError, readJsonSchema } from "../src/schema.ts";

const tree = {
  $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, additionalProperties: false } },
  $ref: "#/$defs/node",
};

for (const [schema, fitting, others] of [
  [{}, [1, null, {}], []],
  [{ type: "integer" }, [1, 1.0], [1.5, "1"]],
  [{ type: ["string", "null"] }, ["", null], [1]],
  [{ const: null }, [null], [0]],
  [{ const: { a: [1] } }, [{ a: [1] }], [{ a: [2] }]],
  [{ enum: ["a", 1] }, ["a", 1], ["1"]],
  [{ required: ["a"], properties: { a: false } }, [1], [{}, { a: 1 }]],
  [{ dependentRequired: { a: ["b"] } }, [{ b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
  [{ dependentSchemas: { a: { required: ["b"] } } }, [{ a: 1, b: 1 }], [{ a: 1 }]],
  [{ prefixItems: [{ type: "number" }], items: { type: "string" } }, [[1, "a"], []], [["a"], [1, 2]]],
  [{ items: false }, [[]], [[1]]],
  [{ contains: { const: 1 }, maxContains: 2 }, [[1, 2, 1]], [[2], [1, 1, 1]]],
  [{ uniqueItems: true }, [[1, 2]], [[{ a: 1 }, { a: 1 }]]],
  [{ multipleOf: 0.01, exclusiveMaximum: 2 }, [1.13], [1.131, 2]],
  [{ minLength: 2, maxLength: 2 }, ["ab", "🙂🙂"], ["a", "abc"]],
  [{ pattern: "^a+$" }, ["aa", 1, {}], ["ab", ""]],
  [{ items: { pattern: "b" } }, [["ab", "b"]], [["ab", "a"]]],
  [{ not: { pattern: "b" } }, ["a"], ["ab", 1]],
  [{ anyOf: [{ pattern: "a" }, { pattern: "b" }] }, ["a", "b"], ["c"]],
  [{ allOf: [{ minLength: 2 }], pattern: "a" }, ["ab"], ["a", "bb"]],
  [{ propertyNames: { pattern: "^x-" } }, [{ "x-a": "no" }], [{ a: "x-" }]],
  [
    { patternProperties: { "^n": { type: "number" }, d$: { minimum: 5 } }, properties: { nod: { maximum: 9 } } },
    [{ nod: 6, n: 1, d: "x", other: "x" }],
    [{ nod: 4 }, { nod: 10 }, { nod: "x" }, { n: "x" }, { ed: 4 }],
  ],
  [{ patternProperties: { "^a": {} }, additionalProperties: false }, [{ ab: 1 }], [{ ba: 1 }]],
  [
    { anyOf: [{ properties: { a: true }, required: ["a"] }], unevaluatedProperties: false },
    [{ a: 1 }],
    [{ a: 1, b: 2 }],
  ],
  [{ if: { type: "string" }, then: { minLength: 2 }, else: { minimum: 2 } }, ["ab", 2], ["a", 1]],
  [{ oneOf: [{ minimum: 1 }, { minimum: 5 }] }, [2], [0, 6]],
  [{ $defs: { a: { $anchor: "here", type: "string" } }, $ref: "#here" }, ["a"], [1]],
  [{ $id: "https://host.example/a", $defs: { b: { $id: "b", type: "string" } }, $ref: "b" }, ["a"], [1]],
  [tree, [{ next: { next: {} } }], [{ next: { next: { other: 1 } } }]],
  [{ format: "date" }, ["2024-02-29"], ["2023-02-29"]],
  [{ format: "of-ours" }, ["anything"], []],
  [{ unknown: { type: "string" }, $recursiveRef: "#", dependencies: { a: ["b"] } }, [1, { a: 1 }], []],
  [{ properties: { toString: { type: "string" } } }, [{}], [{ toString: 1 }]],
] as const) {
  test(`a schema accepts what matches it: ${JSON.stringify(schema)}`, () => {
    const read = readJsonSchema(schema);
    for (const value of fitting) assert.deepEqual(checkJson(read, value), [], JSON.stringify(value));
    for (const value of others) assert.notDeepEqual(checkJson(read, value), [], JSON.stringify(value));
  });
}

test("checkJson() reports the location and kind of each problem", () => {
  const schema = readJsonSchema({
    properties: { list: { items: { type: "object", properties: { a: { pattern: "^a$" } }, required: ["b"] } } },
  });
  assert.deepEqual(checkJson(schema, { list: [{ a: "a", b: 1 }, { a: "x" }, 1] }), [
    { path: "/list/1", message: 'Instance does not have required property "b".' },
    { path: "/list/1/a", message: 'Instance does not match {"pattern":"^a$"}.' },
    { path: "/list/2", message: 'Instance type "number" is invalid. Expected "object".' },
  ]);
});

test("readJsonSchema() leaves what it reads as it is", () => {
  const written = Object.freeze({
    properties: Object.freeze({ a: Object.freeze({ $ref: "#/$defs/b" }) }),
    $defs: { b: {} },
  });
  assert.deepEqual(checkJson(readJsonSchema(written), { a: 1 }), []);
  assert.deepEqual(Reflect.ownKeys(written.properties.a), ["$ref"]);
});

let deep: unknown = {};
for (let level = 0; level < 40; level++) deep = { not: deep };

for (const [written, message] of [
  ["{}", /^must be a JSON schema, written as an object$/],
  [true, /^must be a JSON schema, written as an object$/],
  [[], /^must be a JSON schema, written as an object$/],
  [undefined, /^must be a JSON schema, written as an object$/],
  [{ type: "text" }, /^type: has a value that cannot be used$/],
  [{ type: ["string", "text"] }, /^type: has a value that cannot be used$/],
  [{ $ref: "#".repeat(1_001) }, /^\$ref: must have at most 1000 characters$/],
  [{ minLength: "1" }, /^minLength: must be a number$/],
  [{ maxItems: 1.5 }, /^maxItems: must be a whole number$/],
  [{ properties: { a: { maxItems: -1 } } }, /^properties\.a\.maxItems: must be at least 0$/],
  [{ uniqueItems: 1 }, /^uniqueItems: must be true or false$/],
  [{ enum: "a" }, /^enum: must be a list$/],
  [{ required: ["a", 1] }, /^required\.1: must be a string$/],
  [{ dependentRequired: 1 }, /^dependentRequired: must be an object$/],
  [{ dependentRequired: { a: ["b", null] } }, /^dependentRequired\.a\.1: must be a string$/],
  [{ properties: { a: { items: [{}] } } }, /^properties\.a\.items: must be a schema/],
  [{ anyOf: {} }, /^anyOf: must be a list of schemas$/],
  [{ items: { allOf: [{}, { properties: [] }] } }, /^items\.allOf\[1\]\.properties: must be an object of schemas$/],
  [{ pattern: "(?=a)" }, /^the pattern \(\?=a\) is not a valid regular expression: /],
  [{ patternProperties: { "(a)\\1": {} } }, /is not a valid regular expression: /],
  [{ multipleOf: 0 }, /^multipleOf: must be above 0$/],
  [{ required: "a" }, /^required: must be a list$/],
  [{ $ref: "#/$defs/none" }, /^must contain the target of its reference: #\/\$defs\/none$/],
  [{ $ref: "https://host.example/schema.json" }, /^must contain the target of its reference: https:/],
  [{ items: { $dynamicRef: "#a" } }, /^items\.\$dynamicRef: cannot be used here: use \$ref$/],
  [{ $defs: { a: { $id: "x" }, b: { $id: "x", type: "null" } } }, /^is not a JSON schema: /],
  [{ description: "x".repeat(64 * 1024) }, /^must have at most 65536 characters$/],
  [{ anyOf: Array.from({ length: 51 }, (_, index) => ({ pattern: `${index}` })) }, /at most 50 patterns$/],
  [deep, /must have at most 32 levels$/],
] as const) {
  test(`readJsonSchema() refuses ${JSON.stringify(written)?.slice(0, 60)}`, () => {
    assert.throws(
      () => readJsonSchema(written),
      (error: unknown) => {
        assert.ok(error instanceof JsonSchemaError);
        assert.match(error.message, message);
        return true;
      },
    );
  });
}

/** Each schema refers to the next twice. */
const doubling = {
  $ref: "#/$defs/0",
  $defs: Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => {
      const next = { $ref: `#/$defs/${index + 1}` };
      return [index, index === 39 ? {} : { allOf: [next, next] }];
    }),
  ),
};
let nested: unknown = [];
for (let level = 0; level < 100; level++) nested = [nested];
const numbers = Array.from({ length: 10_000 }, (_, index) => index);
const texts = numbers.map((number) => `text ${number} ${"x".repeat(100)}`);

for (const [name, schema, value] of [
  ["refers to itself on the spot", { $ref: "#" }, 1],
  ["doubles", doubling, 1],
  ["looks again and again at a long list", { allOf: Array(1_000).fill({ items: true }) }, numbers],
  ["measures long texts", { allOf: Array(1_000).fill({ maxLength: 3 }) }, "x".repeat(1_000_000)],
  [
    "has many patterns",
    { items: { anyOf: Array.from({ length: 50 }, (_, index) => ({ pattern: `^${index}` })) } },
    texts,
  ],
  ["is for a value with many levels", {}, nested],
] as const) {
  test(`checkJson() gives up on a schema that ${name}`, () => {
    const startedAt = performance.now();
    assert.throws(() => checkJson(readJsonSchema(schema), value), JsonSchemaError);
    assert.ok(performance.now() - startedAt < 5_000);
  });
}

test("checkJson() accepts a list of ten thousand", () => {
  const schema = {
    type: "array",
    items: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
  };
  const list = numbers.map((id) => ({ id }));
  assert.deepEqual(checkJson(readJsonSchema(schema), list), []);
});

test("checkJson() counts the work of values that share it together", () => {
  const schema = readJsonSchema({ items: { type: "integer" } });
  const work = new JsonSchemaWork();
  for (let round = 0; round < 5; round++) assert.deepEqual(checkJson(schema, numbers, work), []);
  assert.throws(() => {
    for (let round = 0; round < 10; round++) checkJson(schema, numbers, work);
  }, JsonSchemaError);
});

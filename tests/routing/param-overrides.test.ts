import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { applyParamOverrides } from "../../src/routing/param-overrides.ts";
import { type Json, seeded } from "../support/routing.ts";

const none = { defaultParams: {}, overrideParams: {}, dropParams: [] };

/** Applies overrides to a body, and checks that the body itself is unchanged. */
function apply(body: Json, overrides: Partial<Parameters<typeof applyParamOverrides>[1]>): Json {
  const before = JSON.stringify(body);
  const after = applyParamOverrides(body, { ...none, ...overrides });
  assert.equal(JSON.stringify(body), before);
  return after;
}

test("applyParamOverrides() returns the body itself when there is nothing to do", () => {
  const body = { model: "m" };
  assert.equal(applyParamOverrides(body, none), body);
  assert.equal(applyParamOverrides(body, { ...none, defaultParams: { model: "other" } }), body);
});

for (const [what, body, overrides, expected] of [
  ["adds a default", { a: 1 }, { defaultParams: { b: 2 } }, { a: 1, b: 2 }],
  ["keeps what is there before a default", { a: 1 }, { defaultParams: { a: 2 } }, { a: 1 }],
  ["keeps a null before a default", { a: null }, { defaultParams: { a: 2 } }, { a: null }],
  ["adds an override", {}, { overrideParams: { a: 2 } }, { a: 2 }],
  ["overrides as a whole", { a: { b: 1 } }, { overrideParams: { a: { c: 2 } } }, { a: { c: 2 } }],
  ["overrides a default", {}, { defaultParams: { a: 1 }, overrideParams: { a: 2 } }, { a: 2 }],
  ["drops a default", { b: 1 }, { defaultParams: { a: 1 }, dropParams: ["a"] }, { b: 1 }],
  ["drops an override", { a: 1 }, { overrideParams: { a: { b: 1, c: 2 } }, dropParams: ["a.b"] }, { a: { c: 2 } }],
] as const) {
  test(`applyParamOverrides() ${what}`, () => {
    assert.deepEqual(apply(body, overrides), expected);
  });
}

const tools = [
  { name: "a", function: { strict: true, x: 1 } },
  { name: "b", function: { strict: false } },
  { name: "c" },
];
const body = { user: "u", stream_options: { include_usage: true, other: 1 }, tools, "*": 1, list: [[1, 2], [3]] };

for (const [paths, change] of [
  [["user"], { user: undefined }],
  [["stream_options.include_usage"], { stream_options: { other: 1 } }],
  [["tools[0].function.strict"], { tools: [{ name: "a", function: { x: 1 } }, tools[1], tools[2]] }],
  [
    ["tools[*].function.strict"],
    { tools: [{ name: "a", function: { x: 1 } }, { name: "b", function: {} }, { name: "c" }] },
  ],
  [["tools[1]"], { tools: [tools[0], tools[2]] }],
  [["tools[*]"], { tools: [] }],
  [["tools[0]", "tools[1]"], { tools: [tools[2]] }],
  [["tools[1]", "tools[0]"], { tools: [tools[2]] }],
  [["tools[0]", "tools[0].name"], { tools: [tools[1], tools[2]] }],
  [["list[0][1]"], { list: [[1], [3]] }],
  [["list[*][0]"], { list: [[2], []] }],
  [["*"], { "*": undefined }],
  ...[
    "missing",
    "user.name",
    "user[0]",
    "tools.name",
    "tools[9]",
    "tools[9].name",
    "tools[0].none",
    "stream_options[*]",
    "stream_options[0]",
    "",
    ".",
    "[0]",
    "user.",
    ".user",
    "tools[",
    "tools[]",
    "tools[-1]",
    "tools[a]",
    "tools[1.5]",
    "tools[0]name",
    "tools.*.name",
    "a[0",
    "a]",
    "tools[99999999999999999999]",
  ].map((path) => [[path], {}] as const),
] as const) {
  test(`applyParamOverrides() drops ${JSON.stringify(paths)}`, () => {
    const expected = Object.entries({ ...body, ...change }).filter(([, value]) => value !== undefined);
    assert.deepEqual(apply(body, { dropParams: paths }), Object.fromEntries(expected));
  });
}

const hostile = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":1}') as Json;

test("applyParamOverrides() never lets a parameter reach a prototype", () => {
  const after = apply({ b: 1 }, { defaultParams: hostile, overrideParams: hostile });
  assert.deepEqual(Object.keys(after).sort(), ["a", "b"]);
  assert.equal(Object.getPrototypeOf(after), Object.prototype);
  assert.equal(({} as Json).polluted, undefined);
});

for (const path of [
  "__proto__",
  "__proto__.toString",
  "constructor.prototype.toString",
  "a.__proto__.b",
  "prototype",
]) {
  test(`applyParamOverrides() does not reach ${path}`, () => {
    const given = JSON.parse('{"__proto__":{"toString":1},"a":{"__proto__":{"b":1}},"prototype":1}') as Json;
    assert.equal(JSON.stringify(apply(given, { dropParams: [path] })), JSON.stringify(given));
    assert.equal(typeof Object.prototype.toString, "function");
    assert.equal(typeof {}.constructor, "function");
  });
}

test(seeded("applyParamOverrides() keeps the order default, override, drop on any parameters"), () => {
  const members = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), fc.integer(), { maxKeys: 4 });
  fc.assert(
    fc.property(
      members,
      members,
      members,
      fc.subarray(["a", "b", "c", "d"]),
      (given, defaults, overridden, dropped) => {
        const expected: Json = {};
        for (const name of ["a", "b", "c", "d"]) {
          if (dropped.includes(name)) continue;
          for (const source of [overridden, given, defaults]) {
            if (name in source && !(name in expected)) expected[name] = source[name];
          }
        }
        const overrides = { defaultParams: defaults, overrideParams: overridden, dropParams: dropped };
        assert.deepEqual({ ...apply(given, overrides) }, expected);
      },
    ),
  );
});

test(seeded("applyParamOverrides() never throws on any body and path"), () => {
  const path = fc.oneof(fc.string(), fc.stringMatching(/^[ab](\[[0-2*]\]){0,2}(\.[ab](\[[0-2*]\])?){0,2}$/));
  const member = fc.constantFrom("a", "b");
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.integer(), fc.array(tie("value")), fc.dictionary(member, tie("value"))),
  }));
  fc.assert(
    fc.property(fc.dictionary(member, value), fc.array(path, { maxLength: 4 }), (given, dropParams) => {
      apply({ ...given }, { dropParams });
    }),
    { numRuns: 500 },
  );
});

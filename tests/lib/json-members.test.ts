import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { JsonMembers } from "../../src/lib/json-members.ts";
import { rounds } from "../support/sample.ts";

const encoder = new TextEncoder();

/** Members of a text that comes in pieces of these sizes, in turn. */
function readIn(text: string, sizes: readonly number[], names: readonly string[]): [string, unknown][] {
  const found: [string, unknown][] = [];
  const members = new JsonMembers(names, (name, value) => found.push([name, JSON.parse(value)]));
  const bytes = encoder.encode(text);
  for (let from = 0, turn = 0; from < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    members.push(bytes.subarray(from, from + size));
    from += size;
  }
  return found;
}

for (const [text, wanted] of [
  ['{"usage":{"a":1},"b":2}', [["usage", { a: 1 }]]],
  ['{"data":[{"usage":1}],"usage":2}', [["usage", 2]]],
  ['{"x":"\\"usage\\":3,","usage":4}', [["usage", 4]]],
  ['{"x":"\\\\","usage":"{\\"a\\":[1,2]}"}', [["usage", '{"a":[1,2]}']]],
  [
    ' [ {"usage":1} ,\n{"x":{"usage":7},"usage" : [1, 2] } ] ',
    [
      ["usage", 1],
      ["usage", [1, 2]],
    ],
  ],
  ['{"x":["usage","usage"],"usage":null}', [["usage", null]]],
  [
    '{"usage":"x","usage":"y"}',
    [
      ["usage", "x"],
      ["usage", "y"],
    ],
  ],
  ['"usage"', []],
  ["{}", []],
  ['{"usage', []],
] as const) {
  test(`JsonMembers reads ${JSON.stringify(wanted)} of ${text}`, () => {
    for (let size = 1; size <= text.length; size++) assert.deepEqual(readIn(text, [size], ["usage"]), wanted);
  });
}

test("JsonMembers reads what JSON.parse reads, in pieces of any size", () => {
  const names = ["a", "b", '"', "\\"];
  fc.assert(
    fc.property(
      fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), fc.jsonValue()),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (value, sizes) => {
        const wanted = Object.entries(value).filter(([name]) => name === "a" || name === "b");
        const text = JSON.stringify(value);
        assert.deepEqual(readIn(text, sizes, ["a", "b"]), JSON.parse(JSON.stringify(wanted)));
      },
    ),
    { numRuns: rounds(500) },
  );
});

test("JsonMembers leaves out values that are too long, and reads what follows", () => {
  const text = JSON.stringify({ usage: "x".repeat(70_000), model: "m", ["n".repeat(100)]: 1, tier: "t" });
  assert.deepEqual(readIn(text, [1_000], ["usage", "model", "tier"]), [
    ["model", "m"],
    ["tier", "t"],
  ]);
});

for (const size of [1, 7, 1_000]) {
  test(`JsonMembers hands on long values, and says where objects of a list end, in pieces of ${size}`, () => {
    const items = [{ id: "a", type: "x" }, { type: "y", more: [{ type: "z" }] }, {}];
    const text = JSON.stringify({ usage: 1, output: items, id: "i" });
    const found: unknown[] = [];
    const inner = new JsonMembers(["type"], (_, value) => found.push(JSON.parse(value)), {
      ended: () => found.push("end"),
    });
    let long = "";
    const outer = new JsonMembers(["usage", "id"], (name, value) => found.push([name, JSON.parse(value)]), {
      long: {
        output(bytes) {
          long += new TextDecoder().decode(bytes);
          inner.push(bytes);
        },
      },
    });
    const bytes = encoder.encode(text);
    for (let from = 0; from < bytes.length; from += size) outer.push(bytes.subarray(from, from + size));
    assert.equal(long, JSON.stringify(items));
    assert.deepEqual(found, [["usage", 1], "x", "end", "y", "end", "end", ["id", "i"]]);
  });
}

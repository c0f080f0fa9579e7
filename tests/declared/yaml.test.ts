import assert from "node:assert/strict";
import { test } from "node:test";
import { readYaml } from "../../src/declared/yaml.ts";

const read = (text: string) => readYaml(new TextEncoder().encode(text), "gateway.yaml");

const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}: ${index}`).join("\n");

test("YAML and JSON are read alike", async () => {
  assert.deepEqual(await read("a: { b: [1, two, null] }\nc: &c x\nd: *c"), {
    a: { b: [1, "two", null] },
    c: "x",
    d: "x",
  });
  assert.deepEqual(await read(' {"a": {"b": [1, "two", null]}}\n'), { a: { b: [1, "two", null] } });
  assert.deepEqual(await read("{a: 1, 'b': 2}"), { a: 1, b: 2 });
  assert.equal(await read("# nothing"), null);
  assert.equal(await read(""), null);
  assert.equal(Object.keys((await read(names(9_000))) as object).length, 9_000); // an object of numbers
});

const refusals: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
  "a name that stands twice": ["a: 1\nb:\n  c: 1\n  'c': 2", /"c" stands twice in one object at line 4, column 3/],
  "a name that stands twice in JSON": ['{"a": 1,\n"a": 2}', /"a" stands twice in one object at line 2, column 1/],
  "a mark that is not closed": ["a: [1, 2\nb: 3", /gateway\.yaml: .* at line \d+, column \d+/],
  "an alias without its anchor": ["a: *b", /gateway\.yaml: .*/],
  "several documents": ["a: 1\n---\nb: 2", /multiple documents at line \d/],
  "too many names": [names(10_001), /10000 members/],
  "too many tokens": ["- a\n".repeat(250_000), /more than 1000000 tokens/],
  "too many anchors": ["- &a x\n".repeat(1_001), /more than 1000 anchors/],
  "aliases that grow": [
    `a: &a [x]\n${"bcdefghi".replace(/./g, (one) => `${one}: &${one} [${`*${String.fromCharCode(one.charCodeAt(0) - 1)},`.repeat(9)}]\n`)}`,
    /gateway\.yaml/,
  ],
};

for (const [name, [text, message]] of Object.entries(refusals)) {
  test(`YAML is refused with ${name}`, async () => {
    await assert.rejects(read(text), { name: "InvalidRequestError", message });
  });
}

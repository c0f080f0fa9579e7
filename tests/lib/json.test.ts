import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bodyLimits,
  decodeUtf8,
  findJsonExcess,
  hasRepeatedName,
  isObject,
  type JsonLimits,
  parseJson,
} from "../../src/lib/json.ts";
import { createRandom } from "../support/gateway.ts";

const encoder = new TextEncoder();
const padding = " ".repeat(2_048);
/** The scan of a text, made long enough to be scanned at all. */
const scan = (text: string, limits?: JsonLimits) => findJsonExcess(encoder.encode(text + padding), limits);

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const nestedObjects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;

for (const [name, text, wanted] of [
  ["64 arrays", nested(64), undefined],
  ["65 arrays", nested(65), /64 levels/],
  ["64 objects", nestedObjects(64), undefined],
  ["65 objects", nestedObjects(65), /64 levels/],
  ["a million arrays", nested(1_000_000), /64 levels/],
  ["arrays that are closed again", `[${"[],".repeat(1_000)}[]]`, undefined],
  ["brackets inside a string", `["${"[{".repeat(1_000)}"]`, undefined],
  ["brackets behind an escaped quote", `["\\"${"[".repeat(1_000)}"]`, undefined],
  ["brackets behind an escaped backslash", `["\\\\",${nested(65)}]`, /64 levels/],
  ["brackets behind two escaped backslashes and a quote", `["\\\\\\"${"[".repeat(1_000)}"]`, undefined],
  ["brackets inside a key", `{"${"[".repeat(1_000)}":1}`, undefined],
  ["commas and colons inside a string", `["${",:".repeat(300_000)}"]`, undefined],
  ["200,000 values", `[${"1,".repeat(199_998)}1]`, undefined],
  ["200,001 values", `[${"1,".repeat(199_999)}1]`, /200000 values/],
  ["200,000 values, most of them empty lists", `[${"[],".repeat(199_998)}[]]`, undefined],
  ["200,001 values, most of them empty lists", `[${"[],".repeat(199_999)}[]]`, /200000 values/],
  ["200,000 values, most of them empty objects with blanks", `[${"{ \n},".repeat(199_998)}{\t}]`, undefined],
  ["10,000 members", `{${Array.from({ length: 10_000 }, (_, index) => `"${index}":0`).join()}}`, undefined],
  ["10,001 members", `{${Array.from({ length: 10_001 }, (_, index) => `"${index}":0`).join()}}`, /10000 members/],
  ["two objects of 6,000 members", `[${[1, 2].map(() => `{${'"a":0,'.repeat(5_999)}"b":0}`).join()}]`, undefined],
  ["an object around one of 9,999 members", `{"a":{${'"a":0,'.repeat(9_998)}"b":0},"c":0}`, undefined],
  ["members counted on behind a nested object", `{${'"a":{},'.repeat(10_000)}"b":0}`, /10000 members/],
] as const) {
  test(`J2: findJsonExcess() of ${name} is ${wanted ?? "nothing"}`, () => {
    const excess = scan(text);
    if (wanted === undefined) assert.equal(excess, undefined);
    else assert.match(excess ?? "", wanted);
  });
}

for (const text of ["", '"', '"abc', '"abc\\', '"abc\\"', "\\", "]]]]", "}}}}[", '[,,"', "{:::}", '"\\\\\\"']) {
  test(`findJsonExcess() leaves the malformed ${JSON.stringify(text)} to the parser`, () => {
    assert.equal(findJsonExcess(encoder.encode(padding + text)), undefined);
  });
}

test("findJsonExcess() accepts 4 MB of backslashes and quotes, which would take minutes if it went back for each", () => {
  assert.equal(scan(`["${'\\\\\\"'.repeat(1_000_000)}"]`), undefined);
  assert.equal(scan(`["${"\\".repeat(4_000_000)}"]`), undefined);
  assert.equal(scan(`[${" ".repeat(4_000_000)}]`), undefined);
});

/** What a parsed value holds, counted the plain way. */
function measure(value: unknown): JsonLimits {
  if (typeof value !== "object" || value === null) return { depth: 0, values: 1, keys: 0 };
  const children = Object.values(value).map(measure);
  const own = Array.isArray(value) ? 0 : children.length;
  return {
    depth: 1 + Math.max(0, ...children.map(({ depth }) => depth)),
    values: 1 + children.reduce((sum, { values }) => sum + values, 0),
    keys: Math.max(own, ...children.map(({ keys }) => keys)),
  };
}

/** JSON text of a random value, with blanks in random places and strings that look like structure. */
function createJson(random: () => number): string {
  const texts = ['"', "\\", "[", "]", "{", "}", ",", ":", '\\"', "é☂", "\ud83d\ude00", "\n", "a"];
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value; // in range
  const blank = () => pick(["", "", "", " ", "\n", "\t\r\n "]);
  const string = () => JSON.stringify(Array.from({ length: Math.floor(random() * 6) }, () => pick(texts)).join(""));
  const value = (depth: number): string => {
    const kind = depth > 6 ? 0 : random();
    const count = Math.floor(random() * 5);
    if (kind > 0.75)
      return `[${blank()}${Array.from({ length: count }, () => value(depth + 1)).join(`${blank()},${blank()}`)}${blank()}]`;
    if (kind > 0.5) {
      const members = Array.from({ length: count }, (_, index) => {
        const key = JSON.stringify(index + JSON.parse(string()));
        return `${key}${blank()}:${blank()}${value(depth + 1)}`;
      });
      return `{${blank()}${members.join(`${blank()},${blank()}`)}${blank()}}`;
    }
    return pick([string, string, () => "1", () => "-1.5e3", () => "true", () => "null"])();
  };
  return blank() + value(0) + blank();
}

test("property: findJsonExcess() agrees with a naive count on 3,000 random inputs at every limit", () => {
  const random = createRandom(20_260_115);
  for (let round = 0; round < 3_000; round++) {
    const text = createJson(random);
    const { depth, values, keys } = measure(JSON.parse(text));
    const roomy = { depth: 64, values: 100_000, keys: 10_000 };
    assert.equal(scan(text, { depth, values, keys }), undefined, `never refuses what is within bounds: ${text}`);
    if (depth > 0) assert.match(scan(text, { ...roomy, depth: depth - 1 }) ?? "", /levels/, text);
    if (keys > 0) assert.match(scan(text, { ...roomy, keys: keys - 1 }) ?? "", /members/, text);
    if (values > 1 && depth > 0) assert.match(scan(text, { ...roomy, values: values - 1 }) ?? "", /values/, text);
  }
});

test("bodyLimits are those of J2", () => {
  assert.deepEqual(bodyLimits, { depth: 64, values: 200_000, keys: 10_000, ignoredBelow: 2_048 });
});

for (const [bytes, text] of [
  [[0xef, 0xbb, 0xbf, 0x61], "a"],
  [[0xc3, 0xa9], "é"],
  [[], ""],
] as const) {
  test(`J1: decodeUtf8() reads ${bytes.join()} as "${text}"`, () =>
    assert.equal(decodeUtf8(Uint8Array.from(bytes)), text));
}

for (const bytes of [[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0x61, 0x80]]) {
  test(`J1: decodeUtf8() refuses ${bytes.map((byte) => byte.toString(16)).join(" ")}`, () => {
    assert.throws(() => decodeUtf8(Uint8Array.from(bytes)), TypeError);
    assert.equal(decodeUtf8(Uint8Array.from([0x61])), "a", "and reads the next text from its beginning");
  });
}

for (const [value, wanted] of [
  [{}, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  ["{}", false],
  [undefined, false],
] as const) {
  test(`isObject() says ${wanted} of ${JSON.stringify(value)}`, () => assert.equal(isObject(value), wanted));
}

test("parseJson() returns undefined for text that is not JSON", () => {
  assert.deepEqual(
    [parseJson("{"), parseJson(""), parseJson("null"), parseJson("[1]")],
    [undefined, undefined, null, [1]],
  );
});

for (const [text, wanted] of [
  ['{"a":1,"b":2}', false],
  ['{"a":1,"a":2}', true],
  ['{"a":{"a":1},"b":{"a":1}}', false],
  ['{"a":[{"b":1},{"b":2}]}', false],
  ['{"a":[{"b":1,"b":2}]}', true],
  ['{"a":1,"\\u0061":2}', true],
  ['{"a":"\\"a\\":1","b":"{\\"b\\":1,\\"b\\":2}"}', false],
  ['{"a\\"":1,"a\\"":2}', true],
  ['{"__proto__":1,"__proto__":2}', true],
  ['{"a" : 1 ,\n "a" : 2}', true],
  ['["a","a"]', false],
  ["1", false],
] as const) {
  test(`hasRepeatedName() is ${wanted} for ${text}`, () => {
    assert.equal(hasRepeatedName(text), wanted);
  });
}

for (const [name, text] of [
  ["lists", `[${"[],".repeat(200_000)}1]`],
  ["objects", `[${"{},".repeat(200_000)}1]`],
  ["fields", `{${Array.from({ length: 500_001 }, (_, index) => `"${index}":1`).join(",")}}`],
] as const) {
  test(`parseJson() returns undefined for text with too many ${name}, whose value takes many times its memory`, () => {
    assert.equal(parseJson(text), undefined);
  });
}

test("parseJson() reads millions of numbers and long strings, which take little", () => {
  const numbers = `[${"1.5,".repeat(3_000_000)}1]`;
  assert.equal(Object(parseJson(numbers)).length, 3_000_001);
  assert.equal(String(parseJson(`"${"[{:".repeat(1_000_000)}"`)).length, 3_000_000);
});

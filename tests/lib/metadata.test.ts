import assert from "node:assert/strict";
import { test } from "node:test";
import { readBaggage, readMetadata, readTraceparent } from "../../src/lib/metadata.ts";

const plain = (value: object | undefined) => value && Object.fromEntries(Object.entries(value));

for (const [text, wanted] of [
  ["{}", {}],
  ['{"a":"b"}', { a: "b" }],
  ["{'a':'b'}", { a: "b" }],
  ['{"a":1,"b":true,"c":-1.5,"d":""}', { a: "1", b: "true", c: "-1.5", d: "" }],
  ['{"a":null}', {}],
  [`{"${"k".repeat(200)}":"${"v".repeat(200)}"}`, { ["k".repeat(128)]: "v".repeat(128) }],
  ['{"é":"☂"}', { é: "☂" }],
  ["", undefined],
  ["null", undefined],
  ["[]", undefined],
  ['["a"]', undefined],
  ['"a"', undefined],
  ["5", undefined],
  ["{", undefined],
  ["{a:1}", undefined],
  ["{'a':\"b\"}", undefined],
  ['{"a":{}}', undefined],
  ['{"a":["b"]}', undefined],
  ['{"a":"\\u0000"}', undefined],
  ['{"\\u0000":"b"}', undefined],
] as const) {
  test(`readMetadata() reads ${text.slice(0, 40)}`, () => {
    assert.deepEqual(plain(readMetadata(text)), wanted);
    assert.deepEqual(plain(readMetadata(text)), wanted, "and again from memory");
  });
}

for (const [count, kept] of [
  [64, true],
  [65, false],
] as const) {
  test(`readMetadata() ${kept ? "takes" : "refuses"} ${count} pairs`, () => {
    const text = JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"])));
    assert.equal(readMetadata(text) !== undefined, kept);
  });
}

test("J4: readMetadata() keeps __proto__ and constructor as plain names and changes no prototype", () => {
  const metadata = readMetadata('{"__proto__":"x","constructor":"y","toString":"z"}');
  assert.deepEqual(Object.entries(metadata ?? {}), [
    ["__proto__", "x"],
    ["constructor", "y"],
    ["toString", "z"],
  ]);
  assert.equal(Reflect.get({}, "x"), undefined);
  assert.equal(readMetadata("{}")?.toString, undefined);
});

for (const [text, wanted] of [
  ["", {}],
  ["a=b", { a: "b" }],
  ["a=b,c=d;property=1 , e = f", { a: "b", c: "d", e: "f" }],
  ["a=%20%E2%98%82", { a: " ☂" }],
  ["a=%", {}],
  ["a=%ff,b=c", { b: "c" }],
  ["a=%00,b=c", { b: "c" }],
  ["=b,a", { a: "" }],
  ["a=b,a=c", { a: "c" }],
  [`a=${"v".repeat(200)}`, { a: "v".repeat(128) }],
] as const) {
  test(`readBaggage() reads "${text.slice(0, 40)}"`, () => assert.deepEqual(plain(readBaggage(text)), wanted));
}

test("readBaggage() reads 64 members at most", () => {
  const text = Array.from({ length: 1_000 }, (_, index) => `k${index}=v`).join();
  assert.equal(Object.keys(readBaggage(text)).length, 64);
});

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
for (const [text, read] of [
  [`00-${traceId}-${spanId}-01`, true],
  [`cc-${traceId}-${spanId}-00-future`, true],
  [`00-${"0".repeat(32)}-${spanId}-01`, false],
  [`00-${traceId}-${"0".repeat(16)}-01`, false],
  [`00-${traceId.toUpperCase()}-${spanId}-01`, false],
  [`00-${traceId}-${spanId}`, false],
  [`00-${traceId.slice(1)}-${spanId}-01`, false],
  ["", false],
] as const) {
  test(`readTraceparent() ${read ? "reads" : "refuses"} ${text}`, () => {
    assert.deepEqual(readTraceparent(text), read ? { traceId, parentSpanId: spanId } : undefined);
  });
}

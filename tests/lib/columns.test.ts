import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type Column,
  decodeColumn,
  encodeColumn,
  IdCollector,
  NumberCollector,
  StringCollector,
} from "../../src/lib/columns.ts";
import { createIdFactory } from "../../src/lib/ids.ts";
import { idAt, numberAt, stringAt } from "../../src/logs/index/conditions.ts";
import { rounds, sampleSeed } from "../support/sample.ts";

const options = { numRuns: rounds(300), seed: sampleSeed };

/** The rows in their order. */
const inOrder = (rows: number): Uint32Array => Uint32Array.from({ length: rows }, (_, row) => row);

/** What a column holds after it was stored. */
function readStored(column: Column | undefined, rows: number): (number | string | null)[] {
  if (!column) return Array.from({ length: rows }, () => null);
  const stored = decodeColumn(encodeColumn(column));
  return Array.from({ length: rows }, (_, row) => {
    if (stored.kind === "ids") return idAt(stored, row);
    if (stored.kind === "strings") return stringAt(stored, row);
    const value = numberAt(stored, row);
    return Number.isNaN(value) ? null : value;
  });
}

function storeNumbers(values: readonly (number | null)[], order = inOrder(values.length)): Column | undefined {
  const collector = new NumberCollector();
  for (const [row, value] of values.entries()) collector.set(row, value);
  return collector.column(order);
}

function storeStrings(values: readonly (string | null)[], order = inOrder(values.length)): Column | undefined {
  const collector = new StringCollector();
  for (const [row, value] of values.entries()) collector.set(row, value);
  return collector.column(order);
}

const numbers: Readonly<Record<string, fc.Arbitrary<number>>> = {
  "small whole numbers": fc.nat(1_000),
  "whole numbers of any size": fc.maxSafeInteger(),
  "numbers at the edges of a width": fc.constantFrom(0, 254, 255, 256, 65_534, 65_535, 65_536, 2 ** 32 - 2, 2 ** 32),
  "negative numbers": fc.integer({ max: -1 }),
  hundredths: fc.nat(10_000_000).map((value) => Math.round(value) / 100),
  "nano-dollars in cents": fc.nat().map((nanos) => nanos / 10_000_000),
  fractions: fc.double({ noNaN: true, noDefaultInfinity: true }),
};

for (const [name, number] of Object.entries(numbers)) {
  test(`a column of ${name} is the same after it was stored`, () => {
    const values = fc.array(fc.option(number), { maxLength: 300 });
    fc.assert(
      fc.property(values, (list) => {
        // -0 equals 0
        const wanted = list.map((value) => (value === null ? null : value + 0));
        assert.deepEqual(readStored(storeNumbers(wanted), list.length), wanted);
      }),
      options,
    );
  });
}

const strings: Readonly<Record<string, fc.Arbitrary<string>>> = {
  "few strings": fc.constantFrom("", "a", "b", "ab"),
  "strings of any characters": fc.string({ unit: "binary" }),
  "strings with halves of surrogate pairs": fc.constantFrom("\ud83d", "\ude00", "\ud83d\ude00", "\0", "\ufeff"),
  "many strings": fc.nat(100_000).map(String),
};

for (const [name, string] of Object.entries(strings)) {
  test(`a column of ${name} is the same after it was stored`, () => {
    const values = fc.array(fc.option(string), { maxLength: 1_500, size: "max" });
    fc.assert(
      fc.property(values, (list) => {
        assert.deepEqual(readStored(storeStrings(list), list.length), list);
      }),
      { ...options, numRuns: rounds(40) },
    );
  });
}

test("a column of ids is the same after it was stored, and ids compare as their strings", () => {
  const id = fc.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  fc.assert(
    fc.property(fc.array(id, { minLength: 1, maxLength: 200 }), (ids) => {
      const collector = new IdCollector();
      for (const [row, one] of ids.entries()) collector.set(row, one);
      assert.deepEqual(readStored(collector.column(inOrder(ids.length)), ids.length), ids);
      for (const [row, one] of ids.entries()) {
        assert.equal(collector.at(row), one);
        const [first = ""] = ids;
        assert.equal(Math.sign(collector.compare(row, 0)), one === first ? 0 : one < first ? -1 : 1);
      }
    }),
    options,
  );
});

test("columns are made in any order of their rows", () => {
  const order = Uint32Array.of(2, 0, 1);
  assert.deepEqual(readStored(storeNumbers([1, null, 3], order), 3), [3, 1, null]);
  assert.deepEqual(readStored(storeStrings(["a", null, "c"], order), 3), ["c", "a", null]);
});

test("a column without any value is not stored", () => {
  assert.equal(storeNumbers([null, Number.NaN]), undefined);
  assert.equal(storeStrings([null]), undefined);
});

for (const [name, values, bytesPerRow] of [
  ["statuses", [200, 404, 599], 2],
  ["flags", [0, 1], 1],
  ["times of an hour in milliseconds", [1_768_478_400_000, 1_768_482_000_000], 4],
  ["milliseconds with hundredths", [0.01, 600_000.99], 4],
  ["cents with seven decimals", [0.0000001, 150.1234567], 4],
  ["any fractions", [1 / 3, 2 / 3], 8],
] as const) {
  test(`${name} take ${bytesPerRow} bytes a row`, () => {
    const column = storeNumbers(values);
    assert.equal(column?.kind === "numbers" && column.codes.BYTES_PER_ELEMENT, bytesPerRow);
  });
}

test("decodeColumn() refuses bytes that are no column", () => {
  const createId = createIdFactory(() => 0);
  const collector = new IdCollector();
  collector.set(0, createId());
  for (const column of [storeNumbers([1, 2]), storeStrings(["a"]), collector.column(inOrder(1))]) {
    assert.ok(column);
    const bytes = encodeColumn(column);
    assert.throws(() => decodeColumn(bytes.subarray(0, -1)), RangeError);
    // kind, width and version
    for (const place of [0, 1, 2]) assert.throws(() => decodeColumn(bytes.with(place, 99)), RangeError);
  }
  assert.throws(() => decodeColumn(new Uint8Array(3)), RangeError);
});

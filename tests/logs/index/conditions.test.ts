import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Column, NumberCollector, StringCollector } from "../../../src/lib/columns.ts";
import { type Condition, matchRows } from "../../../src/logs/index/conditions.ts";
import { rounds, sampleSeed } from "../../support/sample.ts";

const options = { numRuns: rounds(400), seed: sampleSeed };

const inOrder = (rows: number): Uint32Array => Uint32Array.from({ length: rows }, (_, row) => row);

function columnOf(values: readonly (number | null)[]): Column | undefined {
  const collector = new NumberCollector();
  for (const [row, value] of values.entries()) collector.set(row, value);
  return collector.column(inOrder(values.length));
}

const match = (column: Column, rows: number, condition: Condition): number[] => [
  ...matchRows({ start: 0, end: rows }, [condition], () => column),
];

const numbers: Readonly<Record<string, fc.Arbitrary<number>>> = {
  "whole numbers": fc.integer({ min: -300, max: 300 }),
  "large whole numbers": fc.maxSafeInteger(),
  hundredths: fc.integer({ min: -100_000, max: 100_000 }).map((value) => value / 100),
  "cents with seven decimals": fc.nat(1_000_000_000).map((nanos) => nanos / 10_000_000),
  fractions: fc.double({ noNaN: true, noDefaultInfinity: true }),
};

for (const [name, number] of Object.entries(numbers)) {
  test(`bounds of ${name} match the rows that a comparison matches`, () => {
    const values = fc.array(fc.option(number), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(values, number, number, fc.nat(), (list, one, other, place) => {
        const column = columnOf(list);
        if (!column) return;
        // bounds are often one of the values
        const value = list[place % list.length] ?? one;
        for (const [least, most] of [
          [one, other],
          [value, value],
          [value, undefined],
          [undefined, value],
        ] as const) {
          const wanted = list.flatMap((each, row) =>
            each !== null && (least === undefined || each >= least) && (most === undefined || each <= most)
              ? [row]
              : [],
          );
          assert.deepEqual(match(column, list.length, { field: "cost", least, most }), wanted);
        }
        const oneOf = new Set([value, one]);
        const wanted = list.flatMap((each, row) => (each !== null && oneOf.has(each) ? [row] : []));
        assert.deepEqual(match(column, list.length, { field: "cost", oneOf }), wanted);
      }),
      options,
    );
  });
}

for (const size of [3, 40, 5_000]) {
  test(`conditions on ${size} strings match the rows that a comparison matches`, () => {
    const values = Array.from({ length: size * 2 }, (_, row) => (row % 7 === 0 ? null : `text ${row % size}`));
    const collector = new StringCollector();
    for (const [row, value] of values.entries()) collector.set(row, value);
    const column = collector.column(inOrder(values.length));
    assert.ok(column);
    const rowsOf = (isWanted: (text: string) => boolean) =>
      values.flatMap((value, row) => (value !== null && isWanted(value) ? [row] : []));
    for (const wanted of [
      [],
      ["absent"],
      ["text 1"],
      ["text 1", "text 2", "absent"],
      values.slice(0, 20).map(String),
    ]) {
      const oneOf = new Set(wanted);
      assert.deepEqual(
        match(column, values.length, { field: "model", oneOf }),
        rowsOf((text) => oneOf.has(text)),
      );
    }
    assert.deepEqual(
      match(column, values.length, { field: "model", isGiven: true }),
      rowsOf(() => true),
    );
    // a condition on numbers
    assert.deepEqual(match(column, values.length, { field: "status", oneOf: new Set([1]) }), []);
    assert.deepEqual(match(column, values.length, { field: "status", least: 0 }), []);
  });
}

test("a condition on strings matches no number", () => {
  const column = columnOf([1, 2]);
  assert.ok(column);
  assert.deepEqual(match(column, 2, { field: "model", oneOf: new Set(["1"]) }), []);
  assert.deepEqual(match(column, 2, { field: "model", isGiven: true }), []);
});

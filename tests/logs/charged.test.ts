import assert from "node:assert/strict";
import { test } from "node:test";
import { packCharged, readCharged } from "../../src/logs/charged.ts";
import type { LimitCounter } from "../../src/schemas/logs.ts";

const counter = (limitId: string, changes: Partial<LimitCounter> = {}): LimitCounter => ({
  limitId,
  bucket: "api_key:k",
  windowStart: 1_000,
  windowEnd: 2_000,
  ...changes,
});

const rows: readonly (readonly LimitCounter[])[] = [
  [counter("a"), counter("b")],
  [],
  [counter("a"), counter("a", { bucket: "api_key:l" }), counter("a", { windowStart: 2_000, windowEnd: 3_000 })],
  [counter("b", { windowStart: 0, windowEnd: null })],
  [counter("a", { windowStart: 2_000, windowEnd: 3_000 })],
];

test("readCharged() returns the counters of each row that packCharged() was given", () => {
  assert.deepEqual(readCharged(packCharged(rows)), rows);
});

test("packCharged() stores each counter once, without what was added to it", () => {
  const packed = packCharged(rows.map((row) => row.map((one) => ({ ...one, used: 7 }))));
  assert.deepEqual(readCharged(packed), rows);
  assert.equal(packed.match(/limitId/g)?.length, 5);
});

test("packCharged() stores nothing for rows without counters", () => {
  assert.equal(packCharged([[], []]), "");
  assert.deepEqual([readCharged(""), readCharged(null)], [[], []]);
});

test("readCharged() reads what earlier versions stored: a list for each row, or null", () => {
  const former = JSON.stringify(rows.map((row) => (row.length === 0 ? null : row)));
  assert.deepEqual(readCharged(former), rows);
});

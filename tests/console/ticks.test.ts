// Places of the axes of charts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { toTicks } from "../../console/src/components/charts/ticks.ts";

test("axes go in steps of 1, 2 and 5", () => {
  const upTo = (most: number, isCount = true) => toTicks({ least: 0, most, isCount });
  assert.deepEqual(upTo(33), [0, 10, 20, 30, 40]);
  assert.deepEqual(upTo(47), [0, 20, 40, 60]);
  assert.deepEqual(upTo(80), [0, 20, 40, 60, 80]);
  assert.deepEqual(upTo(150_000), [0, 50_000, 100_000, 150_000]);
  assert.deepEqual(upTo(0.33, false), [0, 0.1, 0.2, 0.3, 0.4]);
});

test("counts have no fractions, and an axis without figures has two places", () => {
  assert.deepEqual(toTicks({ least: 0, most: 1, isCount: true }), [0, 1]);
  assert.deepEqual(toTicks({ least: 0, most: 3, isCount: true }), [0, 1, 2, 3]);
  assert.deepEqual(toTicks({ least: 0, most: 0, isCount: true }), [0, 1]);
});

test("figures below 0 stand on the axis too", () => {
  assert.deepEqual(toTicks({ least: -7, most: 10, isCount: true }), [-10, -5, 0, 5, 10]);
  assert.deepEqual(toTicks({ least: -3, most: -1, isCount: false }), [-3, -2, -1, 0]);
});

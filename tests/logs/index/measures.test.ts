import assert from "node:assert/strict";
import { test } from "node:test";
import {
  GroupedNumbers,
  percentilesOf,
  pointsBetween,
  startOfPoint,
  widthOf,
} from "../../../src/logs/index/measures.ts";
import { createRandom } from "../../support/gateway.ts";

const random = createRandom(7);
const noPause = () => undefined;
const parts = [0, 0.001, 0.5, 0.9, 0.95, 0.99, 1];

/** The smallest number that at least this part of sorted numbers does not exceed. */
const sortedPercentile = (sorted: Float64Array, part: number): number | undefined =>
  sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];

for (const [name, count, make] of [
  ["one", 1, () => 5],
  ["few", 1_000, random],
  ["many even", 300_000, () => random() * 5_000],
  ["many with a long tail", 300_000, () => 1 / (1e-6 + random() ** 3)],
  ["many whole", 200_000, () => Math.floor(random() * 7)],
  ["many equal", 200_000, () => 12.5],
  ["many equal and one large", 200_000, (index: number) => (index === 77 ? 1e12 : 0.25)],
  ["many around zero", 50_000, () => random() - 0.5],
] as const) {
  test(`percentilesOf() finds what sorting finds: ${name}`, async () => {
    const values = Float64Array.from({ length: count }, (_, index) => make(index));
    const sorted = values.toSorted();
    const wanted = parts.map((part) => sortedPercentile(sorted, part));
    assert.deepEqual(await percentilesOf(values, parts, noPause), wanted);
  });
}

test("percentilesOf() finds none without numbers", async () => {
  assert.deepEqual(await percentilesOf(new Float64Array(), [0.5], noPause), [null]);
});

test("percentilesOf() pauses between pieces of many numbers", async () => {
  let pauses = 0;
  const pause = () => {
    pauses++;
    return undefined;
  };
  await percentilesOf(Float64Array.from({ length: 1_000_000 }, random), [0.5], pause);
  assert.ok(pauses > 20, String(pauses));
});

test("GroupedNumbers puts the numbers of each group together, in their order", async () => {
  const numbers = new GroupedNumbers();
  numbers.add(Uint32Array.of(2, 0, 2), Float64Array.of(1, 2, 3));
  numbers.add(Uint32Array.of(0, 3), Float64Array.of(4, 5));
  const { all, of } = await numbers.collect(5, noPause);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((group) => [...of(group)]),
    [[2, 4], [], [1, 3], [5], []],
  );
  assert.deepEqual([...all], [2, 4, 1, 3, 5]);
});

const minute = 60_000;
const day = 1_440 * minute;
for (const [span, width] of [
  [0, minute],
  [60 * minute, minute],
  [60 * minute + 1, 60 * minute],
  [day, 60 * minute],
  [day + 1, day],
  [90 * day, day],
  [90 * day + 1, 7 * day],
] as const) {
  test(`widthOf() is ${width / minute} minutes for a period of ${span} ms`, () => {
    assert.equal(widthOf(1_000, 1_000 + span), width);
  });
}

test("weeks begin on Monday, days at midnight, and points cover both ends", () => {
  const thursday = Date.UTC(2026, 0, 1, 5);
  assert.equal(startOfPoint(thursday, 7 * day), Date.UTC(2025, 11, 29));
  assert.equal(startOfPoint(thursday, day), Date.UTC(2026, 0, 1));
  assert.deepEqual(pointsBetween(thursday, thursday + day, day), [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2)]);
  assert.deepEqual(pointsBetween(0, 0, 7 * day), [Date.UTC(1969, 11, 29)]);
});

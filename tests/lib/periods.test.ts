import assert from "node:assert/strict";
import { test } from "node:test";
import { nextPeriodStart, type Period, startOfDay } from "../../src/lib/periods.ts";

for (const [time, period, wanted] of [
  ["2026-01-18T23:59:59.999Z", "weekly", "2026-01-19"],
  ["2026-01-19T00:00:00Z", "weekly", "2026-01-26"],
  ["2026-01-20T12:00:00Z", "weekly", "2026-01-26"],
  ["2026-12-31T12:00:00Z", "weekly", "2027-01-04"],
  ["2026-01-01T00:00:00Z", "monthly", "2026-02-01"],
  ["2026-01-31T23:59:59Z", "monthly", "2026-02-01"],
  ["2026-12-15T00:00:00Z", "monthly", "2027-01-01"],
  ["2026-02-27T18:00:00Z", 1, "2026-02-28"],
  ["2026-02-27T18:00:00Z", 2, "2026-03-01"],
] as const satisfies readonly (readonly [string, Period, string])[]) {
  test(`nextPeriodStart() of ${time} by ${period} is ${wanted}`, () => {
    assert.equal(new Date(nextPeriodStart(Date.parse(time), period)).toISOString(), `${wanted}T00:00:00.000Z`);
  });
}

test("startOfDay() is the midnight before, also before 1970", () => {
  assert.equal(startOfDay(Date.UTC(2026, 0, 2, 3, 4)), Date.UTC(2026, 0, 2));
  assert.equal(startOfDay(Date.UTC(2026, 0, 2)), Date.UTC(2026, 0, 2));
  assert.equal(startOfDay(Date.UTC(1969, 11, 31, 23)), Date.UTC(1969, 11, 31));
});

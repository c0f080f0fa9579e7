import assert from "node:assert/strict";
import { test } from "node:test";
import { spanOf, type Window } from "../../src/policies/windows.ts";

const at = (text: string) => Date.parse(text);

for (const [window, time, start, end] of [
  ["minute", "2026-03-01T12:34:56.789Z", "2026-03-01T12:34:00Z", "2026-03-01T12:35:00Z"],
  ["hour", "2026-03-01T12:34:56.789Z", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"],
  ["day", "2026-03-01T23:59:59.999Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"],
  ["week", "2026-03-01T12:00:00Z", "2026-02-23T00:00:00Z", "2026-03-02T00:00:00Z"],
  ["week", "2026-03-02T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"],
  ["week", "1969-12-31T12:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z"],
  ["month", "2024-02-29T12:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"],
  ["month", "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
] as const) {
  test(`spanOf() of a ${window} at ${time} begins at ${start}`, () => {
    assert.deepEqual(spanOf(window, at(time)), { start: at(start), end: at(end) });
  });
}

test("spanOf() counts days from the midnight of the day they begin", () => {
  const window: Window = { days: 10, from: at("2026-01-05T15:00:00Z") };
  assert.deepEqual(spanOf(window, at("2026-01-14T23:59:59Z")), {
    start: at("2026-01-05T00:00:00Z"),
    end: at("2026-01-15T00:00:00Z"),
  });
  assert.equal(spanOf(window, at("2026-01-15T00:00:00Z")).start, at("2026-01-15T00:00:00Z"));
  assert.equal(spanOf(window, at("2026-01-01T00:00:00Z")).end, at("2026-01-05T00:00:00Z"));
});

test("spanOf() of a limit without a reset never ends", () => {
  const { start, end } = spanOf("ever", 0);
  assert.ok(start < at("1900-01-01T00:00:00Z") && end > at("9999-12-31T00:00:00Z"));
});

test("spanOf() covers a year without a gap or an overlap", () => {
  const windows: Window[] = ["minute", "hour", "day", "week", "month", { days: 7, from: at("2026-01-03T00:00:00Z") }];
  for (const window of windows) {
    let time = at("2026-01-01T00:00:00Z");
    const end = time + (window === "minute" ? 1 : 366) * 86_400_000;
    while (time < end) {
      const span = spanOf(window, time);
      assert.ok(span.start <= time && time < span.end);
      assert.deepEqual(spanOf(window, span.end - 1), span);
      assert.equal(spanOf(window, span.end).start, span.end);
      time = span.end;
    }
  }
});

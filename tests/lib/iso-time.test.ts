import assert from "node:assert/strict";
import { test } from "node:test";
import { createTimeWriter } from "../../src/lib/clock.ts";

test("createTimeWriter() writes times as Date does, in any order", () => {
  const write = createTimeWriter();
  const times = [0, 1, 999, 1_000, 1_764_191_834_123, 1_764_191_834_123, 1_764_191_834_007, 5, -1, 1_764_191_835_000];
  for (const ms of times) assert.equal(write(ms), new Date(ms).toISOString());
  assert.equal(write(1_234.75), new Date(1_234.75).toISOString());
});

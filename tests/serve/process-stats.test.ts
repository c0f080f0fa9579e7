import assert from "node:assert/strict";
import { test } from "node:test";
import { marksOfProcess } from "../../src/serve/process-stats.ts";

test("workers share the mark of memory, and no mark stays none", () => {
  const marks = { memoryBytes: 1_000, lagMs: 5 };
  assert.deepEqual(marksOfProcess(marks, 4), { memoryBytes: 250, lagMs: 5 });
  assert.deepEqual(marksOfProcess(marks), marks);
  assert.deepEqual(marksOfProcess({ memoryBytes: undefined, lagMs: 5 }, 4), { memoryBytes: undefined, lagMs: 5 });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { toGatewayError } from "../../src/errors.ts";
import { Budget, ExcessError } from "../../src/lib/budget.ts";
import { type Steps, stepsPerPiece } from "../../src/lib/steps.ts";

const ofCaller = { source: "caller", what: "the list" } as const;
const ofUpstream = { source: "upstream", what: "the list" } as const;

function excessOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof ExcessError) return error.excess;
    throw error;
  }
  return "";
}

test("Budget counts bytes, values, steps and nesting up to its bounds, and not beyond", () => {
  const budget = new Budget({ ...ofCaller, bytes: 10, values: 3, depth: 2, steps: 1_000 });
  assert.equal(
    excessOf(() => budget.bytes(10)),
    "",
  );
  assert.equal(
    excessOf(() => budget.bytes(1)),
    "more than 10 bytes",
  );
  assert.equal(
    excessOf(() => budget.value(3)),
    "",
  );
  assert.equal(
    excessOf(() => budget.value()),
    "more than 3 values",
  );
  assert.equal(
    excessOf(() => budget.depth(2)),
    "",
  );
  assert.equal(
    excessOf(() => budget.depth(3)),
    "more than 2 levels of nesting",
  );
  assert.equal(
    excessOf(() => budget.step(940)),
    "",
  );
  assert.equal(
    excessOf(() => budget.step()),
    "more than 1000 steps of work",
  );
});

test("Budget.json() shares the bounds with what was read before", () => {
  const budget = new Budget({ ...ofCaller, values: 10, depth: 3, keys: 2 });
  assert.deepEqual(budget.json("[1,2,3]"), [1, 2, 3]);
  assert.deepEqual(budget.json(new TextEncoder().encode('{"a":[[]]}')), { a: [[]] });
  assert.equal(
    excessOf(() => budget.json("[1,2,3]")),
    "more than 10 values",
  );
  const other = new Budget({ ...ofCaller, values: 10, depth: 3, keys: 2 });
  assert.equal(
    excessOf(() => other.json('{"a":1,"b":2,"c":3}')),
    "more than 2 members in one object",
  );
  assert.equal(
    excessOf(() => other.json("[[[[]]]]")),
    "more than 3 levels of nesting",
  );
  assert.equal(
    excessOf(() => other.json("[".repeat(100_000))),
    "more than 3 levels of nesting",
  );
  assert.throws(() => other.json("[1"), SyntaxError);
  assert.throws(() => other.json(Uint8Array.of(0x22, 0xff, 0x22)), TypeError);
});

test("ExcessError is a refusal: 400 for a caller's input, 502 for an upstream's", () => {
  for (const [options, status, code] of [
    [ofCaller, 400, "invalid_body"],
    [ofUpstream, 502, "upstream_bad_answer"],
  ] as const) {
    const error = toGatewayError(new Budget(options).excess("more than 3 values"));
    assert.deepEqual([error.status, error.code], [status, code]);
    assert.equal(error.message, "Cannot read the list: it has more than 3 values");
  }
});

function* countTo(budget: Budget, most: number): Steps<number> {
  for (let count = 0; count < most; count++) {
    budget.value();
    if (budget.isDue) yield budget.endPiece();
  }
  return most;
}

test("Budget.run() gives others a turn of the event loop", async () => {
  const budget = new Budget({ ...ofCaller, values: 2_000_000, steps: 100_000_000 });
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  assert.equal(await budget.run(countTo(budget, 2_000_000)), 2_000_000);
  clearInterval(timer);
  assert.equal(budget.values, 2_000_000);
  assert.ok(budget.longestPiece <= stepsPerPiece + 20, String(budget.longestPiece));
  assert.ok(turns > 0);
});

test("Budget.pause() is due after each piece of work", async () => {
  const budget = new Budget({ ...ofCaller, steps: 100 * stepsPerPiece });
  let waits = 0;
  for (let count = 0; count < 100 * stepsPerPiece; count += 1_000) {
    budget.step(1_000);
    const wait = budget.pause();
    if (wait) waits++;
    await wait;
  }
  assert.ok(waits > 5, String(waits));
  assert.equal(budget.longestPiece, stepsPerPiece);
});

test("Budget.count() counts the steps of work that knows no budget", async () => {
  function* work(): Steps<string> {
    for (let piece = 0; piece < 10; piece++) yield 10_000;
    return "done";
  }
  const budget = new Budget({ ...ofCaller, steps: 100_000 });
  assert.equal(await budget.run(budget.count(work())), "done");
  assert.equal(budget.steps, 100_000);
  await assert.rejects(budget.run(budget.count(work())), ExcessError);
});

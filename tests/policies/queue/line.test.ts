import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Line } from "../../../src/policies/queue/line.ts";
import { type Priority, priorities } from "../../../src/schemas/queues.ts";

interface Entry {
  readonly priority: Priority;
  readonly number: number;
}

function fill(line: Line<Entry>, priority: Priority, count: number): void {
  for (let number = 0; number < count; number++) line.add({ priority, number }, priority);
}

/** Serves so many entries. */
function serve(line: Line<Entry>, count: number): Entry[] {
  const served: Entry[] = [];
  while (served.length < count) {
    const head = line.head();
    if (!head) break;
    line.remove(head, head.priority, true);
    served.push(head);
  }
  return served;
}

const countOf = (entries: readonly Entry[], name: Priority): number =>
  entries.filter(({ priority }) => priority === name).length;

test("Line gives high 16, normal 4 and low 1 of 21 turns, high first", () => {
  const line = new Line<Entry>();
  for (const priority of priorities.toReversed()) fill(line, priority, 100);
  const served = serve(line, 42);
  assert.equal(served[0]?.priority, "high");
  assert.deepEqual(
    priorities.map((name) => countOf(served, name)),
    [32, 8, 2],
  );
});

test("Line gives a class that comes later no turns for the time in which it did not wait", () => {
  const line = new Line<Entry>();
  fill(line, "high", 200);
  serve(line, 100);
  fill(line, "low", 100);
  assert.equal(countOf(serve(line, 34), "low"), 2);
});

test("Line places an entry behind those of its class and of higher ones", () => {
  const line = new Line<string>();
  assert.equal(line.add("one", "normal"), 1);
  assert.equal(line.add("two", "low"), 2);
  assert.equal(line.add("three", "high"), 1);
  assert.equal(line.add("four", "normal"), 3);
  assert.equal(line.lastBelow("high"), "two");
  line.remove("two", "low", false);
  assert.equal(line.lastBelow("high"), "four");
  assert.equal(line.lastBelow("normal"), undefined);
});

test("Line serves a class in the order in which it came, and nobody is left out, whatever comes and leaves", () => {
  const step = fc.oneof(
    fc.record({ add: fc.constantFrom(...priorities) }),
    fc.constant("serve" as const),
    fc.record({ leave: fc.nat(5) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const line = new Line<Entry>();
      const waiting: Entry[] = [];
      let number = 0;
      for (const one of [...steps, ...Array.from({ length: 200 }, () => "serve" as const)]) {
        if (one === "serve") {
          const [served] = serve(line, 1);
          const first = waiting.find(({ priority }) => priority === served?.priority);
          assert.equal(served, first);
          if (served) waiting.splice(waiting.indexOf(served), 1);
        } else if ("add" in one) {
          const entry = { priority: one.add, number: number++ };
          line.add(entry, entry.priority);
          waiting.push(entry);
        } else {
          const [left] = waiting.splice(one.leave, 1);
          if (left) line.remove(left, left.priority, false);
        }
        assert.equal(line.size, waiting.length);
      }
      assert.equal(line.size, 0);
    }),
    { numRuns: 100 },
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { FairGate } from "../../src/lib/fair-gate.ts";

/** Works that end one by one, in the order in which they began. */
function createWorks(gate: FairGate) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const results: Promise<string>[] = [];
  return {
    begun,
    results,
    add(owner: string, name: string) {
      const result = gate.run(owner, async () => {
        begun.push(name);
        await new Promise<void>((end) => ends.push(end));
        if (name.startsWith("failing")) throw new Error(name);
        return name;
      });
      result.catch(() => {});
      results.push(result);
    },
    async endFirst() {
      ends.shift()?.();
      for (let turn = 0; turn < 10; turn++) await undefined;
    },
  };
}

test("FairGate runs a number of works at once, and lets the owners of others take turns", async () => {
  const works = createWorks(new FairGate(2));
  for (const name of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) works.add(name.charAt(0), name);
  await undefined;
  assert.deepEqual(works.begun, ["a1", "a2"]);
  for (let count = 0; count < 5; count++) await works.endFirst();
  assert.deepEqual(works.begun, ["a1", "a2", "a3", "b1", "c1", "a4", "b2"]);
  for (let count = 0; count < 2; count++) await works.endFirst();
  assert.deepEqual(await Promise.all(works.results), ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]);
});

test("a work that fails makes room for the next", async () => {
  const works = createWorks(new FairGate(1));
  for (const name of ["failing", "next"]) works.add("a", name);
  await works.endFirst();
  await works.endFirst();
  await assert.rejects(works.results[0] ?? Promise.resolve(), /failing/);
  assert.equal(await works.results[1], "next");
  works.add("a", "last");
  assert.deepEqual(works.begun, ["failing", "next", "last"]);
  await works.endFirst();
});

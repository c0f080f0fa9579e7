import assert from "node:assert/strict";
import { test } from "node:test";
import { createIdFactory, firstIdOf, isId, timeOfId } from "../../src/lib/ids.ts";

test("createIdFactory() makes ids that grow within a millisecond, over many, and when the clock goes back a little", () => {
  let now = 1_768_478_400_000;
  const create = createIdFactory(() => now);
  const ids: string[] = [];
  for (let count = 0; count < 5_000; count++) ids.push(create());
  now -= 1_000;
  for (let count = 0; count < 100; count++) ids.push(create());
  now += 1_001;
  for (let count = 0; count < 100; count++) ids.push(create());
  assert.deepEqual(ids, [...ids].sort());
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.ok(isId(id), id);
});

for (const [title, aheadMs] of [
  ["a day", 86_400_000],
  ["1,001 milliseconds", 1_001],
] as const) {
  test(`createIdFactory() follows a clock that was ahead by ${title} and is corrected`, () => {
    const start = 1_768_478_400_000;
    let now = start + aheadMs;
    const create = createIdFactory(() => now);
    const ids = [create(), create()];
    assert.equal(timeOfId(create()), now);
    for (now = start; now < start + 50; now += 7) {
      const id = create();
      assert.equal(timeOfId(id), now);
      ids.push(id);
    }
    assert.equal(new Set(ids).size, ids.length);
  });
}

test("createIdFactory() of two factories never agree", () => {
  const now = () => 1_768_478_400_000;
  const [one, two] = [createIdFactory(now), createIdFactory(now)];
  const ids = new Set(Array.from({ length: 1_000 }, () => [one(), two()]).flat());
  assert.equal(ids.size, 2_000);
});

for (const time of [1, 2, 1_768_478_400_123, Date.UTC(9999, 11, 31), 2 ** 48 - 1]) {
  test(`timeOfId() returns ${time}`, () => {
    const id = createIdFactory(() => time)();
    assert.equal(timeOfId(id), time);
    assert.equal(timeOfId(firstIdOf(time)), time);
    assert.ok(firstIdOf(time) <= id);
    if (time > 1) assert.ok(firstIdOf(time) > createIdFactory(() => time - 1)());
  });
}

test("firstIdOf() of a time before 1970 is the first id of all", () => {
  assert.equal(firstIdOf(-5), "0".repeat(26));
});

for (const [text, valid] of [
  ["01ARZ3NDEKTSV4RRFFQ69G5FAV", true],
  ["7ZZZZZZZZZZZZZZZZZZZZZZZZZ", true],
  ["8ZZZZZZZZZZZZZZZZZZZZZZZZZ", false],
  ["01arz3ndektsv4rrffq69g5fav", false],
  ["01ARZ3NDEKTSV4RRFFQ69G5FA", false],
  ["01ARZ3NDEKTSV4RRFFQ69G5FAVV", false],
  ["01ARZ3NDEKTSV4RRFFQ69G5FAI", false],
  ["01ARZ3NDEKTSV4RRFFQ69G5FA\n", false],
  ["", false],
] as const) {
  test(`isId() says ${valid} of ${JSON.stringify(text)}`, () => assert.equal(isId(text), valid));
}

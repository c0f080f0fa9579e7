import assert from "node:assert/strict";
import { test } from "node:test";
import { NumberList, NumberLists } from "../../src/lib/number-lists.ts";
import { createRandom } from "../support/gateway.ts";

test("NumberLists hold what arrays would hold, in their order", () => {
  const random = createRandom(11);
  const lists = new NumberLists();
  const held = Array.from({ length: 3 }, () => ({ list: new NumberList(), numbers: [] as number[] }));
  for (let count = 0; count < 3_000; count++) {
    const number = Math.floor(random() * 40);
    const holder = held.find(({ numbers }) => numbers.includes(number));
    if (holder) {
      lists.remove(holder.list, number);
      holder.numbers.splice(holder.numbers.indexOf(number), 1);
    } else {
      const one = held[Math.floor(random() * held.length)];
      if (one) lists.append(one.list, number);
      one?.numbers.push(number);
    }
    for (const { list, numbers } of held) {
      assert.deepEqual([...lists.of(list)], numbers);
      assert.equal(list.isEmpty, numbers.length === 0);
    }
  }
});

test("numbers may leave their list, or move to its end, while it is read", () => {
  const lists = new NumberLists();
  const list = new NumberList();
  for (const number of [4, 2, 7]) lists.append(list, number);
  const seen: number[] = [];
  for (const number of lists.of(list)) {
    const isFirst = seen.length === 0;
    seen.push(number);
    lists.remove(list, number);
    if (isFirst) lists.append(list, number);
  }
  assert.deepEqual(seen, [4, 2, 7, 4]);
  assert.deepEqual([...lists.of(list)], []);
});

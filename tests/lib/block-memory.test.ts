import assert from "node:assert/strict";
import { test } from "node:test";
import { BlockMemory, blockBytes, takenBytes } from "../../src/lib/block-memory.ts";
import { createRandom } from "../support/gateway.ts";

const fill = (length: number, byte: number) => new Uint8Array(length).fill(byte);

test("BlockMemory returns values as they were stored, whatever comes and goes between them", () => {
  const random = createRandom(7);
  const memory = new BlockMemory();
  const held: { first: number; value: Uint8Array }[] = [];
  for (let count = 0; count < 5_000; count++) {
    if (held.length > 0 && random() < 0.5) {
      const [left] = held.splice(Math.floor(random() * held.length), 1);
      if (left) memory.release(left.first);
      continue;
    }
    const value = Uint8Array.from({ length: Math.floor(random() * 5 * blockBytes) }, (_, index) => count + index);
    held.push({ first: memory.store(value), value });
    for (const { first, value } of held.slice(-20)) assert.deepEqual(memory.read(first), value);
  }
  for (const { first, value } of held) assert.deepEqual(memory.read(first), value);
});

for (const length of [0, 1, blockBytes - 1, blockBytes, blockBytes + 1, 2 * blockBytes, 3 * 2_048 * blockBytes + 1]) {
  test(`BlockMemory stores and releases a value of ${length} bytes`, () => {
    const memory = new BlockMemory();
    const first = memory.store(fill(length, 1));
    assert.deepEqual(memory.read(first), fill(length, 1));
    const { bytes } = memory;
    assert.ok(takenBytes(length) >= length && bytes >= takenBytes(length));
    memory.release(first);
    assert.deepEqual(memory.read(memory.store(fill(length, 2))), fill(length, 2));
    assert.equal(memory.bytes, bytes);
  });
}

test("BlockMemory uses released blocks again, also for values of other sizes", () => {
  const memory = new BlockMemory();
  const full = 2_048;
  let held = Array.from({ length: full }, () => memory.store(fill(blockBytes, 3)));
  const { bytes } = memory;
  assert.equal(bytes, full * blockBytes);
  for (const length of [7, 1, 3, 100]) {
    for (const first of held) memory.release(first);
    held = Array.from({ length: Math.floor(full / length) }, () => memory.store(fill(length * blockBytes, 4)));
  }
  assert.equal(memory.bytes, bytes);
});

test("what BlockMemory read stays as it is when the value is released", () => {
  const memory = new BlockMemory();
  const first = memory.store(fill(10, 5));
  const value = memory.read(first);
  memory.release(first);
  memory.store(fill(10, 6));
  assert.deepEqual(value, fill(10, 5));
});

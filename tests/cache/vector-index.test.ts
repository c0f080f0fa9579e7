import assert from "node:assert/strict";
import { test } from "node:test";
import { VectorIndex } from "../../src/cache/vector-index.ts";
import { openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createCacheStore } from "../../src/db/stores/cache.ts";
import { createRandom } from "../support/gateway.ts";

const dimensions = 1_536;
const place = { organisationId: "o", workspaceId: "w", namespace: "" };
const partition = { place, name: "p" };

/** An empty database, and indexes over it, each as of another process. */
async function createStage() {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const store = createCacheStore(database, 1);
  let time = 1_000;
  return {
    createIndex: (bytes: number) => new VectorIndex({ store, now: () => time, bytes }),
    advance(ms: number) {
      time += ms;
    },
  };
}

function createVectors(count: number): Float32Array<ArrayBuffer>[] {
  const random = createRandom(4);
  return Array.from({ length: count }, () => Float32Array.from({ length: dimensions }, () => random() - 0.5));
}

// a page has 86 of these vectors
for (const [what, storedAt] of [
  ["at different times", (count: number) => count],
  ["in the same millisecond", () => 7],
] as const) {
  test(`vectors that were stored ${what} are all read, page by page`, async () => {
    const { createIndex } = await createStage();
    const vectors = createVectors(300);
    const one = createIndex(1e9);
    for (const [count, vector] of vectors.entries()) {
      await one.add(partition, { key: `key ${count}`, vector, storedAt: storedAt(count), expiresAt: 2_000 });
    }
    for (const bytes of [1e9, 1e6, 1]) {
      const other = createIndex(bytes);
      for (const [count, vector] of vectors.entries()) {
        // the database searches what does not fit: that takes longer
        if (bytes < 1e9 && count % 50 !== 0) continue;
        assert.equal((await other.nearest(partition, vector, 0.95))?.key, `key ${count}`);
      }
      assert.ok(other.bytes <= Math.max(bytes, 1), `${other.bytes} of ${bytes}`);
    }
  });
}

test("vectors that expired make room for others", async () => {
  const { createIndex, advance } = await createStage();
  const index = createIndex(1e9);
  const vectors = createVectors(64);
  const addAll = async (name: string, expiresAt: number) => {
    for (const [count, vector] of vectors.entries()) {
      await index.add(partition, { key: `${name} ${count}`, vector, storedAt: 1, expiresAt });
    }
  };
  await index.nearest(partition, vectors[0] as Float32Array, 0.95);
  await addAll("first", 2_000);
  const { bytes } = index;
  advance(1_500);
  await index.cleanUp();
  assert.equal(await index.nearest(partition, vectors[0] as Float32Array, 0.95), undefined);
  await addAll("second", 9_000);
  assert.equal(index.bytes, bytes);
  assert.equal((await index.nearest(partition, vectors[9] as Float32Array, 0.95))?.key, "second 9");
});

test("a partition that is purged while it is read takes no memory", async () => {
  const { createIndex } = await createStage();
  const vectors = createVectors(300);
  const one = createIndex(1e9);
  for (const [count, vector] of vectors.entries()) {
    await one.add(partition, { key: `key ${count}`, vector, storedAt: count, expiresAt: 2_000 });
  }
  const other = createIndex(1e9);
  const search = other.nearest(partition, vectors[0] as Float32Array, 0.95);
  other.purge({ organisationId: "o", workspaceId: null, namespace: null });
  await search;
  assert.equal(other.bytes, 0);
});

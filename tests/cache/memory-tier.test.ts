import assert from "node:assert/strict";
import { test } from "node:test";
import type { CacheEntry, CachePlace } from "../../src/cache/entry.ts";
import { MemoryTier } from "../../src/cache/memory-tier.ts";

const placeOf = (organisationId: string, workspaceId = "w"): CachePlace => {
  return { organisationId, workspaceId, namespace: "" };
};
const entryOf = (key: string, length = 1_000): CacheEntry => {
  const body = new Uint8Array(length).fill(key.length);
  return { key, body, dropped: ["seed"], cost: 1, tokens: 2, storedAt: 3, expiresAt: 4 };
};
const keysIn = (tier: MemoryTier, keys: readonly string[]) => keys.filter((key) => tier.find(key));

test("the memory tier returns entries as they were stored, also when one is stored again", () => {
  const tier = new MemoryTier(1_000_000);
  for (const length of [0, 10, 3_000, 5]) {
    const entry = entryOf("key", length);
    tier.store(placeOf("o"), entry);
    assert.deepEqual(tier.find("key"), entry);
  }
  assert.equal(tier.find("other"), undefined);
});

test("what the memory tier returned stays as it is when the entry is evicted", () => {
  const tier = new MemoryTier(100_000);
  tier.store(placeOf("o"), entryOf("key"));
  const found = tier.find("key");
  for (let number = 0; number < 100; number++) tier.store(placeOf("o"), entryOf(`another ${number}`));
  assert.equal(tier.find("key"), undefined);
  assert.deepEqual(found, entryOf("key"));
});

test("the memory tier stays within its limit, and an organisation evicts its own entries alone", () => {
  const limit = 200_000;
  const tier = new MemoryTier(limit);
  tier.store(placeOf("small"), entryOf("small"));
  for (let number = 0; number < 10_000; number++) {
    tier.store(placeOf("large"), entryOf(`large ${number}`, (number * 37) % 3_000));
    assert.ok(tier.bytes <= limit);
  }
  assert.deepEqual(tier.find("small"), entryOf("small"));
  // a quarter of the limit is the most that one entry may take
  tier.store(placeOf("large"), entryOf("too large", limit / 4));
  assert.equal(tier.find("too large"), undefined);
});

test("the memory tier removes entries by key and by tenant", () => {
  const tier = new MemoryTier(1_000_000);
  const keys = ["a", "bb", "ccc", "dddd"];
  tier.store(placeOf("o", "1"), entryOf("a"));
  tier.store(placeOf("o", "2"), entryOf("bb"));
  tier.store(placeOf("p", "1"), entryOf("ccc"));
  tier.store(placeOf("p", "1"), entryOf("dddd"));
  tier.purge({ organisationId: "o", workspaceId: "1", namespace: null });
  assert.deepEqual(keysIn(tier, keys), ["bb", "ccc", "dddd"]);
  tier.remove("dddd");
  assert.deepEqual(keysIn(tier, keys), ["bb", "ccc"]);
  tier.clear();
  assert.deepEqual([keysIn(tier, keys), tier.bytes], [[], 0]);
  tier.store(placeOf("o"), entryOf("a"));
  assert.deepEqual(tier.find("a"), entryOf("a"));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { mintApiKey, readLookupId } from "../../src/auth/api-key.ts";
import { createAuthenticator } from "../../src/auth/authenticate.ts";
import type { ApiKeyStore } from "../../src/db/stores/api-keys.ts";
import type { ApiKeyRow } from "../../src/db/tables/api-keys.ts";
import { AuthenticationError, GatewayError, RateLimitError, UnavailableError } from "../../src/errors.ts";
import { type MacFactory, randomBytes, webMac } from "../../src/lib/hash.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { createTestClock, plainKey } from "../support/gateway.ts";

/** A key store in memory that counts queries and can be switched off. */
class MemoryStore implements ApiKeyStore {
  readonly rows: ApiKeyRow[] = [];
  away = false;
  asked = { byLookupId: 0, byId: 0, anyForm: 0 };

  get total(): number {
    return this.asked.byLookupId + this.asked.byId + this.asked.anyForm;
  }

  #answer<Value>(value: Value): Promise<Value> {
    return this.away ? Promise.reject(new Error("away")) : Promise.resolve(value);
  }

  findByLookupId(lookupId: string): Promise<ApiKeyRow | undefined> {
    this.asked.byLookupId++;
    return this.#answer(this.rows.find((row) => row.lookupId === lookupId));
  }

  findById(id: string): Promise<ApiKeyRow | undefined> {
    this.asked.byId++;
    return this.#answer(this.rows.find((row) => row.id === id));
  }

  listOfAnyForm(): Promise<ApiKeyRow[]> {
    this.asked.anyForm++;
    const isOfAnyForm = ({ lookupId, formerOfAnyForm }: ApiKeyRow) => lookupId === null || formerOfAnyForm;
    return this.#answer(this.rows.filter((row) => isOfAnyForm(row) && row.status === "active"));
  }

  /** Changes the stored row of a key. */
  change(id: string, changes: Partial<ApiKeyRow>): void {
    const index = this.rows.findIndex((row) => row.id === id);
    const row = this.rows[index];
    assert.ok(row);
    this.rows[index] = { ...row, ...changes };
  }
}

function setUp(createMac: MacFactory = nodeMac, failuresPerMinute = 300) {
  const store = new MemoryStore();
  const clock = createTestClock();
  const pepper = randomBytes(32);
  const mac = createMac(pepper);
  const authenticator = createAuthenticator({ store, clock, mac, pepper, keyPrefix: "gk", failuresPerMinute });
  const add = async (key: string, changes: Partial<ApiKeyRow> = {}): Promise<ApiKeyRow> => {
    const row: ApiKeyRow = {
      ...plainKey,
      id: crypto.randomUUID(),
      lookupId: readLookupId(key, "gk") ?? null,
      name: "key",
      masked: "",
      organisationId: "organisation",
      workspaceId: "workspace",
      kind: "workspace-service",
      digest: await mac(key),
      scopes: '["completions.write"]',
      status: "active",
      expiresAt: null,
      createdAt: 0,
      ...changes,
    };
    store.rows.push(row);
    return row;
  };
  const authenticate = async (key: string, address = "192.0.2.1") => authenticator.authenticate(key, () => address);
  /** Status of an authentication: 200, or that of its error. */
  const statusOf = async (key: string, address?: string): Promise<number> => {
    try {
      await authenticate(key, address);
      return 200;
    } catch (error) {
      assert.ok(error instanceof GatewayError, String(error));
      return error.status;
    }
  };
  return { store, clock, mac, add, authenticate, statusOf, authenticator };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

for (const [name, createMac] of [
  ["nodeMac", nodeMac],
  ["webMac", webMac],
] as const) {
  test(`authenticate() finds the caller of a key by ${name}`, async () => {
    const { add, authenticate } = setUp(createMac);
    const { key } = mintApiKey("gk");
    const row = await add(key, { organisationId: "o", workspaceId: null, scopes: '["a.b","c.d"]' });
    const principal = await authenticate(key);
    assert.deepEqual(
      [principal.keyId, principal.organisationId, principal.workspaceId, [...principal.scopes]],
      [row.id, "o", null, ["a.b", "c.d"]],
    );
  });
}

test("authenticate() is synchronous for a recently used key", async () => {
  const { add, authenticator, authenticate } = setUp();
  const { key } = mintApiKey("gk");
  await add(key);
  await authenticate(key);
  const again = authenticator.authenticate(key, () => "");
  assert.equal(again instanceof Promise, false);
});

test("K1: a wrong form is 401, costs one reading of the few other keys in 30 s, and a look-up where an operator may have chosen it", async () => {
  const { store, clock, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  const wrong = [`${key}0`, key.slice(1), key.replace(/.$/, key.endsWith("a") ? "b" : "a"), "x", "not-a-key-not-a-key"];
  for (const one of wrong) assert.equal(await statusOf(one), 401);
  // of the wrong ones, only `key.slice(1)` is as long as a chosen key and begins as none of ours
  assert.deepEqual(store.asked, { byLookupId: 1, byId: 0, anyForm: 1 });
  clock.advance(29_999);
  assert.equal(await statusOf("something-else-else"), 401);
  assert.equal(store.asked.anyForm, 1);
  clock.advance(1);
  assert.equal(await statusOf("something-else-else"), 401);
  assert.equal(store.asked.anyForm, 2);
});

for (const [name, key] of [
  ["a comma", "abc,def"],
  ["white space", "abc def"],
  ["nothing", ""],
  ["513 letters", "a".repeat(513)],
] as const) {
  test(`E5: a credential of ${name} is 401 without touching a store`, async () => {
    const { store, statusOf } = setUp();
    assert.equal(await statusOf(key), 401);
    assert.equal(store.total, 0);
  });
}

test("K3: an unknown id is 401 and is not looked up again for 5 s", async () => {
  const { store, clock, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  assert.equal(await statusOf(key), 401);
  assert.equal(await statusOf(key), 401);
  clock.advance(4_999);
  assert.equal(await statusOf(key), 401);
  assert.equal(store.asked.byLookupId, 1);
  clock.advance(1);
  assert.equal(await statusOf(key), 401);
  assert.equal(store.asked.byLookupId, 2);
});

test("K4: a flood of unknown ids does not evict a good key", async () => {
  const { store, add, statusOf } = setUp(nodeMac, 1_000_000);
  const { key } = mintApiKey("gk");
  await add(key);
  assert.equal(await statusOf(key), 200);
  const before = store.asked.byLookupId;
  for (let round = 0; round < 11_000; round++) await statusOf(mintApiKey("gk").key);
  assert.equal(await statusOf(key), 200);
  assert.equal(store.asked.byLookupId, before + 11_000, "the good key is not looked up again");
});

test("authenticate() refuses a key whose id is known and whose secret is not", async () => {
  const { add, statusOf } = setUp();
  const mine = mintApiKey("gk");
  const other = mintApiKey("gk");
  await add(mine.key, { lookupId: other.lookupId });
  assert.equal(await statusOf(other.key), 401);
});

test("K4: a wrong secret does not make its id unknown for others", async () => {
  const { add, store, statusOf } = setUp();
  const { key, lookupId } = mintApiKey("gk");
  const stolen = mintApiKey("gk");
  await add(key);
  store.change(store.rows[0]?.id ?? "", { lookupId: stolen.lookupId });
  assert.equal(await statusOf(stolen.key), 401);
  store.change(store.rows[0]?.id ?? "", { lookupId });
  assert.equal(await statusOf(key), 200);
});

test("K5: an expired key is 401, cached or not, at the millisecond it expires", async () => {
  const { clock, add, authenticate, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  await add(key, { expiresAt: clock.now() + 1_000 });
  assert.equal(await statusOf(key), 200);
  clock.advance(999);
  assert.equal(await statusOf(key), 200);
  clock.advance(1);
  await assert.rejects(
    authenticate(key),
    (error) => error instanceof AuthenticationError && /expired/.test(error.message),
  );
});

test("K4: a revoked key works 30 s at most after it was read", async () => {
  const { clock, store, add, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  const { id } = await add(key);
  assert.equal(await statusOf(key), 200);
  store.change(id, { status: "revoked" });
  clock.advance(30_000);
  assert.equal(await statusOf(key), 401);
});

test("K4: a key is read again in the background after 20 s, without waiting", async () => {
  const { clock, store, add, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  const { id } = await add(key);
  await statusOf(key);
  clock.advance(19_999);
  await statusOf(key);
  assert.equal(store.asked.byId, 0);
  store.change(id, { status: "revoked" });
  clock.advance(1);
  assert.equal(await statusOf(key), 200, "still from memory");
  await settled();
  assert.equal(store.asked.byId, 1);
  assert.equal(await statusOf(key), 401, "the reading is in effect");
});

test("K4: a deleted key is 401 once it was read again", async () => {
  const { clock, store, add, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  await add(key);
  await statusOf(key);
  store.rows.length = 0;
  clock.advance(30_000);
  assert.equal(await statusOf(key), 401);
});

test("K6: a rotated key is 401 once it was read again", async () => {
  const { clock, store, mac, add, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  const { id } = await add(key);
  await statusOf(key);
  store.change(id, { digest: await mac("the successor of the key") });
  clock.advance(30_000);
  assert.equal(await statusOf(key), 401);
});

test("authenticate() sees changed scopes after 30 s", async () => {
  const { clock, store, add, authenticate } = setUp();
  const { key } = mintApiKey("gk");
  const { id } = await add(key);
  assert.deepEqual([...(await authenticate(key)).scopes], ["completions.write"]);
  store.change(id, { scopes: '["logs.list"]' });
  clock.advance(30_000);
  assert.deepEqual([...(await authenticate(key)).scopes], ["logs.list"]);
});

test("X2: with the database away a known key works and an unknown one is 503 with Retry-After", async () => {
  const { clock, store, add, authenticate, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  await add(key);
  await statusOf(key);
  store.away = true;
  for (let minutes = 0; minutes < 10; minutes++) {
    clock.advance(60_000);
    assert.equal(await statusOf(key), 200);
  }
  for (const unknown of [mintApiKey("gk").key, "a-key-of-another-form"]) {
    await assert.rejects(
      authenticate(unknown),
      (error) => error instanceof UnavailableError && error.headers["retry-after"] === "1",
    );
  }
  store.away = false;
  assert.equal(await statusOf(key), 200);
});

test("X2: a key that is read again works while the database is away, and is revoked once it was read", async () => {
  const { store, add, statusOf, authenticator } = setUp();
  const { key } = mintApiKey("gk");
  const row = await add(key);
  assert.equal(await statusOf(key), 200);
  store.change(row.id, { status: "revoked" });
  assert.equal(await statusOf(key), 200);
  store.away = true;
  authenticator.readAgain(row.id);
  assert.equal(await statusOf(key), 200);
  store.away = false;
  authenticator.readAgain(row.id);
  assert.equal(await statusOf(key), 401);
});

test("X2: with the database away a known key still expires", async () => {
  const { clock, store, add, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  await add(key, { expiresAt: clock.now() + 60_000 });
  await statusOf(key);
  store.away = true;
  clock.advance(60_000);
  assert.equal(await statusOf(key), 401);
});

test("X2: a key is revoked as soon as the database is back and was read", async () => {
  const { clock, store, add, statusOf } = setUp();
  const { key } = mintApiKey("gk");
  const { id } = await add(key);
  await statusOf(key);
  store.away = true;
  clock.advance(30_000);
  assert.equal(await statusOf(key), 200);
  store.change(id, { status: "revoked" });
  store.away = false;
  clock.advance(30_000);
  assert.equal(await statusOf(key), 401);
});

test("K9: 300 failures of an address are 401, further ones 429 with Retry-After", async () => {
  const { authenticate, statusOf } = setUp();
  for (let count = 0; count < 300; count++)
    assert.equal(await statusOf("wrong-key-wrong-key"), 401, `failure ${count}`);
  await assert.rejects(
    authenticate("wrong-key-wrong-key"),
    (error) => error instanceof RateLimitError && error.headers["retry-after"] === "60",
  );
  assert.equal(await statusOf("another-key-another"), 429);
  assert.equal(await statusOf(mintApiKey("gk").key), 429);
});

test("K9: failures of one address do not count for another", async () => {
  const { statusOf } = setUp(nodeMac, 3);
  for (let count = 0; count < 5; count++) await statusOf("wrong-key-wrong-key", "192.0.2.1");
  assert.equal(await statusOf("wrong-key-wrong-key", "192.0.2.1"), 429);
  assert.equal(await statusOf("wrong-key-wrong-key", "192.0.2.2"), 401);
});

test("K9: a good key is never blocked, known or not", async () => {
  const { add, statusOf } = setUp(nodeMac, 3);
  const known = mintApiKey("gk");
  const fresh = mintApiKey("gk");
  await add(known.key);
  await add(fresh.key);
  await statusOf(known.key);
  for (let count = 0; count < 10; count++) await statusOf("wrong-key-wrong-key");
  assert.equal(await statusOf("wrong-key-wrong-key"), 429);
  assert.equal(await statusOf(known.key), 200);
  assert.equal(await statusOf(fresh.key), 200);
});

test("K9: failures are counted anew after a minute", async () => {
  const { clock, statusOf } = setUp(nodeMac, 3);
  for (let count = 0; count < 4; count++) await statusOf("wrong-key-wrong-key");
  clock.advance(59_999);
  assert.equal(await statusOf("wrong-key-wrong-key"), 429);
  clock.advance(1);
  assert.equal(await statusOf("wrong-key-wrong-key"), 401);
});

test("K9: the uses of a revoked key count as failures", async () => {
  const { add, statusOf } = setUp(nodeMac, 3);
  const { key } = mintApiKey("gk");
  await add(key, { status: "revoked" });
  const statuses: number[] = [];
  for (let count = 0; count < 5; count++) statuses.push(await statusOf(key));
  assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
});

test("K1: bootstrap keys of any form are found by their digest alone", async () => {
  const { store, add, statusOf } = setUp();
  await add("Any.text~of-16+letters/or=more");
  await add("another-bootstrap-key-0");
  assert.equal(await statusOf("Any.text~of-16+letters/or=more"), 200);
  assert.equal(await statusOf("another-bootstrap-key-0"), 200);
  assert.equal(store.asked.byLookupId, 0);
  assert.equal(await statusOf("Any.text~of-16+letters/or=mor"), 401);
});

for (const [name, former] of [
  ["of our form", undefined],
  ["of any form", "a-bootstrap-key-of-old"],
] as const) {
  test(`K6: a former secret ${name} works to the millisecond its transition ends, cached or not`, async () => {
    const { clock, mac, add, authenticate, statusOf } = setUp();
    const { key, lookupId } = mintApiKey("gk");
    const old = former ?? mintApiKey("gk", lookupId).key;
    const transition = { formerOfAnyForm: former !== undefined, transitionEndsAt: clock.now() + 60_000 };
    const row = await add(key, { formerDigest: await mac(old), ...transition });
    assert.deepEqual([(await authenticate(old)).keyId, (await authenticate(key)).keyId], [row.id, row.id]);
    clock.advance(59_999);
    assert.deepEqual([await statusOf(old), await statusOf(key)], [200, 200]);
    clock.advance(1);
    assert.deepEqual([await statusOf(old), await statusOf(key)], [401, 200]);
    clock.advance(30_000);
    assert.deepEqual([await statusOf(old), await statusOf(key)], [401, 200]);
  });
}

test("K6: a former secret whose transition is over is 401 when it is seen first", async () => {
  const { clock, mac, add, statusOf } = setUp();
  const { key, lookupId } = mintApiKey("gk");
  const old = mintApiKey("gk", lookupId).key;
  await add(key, { formerDigest: await mac(old), transitionEndsAt: clock.now() });
  assert.deepEqual([await statusOf(old), await statusOf(key)], [401, 200]);
});

test("K4: a key that is forgotten is read again at once, by either of its secrets", async () => {
  const { clock, mac, store, add, statusOf, authenticator } = setUp();
  const { key, lookupId } = mintApiKey("gk");
  const old = mintApiKey("gk", lookupId).key;
  const { id } = await add(key, { formerDigest: await mac(old), transitionEndsAt: clock.now() + 60_000 });
  assert.deepEqual([await statusOf(old), await statusOf(key)], [200, 200]);
  store.change(id, { status: "revoked" });
  authenticator.forget({ keyId: "another" });
  assert.deepEqual([await statusOf(old), await statusOf(key)], [200, 200]);
  authenticator.forget({ organisationId: "another", keyId: id });
  assert.deepEqual([await statusOf(old), await statusOf(key)], [200, 200]);
  authenticator.forget({ organisationId: "organisation", keyId: id });
  assert.deepEqual([await statusOf(old), await statusOf(key)], [401, 401]);
});

test("X2: keys in use that changed are read at once, and are known when the database is away a moment later", async () => {
  const { store, add, statusOf, authenticator } = setUp();
  const keys = [mintApiKey("gk").key, mintApiKey("gk").key];
  const ids: string[] = [];
  for (const key of keys) ids.push((await add(key)).id);
  for (const key of keys) assert.equal(await statusOf(key), 200);
  store.change(ids[1] ?? "", { status: "revoked" });
  for (const keyId of ids) authenticator.forget({ organisationId: "organisation", keyId });
  await new Promise((resolve) => setTimeout(resolve));
  store.away = true;
  assert.deepEqual([await statusOf(keys[0] ?? ""), await statusOf(keys[1] ?? "")], [200, 401]);
});

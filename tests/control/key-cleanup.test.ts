import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createKeyCleanup } from "../../src/control/key-cleanup.ts";
import type { Database, Statement } from "../../src/db/client.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import { createOauthStore } from "../../src/db/stores/oauth.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { createTestClock, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

const clock = createTestClock();
let gateway: TestGateway;
let database: Database;
/** A workspace key no test rotates. */
let steadyKey: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  database = await gateway.openFile();
  steadyKey = (await createOrganisation(database, "steady")).workspaceKey;
});
after(() => gateway.close());

const createCleanup = (write: (statements: readonly Statement[]) => Promise<unknown> = database.write) =>
  createKeyCleanup({
    stores: createControlStores(database),
    endSignIns: createOauthStore(database).revokeFamiliesOfKey,
    write,
    now: clock.now,
  });
const mint = async (key: string, expiresInMs?: number) => {
  const expires = expiresInMs === undefined ? null : new Date(clock.now() + expiresInMs).toISOString();
  const body = { name: "n", scopes: ["configs.list"], expires_at: expires };
  return String((await done(call(gateway, "POST /api-keys/workspace/service", { key, body }))).id);
};
const stored = async (id: string) => {
  const { rows } = await database.read({
    sql: "SELECT status, former_digest AS former, former_of_any_form AS any_form, transition_ends_at AS ends FROM api_keys WHERE id = ?",
    args: [id],
  });
  return { ...rows[0] };
};
const plain = { status: "active", former: null, any_form: 0, ends: null };

test("expired keys are marked in every organisation, and no others", async () => {
  const other = await createOrganisation(database, "other");
  const ending = await Promise.all([mint(workspaceKey, 1_000), mint(other.workspaceKey, 1_000)]);
  const later = await mint(workspaceKey, 1_001);
  const never = await mint(workspaceKey);
  const cleanUp = createCleanup();
  clock.advance(999);
  await cleanUp();
  for (const id of [...ending, later, never]) assert.deepEqual(await stored(id), plain);
  clock.advance(1);
  await cleanUp();
  for (const id of ending) assert.deepEqual(await stored(id), { ...plain, status: "expired" });
  for (const id of [later, never]) assert.deepEqual(await stored(id), plain);
  const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /api-keys?status=expired"));
  assert.deepEqual(
    data.map(({ id }) => id),
    [ending[0]],
  );
});

test("former secrets are deleted when their transition ends", async () => {
  const { rows } = await database.read(
    "SELECT id FROM api_keys WHERE lookup_id IS NULL AND kind = 'workspace-service'",
  );
  const ids = [await mint(workspaceKey), String(rows[0]?.id)];
  for (const id of ids) await done(call(gateway, `POST /api-keys/${id}/rotate`));
  const cleanUp = createCleanup();
  clock.advance(1_799_999);
  await cleanUp();
  for (const id of ids) assert.notEqual((await stored(id)).former, null);
  clock.advance(1);
  await cleanUp();
  for (const id of ids) assert.deepEqual(await stored(id), plain);
});

test("a key that was extended meanwhile stays unchanged", async () => {
  const id = await mint(steadyKey);
  const setEnd = (time: number) =>
    database.write([{ sql: "UPDATE api_keys SET expires_at = ? WHERE id = ?", args: [time, id] }]);
  await setEnd(clock.now());
  await createCleanup(async (statements) => {
    await setEnd(clock.now() + 1);
    return database.write(statements);
  })();
  assert.deepEqual(await stored(id), plain);
  await createCleanup()();
  assert.deepEqual(await stored(id), plain);
  clock.advance(1);
  await createCleanup()();
  assert.equal((await stored(id)).status, "expired");
});

test("one run at a time", async () => {
  const id = await mint(steadyKey, 1);
  clock.advance(1);
  let writes = 0;
  const cleanUp = createCleanup((statements) => {
    writes++;
    return database.write(statements);
  });
  await Promise.all([cleanUp(), cleanUp()]);
  assert.deepEqual([writes, (await stored(id)).status], [1, "expired"]);
});

test("a run that fails is followed by others", async () => {
  const id = await mint(steadyKey, 1);
  clock.advance(1);
  let isAway = true;
  const cleanUp = createCleanup((statements) =>
    isAway ? Promise.reject(new Error("away")) : database.write(statements),
  );
  await assert.rejects(cleanUp(), /away/);
  isAway = false;
  await cleanUp();
  assert.equal((await stored(id)).status, "expired");
});

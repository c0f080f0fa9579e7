import assert from "node:assert/strict";
import { test } from "node:test";
import { type Database, isConflict, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createBatchStore } from "../../src/db/stores/batches.ts";
import { createLogExportStore } from "../../src/db/stores/log-exports.ts";
import { gatewayBatches } from "../../src/db/tables/batches.ts";
import { logExports } from "../../src/db/tables/log-exports.ts";

const tenant = { organisationId: "o", workspaceId: "w" };

async function withDatabase(run: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  await run(database);
  await database.close();
}

test("a process that was paused writes nothing into a batch that another one took meanwhile", () =>
  withDatabase(async (database) => {
    const store = createBatchStore(database);
    const batch = { endpoint: "/v1/chat/completions", completionWindow: "24h", inputFileId: "f", apiKeyId: "k" };
    const times = { createdAt: 0, expiresAt: 1_000_000 };
    await database.orm.insert(gatewayBatches).values({ id: "b", ...tenant, ...batch, ...times, status: "in_progress" });
    const read = async () => (await store.page(tenant, { limit: 1 }))[0];
    const [free] = await store.listFree(0, 1);
    assert.ok(free && (await store.claim(free, { owner: "one", until: 60 }, 0)));
    const held = await read();
    assert.ok(held);
    // of a lease that stands, nobody else takes anything
    assert.deepEqual(await store.listFree(59, 1), []);
    assert.equal(await store.claim(free, { owner: "two", until: 119 }, 59), false);
    // the first one is paused until its lease is over
    const [again] = await store.listFree(70, 1);
    assert.ok(again && (await store.claim(again, { owner: "two", until: 130 }, 70)));
    assert.equal(await store.renew(held, { owner: "one", until: 200 }), false);
    await assert.rejects(store.write([store.step(held, "one", { completed: 7 })]), isConflict);
    await store.release(held, "one");
    const taken = await read();
    assert.deepEqual([taken?.leaseOwner, taken?.leaseUntil, taken?.completed], ["two", 130, 0]);
    assert.ok(taken);
    await store.write([store.step(taken, "two", { completed: 1 })]);
    // nor is a step taken twice by the one that has it
    await assert.rejects(store.write([store.step(taken, "two", { completed: 2 })]), isConflict);
    assert.equal((await read())?.completed, 1);
  }));

test("a process that was paused writes nothing into an export that another one took meanwhile", () =>
  withDatabase(async (database) => {
    const store = createLogExportStore(database);
    const common = { filters: {}, requestedData: [], createdBy: "k", createdAt: 0, lastUpdatedAt: 0 };
    await database.orm.insert(logExports).values({ id: "e", ...tenant, ...common, status: "in_progress" });
    const [free] = await store.listFree(0, 1);
    assert.ok(free);
    assert.equal(await store.claim(free, { owner: "one", until: 6 }, 0), true);
    const held = await store.reload(free, "one");
    assert.ok(held);
    assert.equal(await store.claim(free, { owner: "two", until: 11 }, 5), false);
    // the first one is paused until its lease is over
    assert.equal(await store.claim(free, { owner: "two", until: 13 }, 7), true);
    const taken = await store.reload(free, "two");
    assert.ok(taken);
    assert.equal(await store.renew(held, { owner: "one", until: 100 }), false);
    await store.release(held, "one", 0);
    assert.equal(await store.reload(held, "one"), undefined);
    await assert.rejects(store.write([store.step(held, "one", { written: 7 })]), isConflict);
    assert.deepEqual(await store.reload(taken, "two"), taken);
    await store.write([store.step(taken, "two", { written: 1 })]);
    await assert.rejects(store.write([store.step(taken, "two", { written: 2 })]), isConflict);
    assert.equal((await store.reload(taken, "two"))?.written, 1);
  }));

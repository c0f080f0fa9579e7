import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { createIdFactory } from "../../src/lib/ids.ts";
import { plainDetails } from "../support/log-record.ts";
import { createFolder, runCommand, startCommand } from "../support/process.ts";

const folder = createFolder();
const file = join(folder, "gateway.db");
const url = `file:${file}`;
const options = { env: { DATABASE_URL: url, GATEWAY_MASTER_KEYS: "v1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA" } };
const createId = createIdFactory(Date.now);

/** Stores rows of 10 kB, and removes most of them again. */
async function fill(database: Database, rows: number, kept: number): Promise<void> {
  const store = createLogStore(database);
  const ids = Array.from({ length: rows }, createId);
  for (const id of ids) {
    const details = JSON.stringify([{ ...plainDetails, id, upstream_url: "x".repeat(10_000) }]);
    const texts = { details, counted: "", charged: "", content: "[]\n[]\n" };
    await store.append([{ organisationId: "o", workspaceId: "w", firstId: id, lastId: id, ...texts }]);
  }
  await database.write([{ sql: "DELETE FROM log_batches WHERE first_id >= ?", args: [ids[kept] ?? "~"] }]);
}

/** What must stay as it is, and whether the file is whole. */
async function readState() {
  const database = await openDatabase({ url });
  const [check, rows, free, vacuum] = await Promise.all([
    database.read("PRAGMA integrity_check"),
    database.read("SELECT seq, details FROM log_batches ORDER BY seq"),
    database.read("PRAGMA freelist_count"),
    database.read("PRAGMA auto_vacuum"),
  ]);
  await database.close();
  assert.equal(check.rows[0]?.integrity_check, "ok");
  return {
    rows: rows.rows.map(({ seq, details }) => `${seq} ${details}`),
    free: Number(free.rows[0]?.freelist_count),
    autoVacuum: Number(vacuum.rows[0]?.auto_vacuum),
  };
}

const compact = () => runCommand(["storage", "compact"], options);

before(async () => {
  const database = await openDatabase({ url });
  await migrate(database);
  await fill(database, 1_500, 100);
  await database.close();
});

test("storage compact that is killed leaves the database whole", async () => {
  const { rows, free } = await readState();
  assert.equal(rows.length, 100);
  assert.ok(free > 1_000);
  for (const afterMs of [20, 120, 250, 400]) {
    const command = startCommand(["storage", "compact"], options);
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await command.stop("SIGKILL");
    assert.deepEqual((await readState()).rows, rows);
  }
});

test("storage compact fails while another program writes, and changes nothing", async () => {
  const { rows } = await readState();
  const { createClient } = await import("@libsql/client");
  const client = createClient({ url });
  const transaction = await client.transaction("write");
  await transaction.execute("DELETE FROM log_batches");
  const { code, stdout } = await compact();
  assert.deepEqual([code, stdout], [1, ""]);
  await transaction.rollback();
  client.close();
  assert.deepEqual((await readState()).rows, rows);
});

test("storage compact makes a file of an earlier version as small as its content, shows both sizes, and keeps every row", async () => {
  const database = await openDatabase({ url });
  // as files were made before
  await database.write(["PRAGMA auto_vacuum = NONE"]);
  await database.write(["VACUUM"]);
  await fill(database, 1_500, 0);
  await database.close();
  const former = await readState();
  assert.equal(former.autoVacuum, 0);
  assert.ok(former.free > 1_000);
  const { code, stdout, output } = await compact();
  assert.equal(code, 0, output);
  const shown = JSON.parse(stdout);
  assert.deepEqual(Object.keys(shown), ["bytes_before", "bytes_after"]);
  assert.ok(shown.bytes_after < shown.bytes_before / 4, stdout);
  const now = await readState();
  assert.deepEqual([now.rows, now.free, now.autoVacuum], [former.rows, 0, 2]);
  assert.equal(statSync(file).size, shown.bytes_after);
  const again = JSON.parse((await compact()).stdout);
  assert.deepEqual([again.bytes_before, again.bytes_after], [shown.bytes_after, shown.bytes_after]);
});

test("storage compact refuses a remote database", async () => {
  const env = { ...options.env, DATABASE_URL: "http://127.0.0.1:9" };
  const { code, output } = await runCommand(["storage", "compact"], { env });
  assert.equal(code, 1);
  assert.match(output, /Cannot compact a remote database/);
});

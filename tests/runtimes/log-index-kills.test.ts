import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Database, openDatabase } from "../../src/db/client.ts";
import type { LogScope } from "../../src/db/stores/log-scope.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { createIdFactory } from "../../src/lib/ids.ts";
import { eventually } from "../support/eventually.ts";
import { createRandom } from "../support/gateway.ts";
import { plainDetails } from "../support/log-record.ts";
import { createFolder, type GatewayProcess, withGateway } from "../support/process.ts";
import { rounds, sampleSeed } from "../support/sample.ts";

/** Rows that are added before each start: more than one segment has. */
const addedRows = 20_000;
const batchRows = 64;
const kills = rounds(20);
/** Each step has a bound; together they may take longer than the runner waits for a test. */
const timeout = 300_000 + kills * 60_000;
/** A status of few rows. */
const rareStatus = 418;

/** Stores rows as the gateway does. */
async function addRows(database: Database, scope: LogScope, createId: () => string): Promise<void> {
  const store = createLogStore(database);
  const error = { type: "upstream_error", code: "teapot", message: "x".repeat(400) };
  for (let stored = 0; stored < addedRows; stored += batchRows) {
    const rows = Array.from({ length: batchRows }, (_, index) => ({
      ...plainDetails,
      id: createId(),
      organisation_id: scope.organisationId,
      workspace_id: scope.workspaceId ?? "",
      status: index === 7 ? rareStatus : 200,
      error,
    }));
    await store.append([
      {
        organisationId: scope.organisationId,
        workspaceId: scope.workspaceId ?? "",
        firstId: rows[0]?.id ?? "",
        lastId: rows.at(-1)?.id ?? "",
        details: JSON.stringify(rows),
        counted: "",
        charged: "",
        content: "[]\n[]\n",
      },
    ]);
  }
}

/** Asks for chats until the gateway ends. */
async function sendChats(gateway: GatewayProcess): Promise<void> {
  const headers = { "x-gateway-api-key": gateway.workspaceKey, "x-gateway-provider": "echo" };
  const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] });
  const init = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body };
  for (;;) {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, init).catch(() => undefined);
    if (!response) return;
    await response.text().catch(() => "");
  }
}

/** Segments that hold other rows than their batches, and batches that are in two segments. */
async function findWrong(database: Database) {
  const { rows } = await database.read(`SELECT s.id FROM log_segments AS s WHERE s.state = 'live' AND (
    s.rows <> (SELECT sum(json_array_length(details)) FROM log_batches WHERE seq BETWEEN s.first_seq AND s.last_seq)
    OR EXISTS (SELECT 1 FROM log_segments AS o WHERE o.state = 'live' AND o.id <> s.id
      AND o.first_seq <= s.last_seq AND o.last_seq >= s.first_seq))`);
  return rows;
}

const rowsSql = `SELECT value ->> 'id' AS id FROM log_batches, json_each(details)`;

async function readIds(database: Database, where = ""): Promise<string[]> {
  const { rows } = await database.read(`${rowsSql} ${where}`);
  return rows.map(({ id }) => String(id)).sort();
}

async function get(gateway: GatewayProcess, path: string) {
  const response = await fetch(`${gateway.url}${path}`, { headers: { "x-gateway-api-key": gateway.adminKey } });
  assert.equal(response.status, 200);
  return response.json();
}

/** Ids of all rows that a list finds, page by page. */
async function listIds(gateway: GatewayProcess, query: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await get(gateway, `/v1/logs?limit=100&${query}${cursor}`);
    ids.push(...page.data.map(({ id }: { id: string }) => id));
    if (!page.has_more) return ids;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

async function countLive(database: Database): Promise<number> {
  const { rows } = await database.read("SELECT count(*) AS count FROM log_segments WHERE state = 'live'");
  return Number(rows[0]?.count);
}

test(`an indexer that is killed with kill -9 loses and doubles no row (seed ${sampleSeed})`, { timeout }, async () => {
  const folder = createFolder();
  const random = createRandom(sampleSeed);
  await withGateway({ cwd: folder }, async () => {});
  const database = await openDatabase({ url: `file:${join(folder, "data/gateway.db")}` });
  const { rows: workspaces } = await database.read("SELECT id, organisation_id FROM workspaces");
  const [workspace] = workspaces;
  const scope = { organisationId: String(workspace?.organisation_id), workspaceId: String(workspace?.id) };
  const createId = createIdFactory(Date.now);
  for (let kill = 0; kill < kills; kill++) {
    await addRows(database, scope, createId);
    await withGateway({ cwd: folder }, async (gateway) => {
      const chats = Promise.all(Array.from({ length: 8 }, () => sendChats(gateway)));
      await new Promise((resolve) => setTimeout(resolve, 2_500 * random()));
      await gateway.stop("SIGKILL");
      await chats;
    });
    assert.deepEqual(await findWrong(database), [], `after kill ${kill}`);
  }
  await withGateway({ cwd: folder }, async (gateway) => {
    const ids = await readIds(database);
    const range = `time_of_generation_min=2020-01-01T00:00:00Z&time_of_generation_max=2120-01-01T00:00:00Z`;
    const groups = await get(gateway, `/v1/analytics/groups/status_code?${range}`);
    const counts = groups.data.map(({ requests }: { requests: number }) => requests);
    assert.equal(new Set(ids).size, ids.length, "no row is stored twice");
    assert.equal(
      counts.reduce((sum: number, count: number) => sum + count, 0),
      ids.length,
    );
    const rare = await readIds(database, `WHERE value ->> 'status' = ${rareStatus}`);
    assert.ok(rare.length > 0);
    assert.deepEqual((await listIds(gateway, `status=${rareStatus}`)).sort(), rare);
    // a busy machine may have indexed none before any of the kills
    await eventually("some rows in the index", async () => (await countLive(database)) > 0, 60_000);
  });
  assert.deepEqual(await findWrong(database), []);
  await database.close();
});

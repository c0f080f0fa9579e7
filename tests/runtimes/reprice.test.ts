import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { createIdFactory } from "../../src/lib/ids.ts";
import { packCharged } from "../../src/logs/charged.ts";
import { createRandom } from "../support/gateway.ts";
import { plainDetails } from "../support/log-record.ts";
import { fakeWorkspaceKey, type GatewayProcess, runCommand, startCommand, withGateway } from "../support/process.ts";

const batches = 300;
const rowsOfBatch = 4;
const kills = 2;
/** 100 tokens of gpt-4o at 2,500 nano-dollars. */
const todaysNanos = 250_000;
const start = Date.UTC(2026, 0, 15);
const range = ["--from", "2026-01-15T00:00:00Z", "--to", "2026-01-16"];

/** Stores rows that cost a tenth of today's price, or nothing yet, and count in a budget that never resets. */
async function seed(database: Database): Promise<void> {
  const { rows } = await database.read("SELECT organisation_id, id FROM workspaces LIMIT 1");
  const [organisationId, workspaceId] = [String(rows[0]?.organisation_id), String(rows[0]?.id)];
  const createId = createIdFactory(() => start);
  const counter = { limitId: "budget", bucket: "all", windowStart: 0, windowEnd: null };
  const usage = { input_tokens: 100, output_tokens: 0, total_tokens: 100, cached_tokens: 0, reasoning_tokens: 0 };
  const allCounts = { ...usage, cache_write_tokens: 0, audio_input_tokens: 0, audio_output_tokens: 0 };
  const model = { provider: "openai", model: "gpt-4o", usage: allCounts };
  const tenant = { organisation_id: organisationId, workspace_id: workspaceId };
  const stored = Array.from({ length: batches }, () => {
    const details = Array.from({ length: rowsOfBatch }, (_, index) => {
      const price = index === 0 ? { priced: false } : { cost: todaysNanos / 1e8, priced: true, price_source: "list" };
      return { ...plainDetails, ...tenant, ...model, id: createId(), ...price };
    });
    return {
      organisationId,
      workspaceId,
      firstId: details[0]?.id ?? "",
      lastId: details.at(-1)?.id ?? "",
      details: JSON.stringify(details),
      counted: JSON.stringify([{ ...counter, used: ((rowsOfBatch - 1) * todaysNanos) / 10 }]),
      charged: packCharged(details.map(() => [counter])),
      content: "[]\n[]\n",
    };
  });
  const store = createLogStore(database);
  for (let index = 0; index < batches; index += 50) await store.append(stored.slice(index, index + 50));
}

const seeded = "SELECT value FROM log_batches, json_each(details) WHERE value ->> 'model' = 'gpt-4o'";

/** Rows that were priced again so far. */
async function countRepriced(database: Database): Promise<number> {
  const { rows } = await database.read(
    `SELECT count(*) AS n FROM (${seeded}) WHERE value -> 'former_cost' IS NOT NULL`,
  );
  return Number(rows[0]?.n);
}

async function readTotals(database: Database) {
  const sums = await database.read(`SELECT round(sum(value ->> 'cost') * 1e7) AS n FROM (${seeded})`);
  const counters = await database.read("SELECT used FROM limit_counters WHERE limit_id = 'budget'");
  return { rows: Number(sums.rows[0]?.n), counter: Number(counters.rows[0]?.used) };
}

async function chat({ url }: GatewayProcess): Promise<number> {
  const { status } = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": fakeWorkspaceKey,
      "x-gateway-provider": "echo",
    },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
  });
  return status;
}

test("prices reprice, killed several times beside a serving gateway, applies each difference once", async () => {
  await withGateway({}, async (gateway) => {
    const { folder } = gateway;
    const database = await openDatabase({ url: `file:${join(folder, "data/gateway.db")}` });
    try {
      await seed(database);
      const all = batches * rowsOfBatch;
      const before = await readTotals(database);
      assert.deepEqual(before, { rows: before.counter, counter: (batches * 3 * todaysNanos) / 10 });

      const dry = await runCommand(["prices", "reprice", ...range, "--dry-run"], { cwd: folder });
      assert.equal(dry.code, 0, dry.output);
      assert.deepEqual(await readTotals(database), before);

      const random = createRandom(3);
      for (let kill = 0; kill < kills; kill++) {
        const until = Math.min(all, (await countRepriced(database)) + 1 + Math.floor((random() * all) / 8));
        const command = startCommand(["prices", "reprice", ...range], { cwd: folder });
        let isOver = false;
        command.ended.then(() => {
          isOver = true;
        });
        while (!isOver && (await countRepriced(database)) < until) assert.equal(await chat(gateway), 200);
        await command.stop("SIGKILL");
        const { rows, counter } = await readTotals(database);
        assert.equal(counter, rows);
      }

      const last = await runCommand(["prices", "reprice", ...range, "--model", "gpt-4o"], { cwd: folder });
      assert.equal(last.code, 0, last.output);
      assert.deepEqual(await readTotals(database), { rows: all * todaysNanos, counter: all * todaysNanos });
      const { dry_run, rows, repriced, former_cost, cost } = JSON.parse(dry.stdout);
      assert.deepEqual([dry_run, rows, repriced], [true, all, all]);
      assert.deepEqual([former_cost, cost], [before.rows / 1e7, (all * todaysNanos) / 1e7]);
      const summary = JSON.parse(last.stdout);
      assert.deepEqual([summary.model, summary.rows, summary.repriced + summary.unchanged], ["gpt-4o", all, all]);
      assert.equal(await chat(gateway), 200);
    } finally {
      await database.close();
    }
  });
});

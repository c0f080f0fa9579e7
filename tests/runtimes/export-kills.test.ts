import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { createIdFactory } from "../../src/lib/ids.ts";
import type { LogExport } from "../../src/schemas/log-exports.ts";
import { eventually } from "../support/eventually.ts";
import { createRandom } from "../support/gateway.ts";
import { plainDetails } from "../support/log-record.ts";
import { createFolder, type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { isWhole, sampleSeed } from "../support/sample.ts";

/** As many as an export has at most. */
const rows = isWhole ? 50_000 : 6_000;
const batchRows = 50;
const bodyLength = 1_000;
const kills = 4;
/** Longest time between rows that were written and the kill. */
const killWithinMs = isWhole ? 300 : 30;
/** An export goes on 10 seconds after a start at the latest; a busy machine takes longer to start. */
const goesOnWithinMs = 30_000;
/** Each step has a bound; together they may take longer than the runner waits for a test. */
const timeout = 900_000;

/** Stores rows with contents; their ids. */
async function seed(database: Database): Promise<string[]> {
  const found = await database.read("SELECT organisation_id, id FROM workspaces LIMIT 1");
  const tenant = { organisationId: String(found.rows[0]?.organisation_id), workspaceId: String(found.rows[0]?.id) };
  const createId = createIdFactory(() => Date.now() - 3_600_000);
  const store = createLogStore(database);
  const ids: string[] = [];
  for (let first = 0; first < rows; first += batchRows) {
    const list = Array.from({ length: batchRows }, () => ({
      ...plainDetails,
      id: createId(),
      organisation_id: tenant.organisationId,
      workspace_id: tenant.workspaceId,
    }));
    const body = "x".repeat(bodyLength);
    const content = [
      JSON.stringify(list.map(() => [body.length, 0])),
      JSON.stringify(list.map(() => [{}, {}])),
      list.map(() => body).join(""),
    ].join("\n");
    const [firstId, lastId] = [list[0]?.id ?? "", list.at(-1)?.id ?? ""];
    await store.append([
      { ...tenant, firstId, lastId, details: JSON.stringify(list), counted: "", charged: "", content },
    ]);
    ids.push(...list.map(({ id }) => id));
  }
  return ids;
}

async function send<Answer>(gateway: GatewayProcess, route: string, body?: object): Promise<Answer> {
  const [method = "GET", path = ""] = route.split(" ");
  const headers = { "x-gateway-api-key": gateway.workspaceKey, "content-type": "application/json" };
  const response = await fetch(gateway.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as Answer; // what the route answers
}

/** What a comparison of equal lists finds. */
const sameIds = { missing: 0, unknown: 0, twice: 0, moved: -1, examples: [] as string[] };

/** How exported ids differ from those of the stored rows: a comparison of the lists would print them all. */
function compareIds(exported: readonly string[], stored: readonly string[]): typeof sameIds {
  const [found, known] = [new Set(exported), new Set(stored)];
  const rest = new Set(exported);
  const missing = stored.filter((id) => !found.has(id));
  const unknown = exported.filter((id) => !known.has(id));
  const twice = exported.filter((id) => !rest.delete(id));
  const moved = stored.findIndex((id, index) => exported[index] !== id);
  const examples = [missing, unknown, twice].flatMap((some) => some.slice(0, 3));
  return { missing: missing.length, unknown: unknown.length, twice: twice.length, moved, examples };
}

test(`an export whose processes are killed has each row once (seed ${sampleSeed})`, { timeout }, async () => {
  const folder = createFolder();
  const random = createRandom(sampleSeed);
  let gateway = await startGatewayProcess({ cwd: folder });
  const database = await openDatabase({ url: `file:${join(folder, "data/gateway.db")}` });
  try {
    const ids = await seed(database);
    const requested_data = ["id", "request"];
    const { id } = await send<LogExport>(gateway, "POST /v1/logs/exports", { filters: {}, requested_data });
    await send(gateway, `POST /v1/logs/exports/${id}/start`);
    const readProgress = async () => {
      const { rows: found } = await database.read("SELECT written, status FROM log_exports");
      return { written: Number(found[0]?.written), status: String(found[0]?.status) };
    };
    let unfinished = 0;
    for (let kill = 0; kill < kills; kill++) {
      const { written: before } = await readProgress();
      const hasMore = async () => {
        const { written, status } = await readProgress();
        return written > before || status === "success";
      };
      await eventually("rows of the export", hasMore, goesOnWithinMs);
      await new Promise((resolve) => setTimeout(resolve, killWithinMs * random()));
      await gateway.stop("SIGKILL");
      if ((await readProgress()).status === "in_progress") unfinished++;
      gateway = await startGatewayProcess({ cwd: folder });
    }
    assert.ok(unfinished > 0, "no process was killed in the middle");
    await eventually("the end of the export", async () => (await readProgress()).status === "success", 240_000);
    const { signed_url } = await send<{ signed_url: string }>(gateway, `GET /v1/logs/exports/${id}/download`);
    const response = await fetch(signed_url);
    const text = await response.text();
    const { rows: finished } = await database.read("SELECT bytes FROM log_exports");
    // a download that breaks off would look like lost rows
    assert.deepEqual([response.status, text.length], [200, Number(finished[0]?.bytes)]);
    const exported: { id: string; request: { body: string } }[] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      compareIds(
        exported.map((row) => row.id),
        ids.toReversed(),
      ),
      sameIds,
    );
    assert.ok(exported.every(({ request }) => request.body.length === bodyLength));
  } finally {
    await database.close();
    await gateway.stop("SIGKILL");
  }
});

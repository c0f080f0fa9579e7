import assert from "node:assert/strict";
import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "@libsql/client";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { createFolder, fakeAdminKey, type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { isWhole } from "../support/sample.ts";

const kills = isWhole ? 5 : 3;
const env = { LIMITS_STRICT: "true" };

async function admin<Answer>({ url }: GatewayProcess, path: string, body?: object): Promise<Answer> {
  const headers = { "x-gateway-api-key": fakeAdminKey, "content-type": "application/json" };
  const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(`${url}/v1${path}`, init);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

interface LimitedKey {
  id: string;
  key: string;
  /** Id of a budget of requests that it counts in. */
  policyId: string;
}

async function createKey(gateway: GatewayProcess): Promise<LimitedKey> {
  const workspace = { workspace_id: "default" };
  const scopes = ["completions.write"];
  const key = await admin<LimitedKey>(gateway, "/api-keys/workspace/service", { name: "key", ...workspace, scopes });
  const { id: policyId } = await admin<{ id: string }>(gateway, "/policies/usage-limits", {
    ...workspace,
    type: "requests",
    credit_limit: 1e6,
    conditions: [{ key: "model", value: "echo-1" }],
    group_by: [{ key: "api_key" }],
  });
  return { ...key, policyId };
}

function sendChat({ url }: GatewayProcess, key: string, stream = false, model = "echo-1"): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-gateway-api-key": key, "x-gateway-provider": "echo" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }], stream }),
  });
}

/** What a gateway shows of the budget of a key. */
async function readUsed(gateway: GatewayProcess, { policyId }: LimitedKey): Promise<number | undefined> {
  type Entities = { data: { current_usage: number }[] };
  return (await admin<Entities>(gateway, `/policies/usage-limits/${policyId}/entities`)).data[0]?.current_usage;
}

/** Ids of the stored rows of a key, in a database that no process uses. */
async function readRows(folder: string, { id }: LimitedKey): Promise<string[]> {
  const database = createClient({ url: `file:${join(folder, "data/gateway.db")}`, timeout: 5_000 });
  try {
    const { rows } = await database.execute("SELECT details FROM log_batches");
    const stored: LogDetails[] = rows.flatMap(({ details }) => JSON.parse(String(details)));
    return stored.flatMap((row) => (row.api_key_id === id ? [row.id] : []));
  } finally {
    database.close();
  }
}

const journalsIn = (folder: string) =>
  readdirSync(join(folder, "data")).filter((name) => name.startsWith("gateway.db-limits-"));

test(`with LIMITS_STRICT, every response that ended is counted once after each of ${kills} kills`, async () => {
  const folder = createFolder();
  const start = () => startGatewayProcess({ cwd: folder, env });
  let gateway = await start();
  try {
    const key = await createKey(gateway);
    let ended = 0;
    for (let kill = 0; kill < kills; kill++) {
      // fewer than a batch: the log would store them 250 ms later
      for (let sent = 0; sent < 10 + kill; sent++) {
        const response = await sendChat(gateway, key.key, sent % 2 === 1);
        const text = await response.text();
        assert.equal(response.status, 200, text);
        ended++;
      }
      await gateway.stop("SIGKILL");
      const before = await readRows(folder, key);
      assert.ok(before.length < ended, `kill ${kill}: the log had stored everything, so the journal was not needed`);
      gateway = await start();
      assert.equal(await readUsed(gateway, key), ended, `kill ${kill}`);
    }
    await gateway.stop();
    const rows = await readRows(folder, key);
    assert.equal(rows.length, ended);
    assert.equal(new Set(rows).size, ended);
    assert.deepEqual(journalsIn(folder), []);
  } finally {
    await gateway.stop("SIGKILL");
  }
});

test("while the journal cannot be written, requests with limits get 503, others pass, and what was used stays exact", async () => {
  const folder = createFolder();
  const [place, away] = [join(folder, "journal"), join(folder, "away")];
  const gateway = await startGatewayProcess({
    cwd: folder,
    env: { ...env, LIMITS_JOURNAL_FILE: join(place, "limits") },
  });
  try {
    const key = await createKey(gateway);
    const send = async (model?: string) => {
      const response = await sendChat(gateway, key.key, false, model);
      return { status: response.status, headers: response.headers, body: await response.text() };
    };
    let admitted = 0;
    for (; admitted < 3; admitted++) assert.equal((await send()).status, 200);
    // the next file cannot be made: a file of the journal holds 256 KiB
    renameSync(place, away);
    writeFileSync(place, "");
    let refused = await send();
    for (; refused.status === 200 && admitted < 2_000; refused = await send()) admitted++;
    assert.equal(refused.status, 503, refused.body);
    assert.equal(JSON.parse(refused.body).error.code, "limits_unavailable");
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    assert.equal((await send("echo-2")).status, 200);
    assert.equal((await send()).status, 503);

    rmSync(place);
    renameSync(away, place);
    const deadline = Date.now() + 20_000;
    let again = await send();
    for (; again.status === 503 && Date.now() < deadline; again = await send()) {
      await new Promise((done) => setTimeout(done, 50));
    }
    assert.equal(again.status, 200, again.body);
    assert.equal(await readUsed(gateway, key), admitted + 1);
  } finally {
    await gateway.stop("SIGKILL");
  }
});

test("without LIMITS_STRICT there is no journal", async () => {
  const folder = createFolder();
  const gateway = await startGatewayProcess({ cwd: folder });
  try {
    const key = await createKey(gateway);
    await (await sendChat(gateway, key.key)).text();
    assert.deepEqual(journalsIn(folder), []);
  } finally {
    await gateway.stop("SIGKILL");
  }
});

test("a journal that no file can be made for stops the start", async () => {
  const folder = createFolder();
  const occupied = join(folder, "file");
  writeFileSync(occupied, "");
  const start = startGatewayProcess({ cwd: folder, env: { ...env, LIMITS_JOURNAL_FILE: join(occupied, "limits") } });
  await assert.rejects(start, /ended with 1(?:.|\n)*(?:ENOTDIR|Not a directory)/i);
});

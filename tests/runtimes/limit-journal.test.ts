import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
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
    conditions: [{ key: "provider", value: "echo" }],
    group_by: [{ key: "api_key" }],
  });
  return { ...key, policyId };
}

function sendChat({ url }: GatewayProcess, key: string, stream = false): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-gateway-api-key": key, "x-gateway-provider": "echo" },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hi" }], stream }),
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

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { race, withNodes } from "../support/leases.ts";
import { startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";
import { createFolder, fakeAdminKey, type GatewayProcess, startGatewayProcess } from "../support/process.ts";

const running = new Set<GatewayProcess>();
after(() => Promise.all([...running].map((gateway) => gateway.stop("SIGKILL"))));

/** Starts gateways on one database. */
async function startGateways(count: number, env: Readonly<Record<string, string>>): Promise<GatewayProcess[]> {
  const started: GatewayProcess[] = [];
  for (let index = 0; index < count; index++) {
    const masterKeys = "v1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA";
    const gateway = await startGatewayProcess({ env: { GATEWAY_MASTER_KEYS: masterKeys, ...env } });
    running.add(gateway);
    started.push(gateway);
  }
  return started;
}

async function send(gateway: GatewayProcess, path: string, { key, body }: { key: string; body?: object }) {
  const headers = { "x-gateway-api-key": key, "content-type": "application/json", "x-gateway-provider": "echo" };
  const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { method: "DELETE", headers };
  const response = await fetch(`${gateway.url}/v1${path}`, init);
  return { status: response.status, body: JSON.parse(await response.text()) };
}

/** A key with a limit on requests. */
async function makeKey(gateway: GatewayProcess, value: number): Promise<{ id: string; key: string }> {
  const rate_limits = [{ type: "requests", unit: "rpw", value }];
  const body = { name: "Limited", workspace_id: "default", scopes: ["completions.write"], rate_limits };
  const made = await send(gateway, "/api-keys/workspace/service", { key: fakeAdminKey, body });
  assert.equal(made.status, 200, JSON.stringify(made.body));
  return made.body;
}

const chat = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };

/** Statuses of requests that are sent at once, in turn to each gateway. */
async function ask(gateways: readonly GatewayProcess[], key: string, requests: number): Promise<number[]> {
  const asked = Array.from({ length: requests }, (_, index) =>
    send(gateways[index % gateways.length] as GatewayProcess, "/chat/completions", { key, body: chat }),
  );
  return (await Promise.all(asked)).map(({ status }) => status);
}

/** How many requests are admitted. The others are refused for the limit, and fail for no other reason. */
async function countAdmitted(gateways: readonly GatewayProcess[], key: string, requests: number): Promise<number> {
  const statuses = await ask(gateways, key, requests);
  assert.deepEqual(
    [...new Set(statuses)].filter((status) => status !== 200 && status !== 429),
    [],
  );
  return statuses.filter((status) => status === 200).length;
}

/** As `countAdmitted`, for requests at once. They go on until `wanted` are admitted: a busy machine may seem to be away. */
async function askAtOnce(
  gateways: readonly GatewayProcess[],
  key: string,
  requests: number,
  wanted = 75,
): Promise<number> {
  let admitted = await countAdmitted(gateways, key, requests);
  for (const startedAt = performance.now(); admitted < wanted && performance.now() - startedAt < 20_000; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    admitted += await countAdmitted(gateways, key, 10);
  }
  return admitted;
}

/** What the database counted under the limits of a key. */
async function readCounter(url: string, keyId: string): Promise<number> {
  const database = await openDatabase({ url });
  const sql = "SELECT used FROM limit_counters WHERE bucket = ?";
  const { rows } = await database.read({ sql, args: [`api_key:${keyId}`] });
  await database.close();
  return Number(rows[0]?.used ?? 0);
}

/** Waits until each gateway answers a key with a status. */
async function until(gateways: readonly GatewayProcess[], key: string, wanted: number): Promise<void> {
  for (const gateway of gateways) {
    const startedAt = performance.now();
    while ((await ask([gateway], key, 1))[0] !== wanted) {
      if (performance.now() - startedAt > 20_000) throw new Error(`Waited 20 seconds for status ${wanted}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** Waits until each gateway has a key in memory and knows of no change that could make it read the key again. */
async function warmUp(gateways: readonly GatewayProcess[], key: string): Promise<void> {
  const [first] = gateways as [GatewayProcess];
  const last = await makeKey(first, 1_000);
  await until(gateways, last.key, 200);
  await send(first, `/api-keys/${last.id}`, { key: fakeAdminKey });
  await until(gateways, last.key, 401);
  await until(gateways, key, 200);
}

/** Stops gateways in order. */
async function stop(...gateways: GatewayProcess[]): Promise<void> {
  const endings = await Promise.all(gateways.map((gateway) => gateway.stop()));
  assert.ok(endings.every(({ code }) => code === 0));
}

test("processes with WORKERS on one database file keep a limit together, and their counters agree", async () => {
  const url = `file:${join(createFolder(), "gateway.db")}`;
  const gateways = await startGateways(2, { DATABASE_URL: url, WORKERS: "2" });
  const { id, key } = await makeKey(gateways[0] as GatewayProcess, 100);
  await warmUp(gateways, key);
  const admitted = 2 + (await askAtOnce(gateways, key, 600));
  assert.ok(admitted <= 100 && admitted >= 75, `${admitted}`);
  await stop(...gateways);
  assert.equal(await readCounter(url, id), admitted);
});

test("three processes on a libSQL server keep a limit, also while the server restarts and one is killed", {
  skip: withoutLibsqlServer,
}, async () => {
  const server = await startLibsqlServer();
  const gateways = await startGateways(3, { DATABASE_URL: server.url });
  const [first, second, third] = gateways as [GatewayProcess, GatewayProcess, GatewayProcess];
  const { id, key } = await makeKey(first, 100);
  await warmUp(gateways, key);
  const atOnce = 3 + (await askAtOnce(gateways, key, 1_000));
  assert.ok(atOnce <= 100 && atOnce >= 75, `${atOnce}`);

  const other = await makeKey(first, 100);
  await warmUp(gateways, other.key);
  let admitted = 3 + (await countAdmitted(gateways, other.key, 12));
  await server.kill();
  admitted += await countAdmitted(gateways, other.key, 150);
  assert.ok(admitted < 100, `${admitted}`);
  await server.start();
  admitted += await askAtOnce([first, second], other.key, 10, 76 - admitted);
  await third.stop("SIGKILL");
  await stop(first, second);
  assert.ok(admitted <= 100 && admitted > 75, `${admitted}`);
  assert.equal(await readCounter(server.url, id), atOnce);
  // the killed process may not have stored its last rows
  const counted = await readCounter(server.url, other.id);
  assert.ok(counted <= admitted && counted >= admitted - 34, `${counted} of ${admitted}`);
  await server.kill();
});

test("nodes that share a libSQL server admit as those that share a file", { skip: withoutLibsqlServer }, async () => {
  const server = await startLibsqlServer();
  await withNodes(
    3,
    async (nodes) => {
      for (let seed = 20; seed < 30; seed++) {
        const admitted = await race(nodes, seed);
        assert.ok(admitted <= 100 && admitted >= 75, `seed ${seed}: ${admitted}`);
      }
    },
    server.url,
  );
  await server.kill();
});

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { toHex } from "../../src/lib/base64.ts";
import { createLimit } from "../policies/store-conformance.ts";
import { createCertificate } from "../support/certificate.ts";
import { eventually } from "../support/eventually.ts";
import { masterKeys } from "../support/gateway.ts";
import {
  createFolder,
  fakeAdminKey,
  type GatewayProcess,
  runCommand,
  runtimeCommand,
  startGatewayProcess,
} from "../support/process.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis.ts";
import { createInstallation, startNode, untilKnown } from "../support/redis-store.ts";

const options = { skip: !hasRedis };
let redis: RedisServer;
before(async () => {
  if (hasRedis) redis = await startRedis();
});
after(() => redis?.kill());

const [processes, seeds] = [3, 20];

test(`${processes} processes are granted what a limit allows, with ${seeds} seeds`, options, async () => {
  const installation = createInstallation();
  const args = [redis.url, toHex(installation.key), String(processes), String(seeds)];
  const command = runtimeCommand("tests/support/limits-process.ts");
  const ended = await Promise.all(Array.from({ length: processes }, () => runCommand(args, { command })));
  const granted = ended.flatMap(({ code, stdout, output }): { seed: number; requests: number; cost: number }[] => {
    assert.equal(code, 0, output);
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  });
  const { store } = await startNode(redis, installation);
  for (let seed = 0; seed < seeds; seed++) {
    const ofSeed = granted.filter((one) => one.seed === seed);
    assert.equal(ofSeed.length, processes);
    const requests = ofSeed.reduce((sum, one) => sum + one.requests, 0);
    const cost = ofSeed.reduce((sum, one) => sum + one.cost, 0);
    assert.equal(requests, 100, `seed ${seed}`);
    // refused below 20 that are left; beyond the limit goes what one request was not granted of its 50
    assert.ok(cost >= 1_000 - 20 && cost <= 1_000 + 50, `seed ${seed}: ${cost}`);
    const holds = async (id: string, counts: "requests" | "cost", used: number) => {
      const state = await store.read(createLimit({ id: `${id}-${seed}`, counts }), "b");
      return state.used === used && state.reserved === 0;
    };
    await eventually(`counters of seed ${seed}`, async () => {
      return (await holds("requests", "requests", 100)) && (await holds("cost", "cost", cost));
    });
  }
  await store.close();
});

test("a process counts in Redis over TLS, if it trusts the certificate", options, async () => {
  const certificate = createCertificate();
  const server = await startRedis({ password: "fake-password-of-redis", certificate });
  const path = join(createFolder(), "authority.pem");
  writeFileSync(path, certificate.authority);
  const command = runtimeCommand("tests/support/limits-process.ts");
  const args = [server.url, toHex(createInstallation().key), "1", "1"];
  const env = { NODE_EXTRA_CA_CERTS: path, DENO_CERT: path };
  const { code, stdout, output } = await runCommand(args, { command, env });
  assert.equal(code, 0, output);
  assert.equal(JSON.parse(stdout).requests, 100);
  assert.ok(((await server.send("KEYS", "gateway:*")) as unknown[]).length > 0); // as the command says
  await server.kill();
});

/** Requests a chat; resolves to the status. */
async function chat({ url, workspaceKey }: GatewayProcess): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-gateway-api-key": workspaceKey, "x-gateway-provider": "echo", "content-type": "application/json" },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
  return response.status;
}

/** Creates a budget of requests for the whole workspace. */
async function createBudget({ url }: GatewayProcess, most: number): Promise<void> {
  const response = await fetch(`${url}/v1/policies/usage-limits`, {
    method: "POST",
    headers: { "x-gateway-api-key": fakeAdminKey, "content-type": "application/json" },
    body: JSON.stringify({
      workspace_id: "default",
      conditions: [{ key: "provider", value: "echo" }],
      group_by: [{ key: "workspace_id" }],
      type: "requests",
      credit_limit: most,
    }),
  });
  assert.equal(response.status, 200, await response.text());
}

/** Gateways over one database and one Redis, with a budget of requests. */
async function startGateways(database: string, url: string, most: number): Promise<GatewayProcess[]> {
  const env = { DATABASE_URL: database, GATEWAY_MASTER_KEYS: masterKeys, REDIS_URL: url };
  const first = await startGatewayProcess({ env });
  await createBudget(first, most);
  const others = Array.from({ length: processes - 1 }, () => startGatewayProcess({ env }));
  return [first, ...(await Promise.all(others))];
}

/** What all buckets in a Redis hold. */
async function readShared(server: RedisServer): Promise<unknown> {
  const script = `local found = {}
    for _, key in ipairs(redis.call('KEYS', 'gateway:*')) do
      if redis.call('TYPE', key).ok == 'hash' then
        for _, value in ipairs(redis.call('HMGET', key, 'used', 'reserved')) do found[#found + 1] = value end
      end
    end
    return found`;
  return server.send("EVAL", script, 0);
}

test("gateways that lose Redis, and then find it emptied, keep a budget and answer", options, async () => {
  const server = await startRedis();
  const url = `file:${join(createFolder(), "gateway.db")}`;
  const most = 500;
  const gateways = await startGateways(url, server.url, most);
  const [nodesKey] = (await server.send("KEYS", "gateway:*:nodes")) as string[]; // as the command says
  await untilKnown(server, nodesKey ?? "", processes);
  const statuses: number[] = [];
  let isOver = false;
  const load = gateways.flatMap((gateway) =>
    Array.from({ length: 3 }, async () => {
      while (!isOver) {
        statuses.push(await chat(gateway));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }),
  );
  const more = (count: number, what: string) => {
    const from = statuses.length;
    return eventually(what, async () => statuses.length >= from + count);
  };
  await more(40, "requests before the outage");
  await server.kill();
  await more(60, "requests without Redis");
  await server.restart();
  await eventually("a gateway that is back", async () => JSON.stringify(await readShared(server)) !== "[]");
  await more(60, "requests after the outage");
  await server.send("FLUSHALL");
  await eventually(
    "a budget that is used up",
    async () => statuses.slice(-45).every((status) => status === 412),
    60_000,
  );
  isOver = true;
  await Promise.all(load);
  assert.deepEqual(new Set(statuses), new Set([200, 412]));
  const admitted = statuses.filter((status) => status === 200).length;
  // no process may use more than its share without Redis: together at most as much again
  assert.ok(admitted >= most && admitted <= 2 * most, `${admitted} of ${most}`);
  const database = await openDatabase({ url });
  let held: unknown;
  await eventually(
    `counters of ${admitted} requests`,
    async () => {
      const { rows } = await database.read("SELECT used FROM limit_counters");
      held = [rows.map(({ used }) => String(used)), await readShared(server)];
      return JSON.stringify(held) === JSON.stringify([[String(admitted)], [String(admitted), "0"]]);
    },
    60_000,
  ).catch((error) => assert.fail(`${error.message}; they are ${JSON.stringify(held)}`));
  await database.close();
  for (const gateway of gateways) {
    assert.match(gateway.output(), /Cannot count in Redis/);
    await gateway.stop();
  }
  await server.kill();
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { connectRedis } from "../../src/serve/redis.ts";
import { adminKey, createRandom, createTestGateway, type TestGateway } from "../support/gateway.ts";
import { startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { isCluster } from "../support/sample.ts";
import { openSlowLink } from "../support/slow-link.ts";

const withoutServers = withoutLibsqlServer || (hasRedis ? false : "no Redis is installed");
/** Bursts, each with another seed. */
const seeds = isCluster ? 50 : 4;
/** One way to the database. With `test:cluster` Redis has its default of 100 ms, and the way back and forth takes longer. */
const delayMs = isCluster ? 60 : 450;
const redisMs = isCluster ? undefined : 800;

const chat = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };

/** A key with a limit on requests. */
async function makeKey({ gateway }: TestGateway, value: number): Promise<string> {
  const body = {
    name: "Limited",
    workspace_id: "default",
    scopes: ["completions.write"],
    rate_limits: [{ type: "requests", unit: "rpw", value }],
  };
  const response = await gateway.fetch(
    new Request("http://gateway.test/v1/api-keys/workspace/service", {
      method: "POST",
      headers: { "x-gateway-api-key": adminKey, "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  assert.equal(response.status, 200);
  return JSON.parse(await response.text()).key;
}

async function ask({ gateway }: TestGateway, key: string): Promise<number> {
  const headers = { "x-gateway-api-key": key, "content-type": "application/json", "x-gateway-provider": "echo" };
  const init = { method: "POST", headers, body: JSON.stringify(chat) };
  const response = await gateway.fetch(new Request("http://gateway.test/v1/chat/completions", init));
  await response.body?.cancel();
  return response.status;
}

/** Requests that gateways admitted because Redis did not answer in time: on a busy machine its default is short. */
async function readByShares(gateways: readonly TestGateway[]): Promise<number> {
  let sum = 0;
  for (const { gateway } of gateways) {
    const headers = { "x-gateway-api-key": adminKey };
    const text = await (await gateway.fetch(new Request("http://gateway.test/metrics", { headers }))).text();
    sum += Number(/^gateway_requests_by_shares_total (\d+)$/m.exec(text)?.[1]);
  }
  return sum;
}

test("gateways with Redis and a database that is far away admit exactly what a new limit allows", {
  skip: withoutServers,
  timeout: 600_000,
}, async () => {
  const [server, redis] = [await startLibsqlServer(), await startRedis()];
  const link = await openSlowLink(server.url, 0);
  const gateways: TestGateway[] = [];
  for (let index = 0; index < 3; index++) {
    gateways.push(
      await createTestGateway({
        database: link.url,
        connectRedis,
        redis: { url: redis.url, ...(redisMs !== undefined && { timeoutMs: redisMs }) },
      }),
    );
  }
  const [first] = gateways as [TestGateway];
  link.delayMs = delayMs;
  let busy = 0;
  for (let seed = 0; seed < seeds; seed++) {
    const before = await readByShares(gateways);
    const random = createRandom(seed);
    const limit = 5 + Math.floor(random() * 40);
    const key = await makeKey(first, limit);
    const asked = Array.from({ length: limit + 30 }, () =>
      ask(gateways[Math.floor(random() * gateways.length)] ?? first, key),
    );
    const statuses = await Promise.all(asked);
    const admitted = statuses.filter((status) => status === 200).length;
    const byShares = (await readByShares(gateways)) - before;
    if (byShares > 0) busy++;
    if (byShares === 0 || !isCluster) assert.equal(admitted, limit, `seed ${seed}`);
    else assert.ok(admitted <= limit + byShares, `seed ${seed}: ${admitted} of ${limit}, ${byShares} without Redis`);
    assert.ok(
      statuses.every((status) => status === 200 || status === 429),
      `seed ${seed}: ${statuses}`,
    );
  }
  console.log(`# ${seeds - busy} of ${seeds} bursts exact, in ${busy} Redis took longer than it may`);
  const warnings = gateways.flatMap((gateway) => gateway.warnings);
  assert.ok(isCluster || warnings.length === 0, warnings.join("\n"));
  for (const gateway of gateways) await gateway.close();
  await link.close();
  await redis.kill();
  await server.kill();
});

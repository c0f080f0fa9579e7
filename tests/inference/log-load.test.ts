import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "../../src/db/client.ts";
import type { GatewayOptions } from "../../src/gateway/options.ts";
import { createLogThread } from "../../src/serve/log-thread.ts";
import { adminKey, type TestGateway } from "../support/gateway.ts";
import {
  becomes,
  chat,
  createKey,
  dollarsOfCall,
  holdCall,
  type LimitParts,
  usedBy,
  withGateway,
} from "../support/limited.ts";

type CreateLogWriter = NonNullable<GatewayOptions["createLogWriter"]>;

/** The writer of hosts, before whose writes something happens. */
const writerAfter =
  (before: () => Promise<void>): CreateLogWriter =>
  (...parts) => {
    const writer = createLogThread(...parts);
    return {
      ...writer,
      async append(records, foreseen) {
        await before();
        return writer.append(records, foreseen);
      },
    };
  };

/** Rows of chats, of reports, and what is stored of the budget of the key with an id. */
async function readStored(database: Database, keyId: string) {
  const { rows: found } = await database.read(
    `SELECT value ->> 'operation' AS operation, value ->> 'api_key_id' AS key, value ->> '$.error.message' AS message,
      value ->> 'status' AS status FROM log_batches, json_each(details)`,
  );
  const { rows: sums } = await database.read("SELECT coalesce(sum(used), 0) AS nanos FROM limit_counters");
  const of = (operation: string) => found.filter((row) => row.operation === operation);
  return {
    chats: of("chat").filter(({ key, status }) => key === keyId && Number(status) === 200).length,
    others: of("chat").filter(({ key }) => key !== keyId).length,
    refused: of("chat").filter(({ status }) => Number(status) === 503).length,
    shed: of("requests_shed").reduce((sum, { message }) => sum + Number.parseInt(String(message), 10), 0),
    lost: of("rows_lost").length,
    dollars: Number(sums[0]?.nanos) / 1e9,
  };
}

async function readMetric({ gateway }: Pick<TestGateway, "gateway">, name: string): Promise<number> {
  const headers = { "x-gateway-api-key": adminKey };
  const response = await gateway.fetch(new Request("http://gateway.test/metrics", { headers }));
  const found = new RegExp(`^${name} (\\d+)$`, "m").exec(await response.text());
  return Number(found?.[1]);
}

/** Sends chats with a key, a few at a time; returns how many had each status. */
async function send(gateway: TestGateway, key: string, count: number): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let left = count;
  const loop = async () => {
    while (left-- > 0) {
      const { status } = await chat({ gateway }, key);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 40 }, loop));
  return statuses;
}

const budget = { usage_limits: { type: "cost", credit_limit: 10_000 } };
const isClose = (one: number, other: number) => Math.abs(one - other) < 1e-6;

test("a slow writer loses no row of an answered request, and the budget in memory is the stored one", async () => {
  let writes = 0;
  const createLogWriter = writerAfter(async () => {
    writes++;
    await new Promise((resolve) => setTimeout(resolve, 100));
  });
  await withGateway(
    async ({ gateway }) => {
      const { id, key } = await createKey(gateway, budget);
      const count = 1_500;
      assert.deepEqual([...(await send(gateway, key, count))], [[200, count]]);
      const file = await gateway.openFile();
      const stored = await becomes(
        () => readStored(file, id),
        ({ chats }) => chats === count,
      );
      assert.equal(stored.lost, 0);
      assert.ok(isClose(stored.dollars, count * dollarsOfCall), `${stored.dollars} dollars are stored`);
      assert.ok(isClose(await usedBy(gateway, id), stored.dollars));
      assert.ok(writes < count / 64, `${writes} writes: rows wait for each other while writes are slow`);
    },
    { inFile: true, createLogWriter },
  );
});

test("without room for rows, requests with limits are refused first and then all, and no row is lost", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const use = async ({ gateway }: LimitParts) => {
    const { id, key } = await createKey(gateway, budget);
    const free = await createKey(gateway);
    const limited = await send(gateway, key, 300);
    assert.equal((limited.get(200) ?? 0) + (limited.get(503) ?? 0), 300);
    assert.ok((limited.get(503) ?? 0) > 50, "requests with limits are refused");
    const refused = await chat({ gateway }, key);
    assert.deepEqual([refused.status, refused.code], [503, "log_rows_waiting"]);
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    assert.equal((await chat({ gateway }, free.key)).status, 200, "others still run");
    const others = await send(gateway, free.key, 300);
    assert.ok((others.get(200) ?? 0) > 50 && (others.get(503) ?? 0) > 50, "then all are refused");
    assert.ok((await usedBy(gateway, id)) > 0, "what leaves no row is served");
    release();
    const file = await gateway.openFile();
    const admitted = limited.get(200) ?? 0;
    const sheds = (limited.get(503) ?? 0) + 1 + (others.get(503) ?? 0);
    const stored = await becomes(
      () => readStored(file, id),
      (now) => now.chats === admitted && now.shed === sheds,
    );
    assert.deepEqual([stored.lost, stored.refused], [0, 0]);
    assert.equal(stored.others, 1 + (others.get(200) ?? 0));
    assert.ok(isClose(stored.dollars, admitted * dollarsOfCall), `${stored.dollars} dollars are stored`);
    assert.ok(isClose(await usedBy(gateway, id), stored.dollars));
    assert.equal(await readMetric(gateway, "gateway_log_requests_refused_total"), sheds);
    assert.equal(await readMetric(gateway, "gateway_log_rows_dropped_total"), 0);
    assert.ok(gateway.warnings.some((line) => /^Too many log rows wait: 1 requests are refused/.test(line)));
    assert.equal((await chat({ gateway }, key)).status, 200, "and then served again");
  };
  const options = { inFile: true, logWaiting: { rows: 400 }, createLogWriter: writerAfter(() => released) };
  // what waits for the writer would hold the end of the gateway
  await withGateway((parts) => use(parts).finally(release), options);
});

test("requests that are refused for their number take no room from rows of others", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const held = holdCall(26);
  const use = async ({ gateway }: LimitParts) => {
    const { id, key } = await createKey(gateway);
    for (let sent = 0; sent < 25; sent++) assert.equal((await chat({ gateway }, key)).status, 200);
    const running = chat({ gateway }, key);
    await held.started;
    const refused = await chat({ gateway }, key);
    assert.deepEqual([refused.status, refused.code], [503, "too_many_concurrent_requests"]);
    held.finish();
    assert.equal((await running).status, 200);
    release();
    const file = await gateway.openFile();
    const stored = await becomes(
      () => readStored(file, id),
      ({ chats, shed }) => chats === 26 && shed === 1,
    );
    assert.equal(stored.refused, 0);
  };
  const options = {
    inFile: true,
    logWaiting: { rows: 40 },
    concurrency: { perKey: 1 },
    transport: held.transport,
    createLogWriter: writerAfter(() => released),
  };
  await withGateway((parts) => use(parts).finally(release), options);
});

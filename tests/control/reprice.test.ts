import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { repriceLogs } from "../../src/control/reprice.ts";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import { createLimitCounterStore } from "../../src/db/stores/limit-counters.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { createRepricingStore, type RepricingStore } from "../../src/db/stores/repricing.ts";
import { createIdFactory, timeOfId } from "../../src/lib/ids.ts";
import { packCharged } from "../../src/logs/charged.ts";
import type { LimitCounter, LogDetails, LoggedUsage } from "../../src/schemas/logs.ts";
import { call, done } from "../support/control.ts";
import {
  createRandom,
  createTemporaryFolder,
  createTestClock,
  createTestGateway,
  requestHeaders,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { becomes, usedBy } from "../support/limited.ts";
import { plainDetails } from "../support/log-record.ts";
import { rounds } from "../support/sample.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const dayMs = 86_400_000;
const start = Date.UTC(2026, 0, 15);
const period = { from: start, to: start + dayMs, dryRun: false };

const usageOf = (input: number, output: number): LoggedUsage => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cache_write_tokens: 0,
  audio_input_tokens: 0,
  audio_output_tokens: 0,
});
/** Of gpt-4o, in cents: 100 tokens at 2,500 nano-dollars and 10 at 10,000. */
const todaysCents = 350_000 / 1e7;

const counter = (limitId: string, windowEnd: number | null = null): LimitCounter => ({
  limitId,
  bucket: "b",
  windowStart: windowEnd === null ? 0 : windowEnd - dayMs,
  windowEnd,
});

interface Row {
  changes?: Partial<LogDetails>;
  charged?: readonly LimitCounter[];
}

const now = start;
const createId = createIdFactory(() => start);

/** A row of gpt-4o whose cost was half of today's. */
function detailsOf({ changes }: Row): LogDetails {
  const priced = { cost: todaysCents / 2, priced: true, price_source: "list" as const };
  const model = { provider: "openai", model: "gpt-4o", usage: usageOf(100, 10) };
  return { ...plainDetails, id: createId(), ...model, ...priced, ...changes };
}

/** Stores rows as the log does, with what they added to counters. */
async function append(database: Database, rows: readonly Row[]): Promise<LogDetails[]> {
  const details = rows.map(detailsOf);
  const ids = details.map(({ id }) => id).sort();
  const counted = rows.flatMap(({ charged = [] }, index) =>
    charged.map((one) => ({ ...one, used: Math.round((details[index]?.cost ?? 0) * 1e7) })),
  );
  const sums = new Map<string, (typeof counted)[number]>();
  for (const one of counted.filter(({ used }) => used !== 0)) {
    const name = JSON.stringify([one.limitId, one.windowStart]);
    sums.set(name, { ...one, used: one.used + (sums.get(name)?.used ?? 0) });
  }
  await createLogStore(database).append([
    {
      organisationId: "o",
      workspaceId: "w",
      firstId: ids[0] ?? "",
      lastId: ids.at(-1) ?? "",
      details: JSON.stringify(details),
      counted: sums.size === 0 ? "" : JSON.stringify([...sums.values()]),
      charged: packCharged(rows.map(({ charged = [] }) => charged)),
      content: "[]\n[]\n",
    },
  ]);
  return details;
}

async function open(url = ":memory:"): Promise<Database> {
  const database = await openDatabase({ url });
  await migrate(database);
  return database;
}

async function rowsOf(database: Database): Promise<LogDetails[]> {
  const { rows } = await database.read("SELECT value FROM log_batches, json_each(details) ORDER BY value ->> 'id'");
  return rows.map(({ value }) => JSON.parse(String(value)));
}

/** What was used of each limit, by its id and the end of its window. */
async function countersOf(database: Database): Promise<Record<string, number>> {
  const { rows } = await database.read("SELECT limit_id, window_end, used FROM limit_counters ORDER BY limit_id");
  return Object.fromEntries(rows.map((row) => [`${row.limit_id} ${row.window_end}`, Number(row.used)]));
}

const reprice = (
  database: Database,
  options: Partial<Parameters<typeof repriceLogs>[0]> = {},
  store: RepricingStore = createRepricingStore(database),
) => repriceLogs({ ...period, ...options }, { store, stores: createControlStores(database), now: () => now });

const nothingSkipped = { not_priced: 0, discarded: 0, without_price: 0, integration_gone: 0, earlier_version: 0 };

test("repriceLogs() changes costs, keeps the former ones, and moves the counters of windows that last", async () => {
  const database = await open();
  const [lasting, ended] = [counter("week", start + 2 * dayMs), counter("week", start)];
  const rows = [
    { charged: [lasting, counter("ever")] },
    { charged: [ended] },
    { changes: { cost: null, priced: false, answered_model: "x" }, charged: [counter("unpriced", start + 1)] },
    { changes: { cost: todaysCents }, charged: [counter("ever")] },
    {},
  ];
  await append(database, rows);
  const summary = await reprice(database);
  assert.deepEqual(summary, {
    from: "2026-01-15T00:00:00.000Z",
    to: "2026-01-16T00:00:00.000Z",
    model: null,
    dry_run: false,
    rows: 5,
    repriced: 4,
    unchanged: 1,
    skipped: nothingSkipped,
    former_cost: 0.0525,
    cost: 0.14,
    difference: 0.0875,
    cost_currency: "USD",
    counters: 3,
  });
  const shown = (await rowsOf(database)).map(({ cost, former_cost: former, priced, price_source: source }) => {
    assert.deepEqual([priced, source], [true, "list"]);
    return [cost, former];
  });
  const half = [todaysCents, todaysCents / 2];
  assert.deepEqual(shown, [half, half, [todaysCents, null], [todaysCents, undefined], half]);
  assert.deepEqual(await countersOf(database), {
    "ever null": 700_000,
    [`unpriced ${start + 1}`]: 350_000,
    [`week ${start + 2 * dayMs}`]: 350_000,
    [`week ${start}`]: 175_000,
  });
  await database.close();
});

test("repriceLogs() run again changes nothing", async () => {
  const database = await open();
  await append(database, [{ charged: [counter("ever")] }, { changes: { cost: null, priced: false } }]);
  await reprice(database);
  const before = [await rowsOf(database), await countersOf(database)];
  const again = await reprice(database);
  assert.deepEqual([again.rows, again.repriced, again.unchanged, again.difference], [2, 0, 2, 0]);
  assert.deepEqual([await rowsOf(database), await countersOf(database)], before);
  await database.close();
});

test("repriceLogs() with dryRun returns the same and writes nothing", async () => {
  const database = await open();
  await append(database, [{ charged: [counter("ever")] }, { changes: { status: 500, cost: 0, usage: null } }]);
  const tables = async () => [await rowsOf(database), await countersOf(database)];
  const before = await tables();
  const dry = await reprice(database, { dryRun: true });
  assert.deepEqual(await tables(), before);
  const wet = await reprice(database);
  assert.deepEqual({ ...dry, dry_run: false }, wet);
  assert.notDeepEqual(await tables(), before);
  await database.close();
});

test("repriceLogs() takes the requests that began in the period, and those of one model", async () => {
  const database = await open();
  for (const time of [start - 1, start, start + dayMs - 1, start + dayMs]) {
    const createIdThen = createIdFactory(() => time);
    await append(database, [
      { changes: { id: createIdThen() } },
      { changes: { id: createIdThen(), model: "gpt-4o-2024-08-06" } },
    ]);
  }
  assert.equal((await reprice(database, { model: "gpt-4o" })).repriced, 2);
  assert.equal((await reprice(database, { model: "GPT-4o" })).rows, 0);
  assert.equal((await reprice(database)).repriced, 2);
  const former = (await rowsOf(database)).map((row) => row.former_cost !== undefined);
  assert.deepEqual(former, [false, false, true, true, true, true, false, false]);
  await database.close();
});

const { cost: _, priced: __, ...ofEarlierVersion } = detailsOf({});
for (const [name, changes, reason] of [
  ["a refused request", { status: 412, usage: null, cost: 0, price_source: undefined }, "not_priced"],
  ["a free request", { provider: "echo", cost: 0, price_source: undefined }, "not_priced"],
  ["a cost that the provider reported", { price_source: "provider" }, "not_priced"],
  ["a sum of several prices", { price_source: undefined }, "not_priced"],
  ["a batch of a provider", { operation: "collectBatch", cost: null, priced: false }, "not_priced"],
  ["a request with a discarded response", { discarded_cost: 0.01 }, "discarded"],
  ["one whose response has no price", { discarded_cost: 0.01, cost: null, priced: false }, "discarded"],
  ["a model without a price", { model: "in-house", cost: null, priced: false }, "without_price"],
  ["a model that lost its price", { model: "in-house" }, "without_price"],
  ["an integration that was deleted", { integration_id: crypto.randomUUID() }, "integration_gone"],
] as const) {
  test(`repriceLogs() leaves ${name} as it is: ${reason}`, async () => {
    const database = await open();
    const rows = await append(database, [{ changes: changes as Partial<LogDetails>, charged: [counter("ever")] }]);
    const counters = await countersOf(database);
    const summary = await reprice(database);
    assert.deepEqual([summary.repriced, summary.skipped], [0, { ...nothingSkipped, [reason]: 1 }]);
    assert.deepEqual(await rowsOf(database), JSON.parse(JSON.stringify(rows)));
    assert.deepEqual(await countersOf(database), counters);
    await database.close();
  });
}

test("repriceLogs() leaves rows of earlier versions as they are", async () => {
  const database = await open();
  await append(database, [{}]);
  await database.write([
    { sql: "UPDATE log_batches SET details = ?", args: [JSON.stringify([{ ...ofEarlierVersion, id: createId() }])] },
  ]);
  const before = await rowsOf(database);
  assert.deepEqual((await reprice(database)).skipped, { ...nothingSkipped, earlier_version: 1 });
  assert.deepEqual(await rowsOf(database), before);
  await database.close();
});

for (const [name, changes, nanos] of [
  ["an estimated stream", { estimated: true, status: 499, stream: true }, 350_000],
  ["a service tier", { model: "gpt-5", usage: { ...usageOf(100, 10), service_tier: "flex" } }, (125_000 + 100_000) / 2],
  ["the model of the response", { model: "my-deployment", answered_model: "gpt-4o" }, 350_000],
  [
    "a router",
    { provider: "azure-openai", model: "model-router", answered_model: "gpt-5" },
    100 * 1_250 + 10 * 10_000 + 100 * 140,
  ],
  ["seconds", { model: "whisper-1", usage: { ...usageOf(0, 0), units: { seconds: 60 } } }, 6_000_000],
] as const) {
  test(`repriceLogs() prices ${name}`, async () => {
    const database = await open();
    await append(database, [{ changes: changes as Partial<LogDetails> }]);
    assert.equal((await reprice(database)).repriced, 1);
    const [row] = await rowsOf(database);
    assert.deepEqual([row?.cost, row?.former_cost, row?.price_source], [nanos / 1e7, todaysCents / 2, "list"]);
    await database.close();
  });
}

test("repriceLogs() does not take more from a counter than it holds", async () => {
  const database = await open();
  await append(database, [{ changes: { cost: 2 * todaysCents }, charged: [counter("ever")] }]);
  await database.write(["UPDATE limit_counters SET used = 100"]);
  assert.equal((await reprice(database)).difference, -todaysCents);
  assert.deepEqual(await countersOf(database), { "ever null": 0 });
  await database.close();
});

test("repriceLogs() adds nothing of requests that ended before a counter was reset", async () => {
  const database = await open();
  const budget = counter("ever");
  await append(database, [{ charged: [budget] }]);
  const [row] = await rowsOf(database);
  // the request lasted for a millisecond
  const ended = timeOfId(row?.id ?? "") + 1;
  const { reset, readCorrected } = createLimitCounterStore(database);
  await database.write([reset("o", { ...budget, used: -175_000 }, ended + 1)]);
  await append(database, [{ changes: { duration_ms: 2 }, charged: [budget] }]);
  assert.equal((await reprice(database)).repriced, 2);
  assert.deepEqual(await countersOf(database), { "ever null": 350_000 });
  assert.deepEqual(
    (await readCorrected(0)).map(({ limitId, corrected }) => [limitId, corrected]),
    [["ever", 175_000]],
  );
  await database.close();
});

/** A store whose process ends before or after its nth replacement. */
function killedStore(database: Database, replacements: number, isAfter: boolean): RepricingStore {
  const store = createRepricingStore(database);
  let left = replacements;
  const end = () => {
    throw new Error("killed");
  };
  return {
    ...store,
    async replace(...parts) {
      if (--left < 0 && !isAfter) end();
      const isDone = await store.replace(...parts);
      return left < 0 ? end() : isDone;
    },
  };
}

/** Sum of the costs of the rows that count in each lasting counter, in nano-dollars. */
function expectedCounters(rows: readonly LogDetails[], charges: readonly (readonly LimitCounter[])[]) {
  const sums = new Map<string, number>();
  for (const [index, { cost }] of rows.entries()) {
    for (const { limitId, windowEnd } of charges[index] ?? []) {
      const name = `${limitId} ${windowEnd}`;
      sums.set(name, (sums.get(name) ?? 0) + Math.round((cost ?? 0) * 1e7));
    }
  }
  return Object.fromEntries([...sums].filter(([, used]) => used > 0).sort());
}

test("counters equal the sum of the rows after any number of killed, repeated and parallel repricings", async () => {
  const random = createRandom(11);
  const folder = createTemporaryFolder();
  for (let round = 0; round < rounds(15); round++) {
    const url = `file:${join(folder.path, `${round}.db`)}`;
    const [database, other] = [await open(url), await open(url)];
    const charges: LimitCounter[][] = [];
    for (let batch = 0; batch < 8; batch++) {
      const rows = Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
        const charged = ["a", "b", "c"].flatMap((id) => (random() < 0.5 ? [counter(id, start + dayMs)] : []));
        charges.push(charged);
        const kind = random();
        const unpriced = { cost: null, priced: false };
        const tokens = usageOf(Math.floor(random() * 1_000), 1 + Math.floor(random() * 100));
        return { changes: { usage: tokens, ...(kind < 0.3 && unpriced) } as Partial<LogDetails>, charged };
      });
      await append(database, rows);
    }
    const killed = killedStore(database, Math.floor(random() * 8), random() < 0.5);
    await assert.rejects(reprice(database, {}, killed), /^Error: killed$/);
    const [one, two] = await Promise.all([reprice(database), reprice(other)]);
    assert.equal(one.rows, charges.length);
    assert.deepEqual([two.rows, (await reprice(other)).repriced], [charges.length, 0]);
    assert.deepEqual(await countersOf(database), expectedCounters(await rowsOf(database), charges));
    await Promise.all([database.close(), other.close()]);
  }
  folder.remove();
});

/** A gateway with a stored provider whose model has no price yet, and a key with a budget of one dollar. */
async function startStored(database: string, upstreamUrl: string) {
  const clock = createTestClock();
  const gateway = await createTestGateway({ database, clock });
  const body = {
    name: "own",
    slug: "own",
    ai_provider_id: "openai",
    key: "fake-stored-credential-1234567890",
    configurations: { custom_host: `${upstreamUrl}/v1` },
    create_default_provider: true,
    default_provider_slug: "own-provider",
  };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body }));
  await setPrice(gateway, undefined);
  const limits = { usage_limits: { type: "cost", credit_limit: 1, periodic_reset: "monthly" } };
  const scopes = scopesOfKind("workspace-service");
  const made = { name: "limited", workspace_id: "default", scopes, ...limits };
  const { id, key } = await done(
    call<{ id: string; key: string }>(gateway, "POST /api-keys/workspace/service", { body: made }),
  );
  return { gateway, id, key, clock };
}

/** Sets the price of the model, in cents per token. */
async function setPrice(gateway: TestGateway, price: number | undefined): Promise<void> {
  const pricing = price !== undefined && {
    pricing_config: { type: "static", pay_as_you_go: { request_token: { price }, response_token: { price } } },
  };
  const models = [{ slug: "in-house-1", enabled: true, is_custom: true, ...pricing }];
  await done(call(gateway, "PUT /integrations/own/models", { key: workspaceKey, body: { models } }));
}

async function chat(gateway: TestGateway, key: string) {
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: requestHeaders({ "x-gateway-api-key": key, "x-gateway-provider": "@own-provider" }),
    body: JSON.stringify({ model: "in-house-1", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
  return { status: response.status, row: await waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "") };
}

/** Prices all requests again, as the command beside a gateway does. */
async function repriceFile(url: string, time: number) {
  const database = await openDatabase({ url });
  try {
    const parts = { store: createRepricingStore(database), stores: createControlStores(database), now: () => time };
    return await repriceLogs({ from: 0, to: Date.UTC(2100, 0, 1), dryRun: false }, parts);
  } finally {
    await database.close();
  }
}

test("a model that gets a price later uses up the budgets of its requests, also in a gateway that runs", async () => {
  const usage = { prompt_tokens: 60, completion_tokens: 40, total_tokens: 100 };
  const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
  const upstream = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "chat.completion", model: "in-house-1", choices, usage }));
  });
  const folder = createTemporaryFolder();
  const url = `file:${join(folder.path, "gateway.db")}`;
  const { gateway, id, key, clock } = await startStored(url, upstream.url);
  const { row } = await chat(gateway, key);
  assert.deepEqual([row.cost, row.priced], [null, false]);
  // 100 tokens at half a cent
  await setPrice(gateway, 0.5);
  const first = await repriceFile(url, clock.now());
  assert.deepEqual([first.repriced, first.cost, first.counters], [1, 50, 1]);
  const repriced = await waitForLog(gateway, row.trace_id);
  const { cost, priced, price_source, former_cost } = repriced;
  assert.deepEqual([cost, priced, price_source, former_cost], [50, true, "integration", null]);
  assert.equal((await chat(gateway, key)).row.cost, 50);
  await setPrice(gateway, 1.5);
  assert.deepEqual((await repriceFile(url, clock.now())).difference, 200);
  await becomes(
    () => usedBy(gateway, id),
    (used) => used === 3,
  );
  assert.equal((await chat(gateway, key)).status, 412);
  await gateway.close();

  const restarted = await createTestGateway({ database: url, clock });
  assert.equal(await usedBy(restarted, id), 3);
  assert.equal((await chat(restarted, key)).status, 412);
  clock.advance(31 * dayMs);
  assert.equal((await chat(restarted, key)).status, 200);
  // the window of the first two requests is over
  await setPrice(restarted, 0.25);
  assert.equal((await repriceFile(url, clock.now())).repriced, 3);
  await becomes(
    () => usedBy(restarted, id),
    (used) => used === 0.25,
  );
  await restarted.close();
  const last = await createTestGateway({ database: url, clock });
  assert.equal(await usedBy(last, id), 0.25);
  await last.close();
  await upstream.close();
  folder.remove();
});

test("the organisation's fallback price of today applies to what had no price", async () => {
  const folder = createTemporaryFolder();
  const url = `file:${join(folder.path, "gateway.db")}`;
  const gateway = await createTestGateway({ database: url });
  const { data } = await done(call<{ data: { id: string } }>(gateway, "GET /organisations/self"));
  const fallback = { unpriced_models: "fallback", fallback_price: { input: 1, output: 2 } };
  await done(call(gateway, `PUT /organisations/${data.id}`, { body: fallback }));
  await gateway.close();
  const database = await openDatabase({ url });
  const own = { organisation_id: data.id, model: "in-house-1", answered_model: "in-house-2" };
  await append(database, [
    { changes: { ...own, cost: null, priced: false } },
    { changes: { ...own, price_source: "fallback" } },
    { changes: { ...own, price_source: "list" } },
    { changes: { organisation_id: data.id, cost: null, priced: false } },
  ]);
  const summary = await reprice(database);
  assert.deepEqual([summary.repriced, summary.skipped.without_price], [3, 1]);
  const ofFallback = [(100 * 1_000 + 10 * 2_000) / 1e7, "fallback", "in-house-2"];
  assert.deepEqual(
    (await rowsOf(database)).map((row) => [row.cost, row.price_source, row.answered_model]),
    [ofFallback, ofFallback, [todaysCents / 2, "list", "in-house-2"], [todaysCents, "list", undefined]],
  );
  await database.close();
  folder.remove();
});

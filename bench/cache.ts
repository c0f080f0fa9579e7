// Measures the cache: CPU time of a request that is served from it, relative to the same request without it; the search
// among vectors; and memory under a million keys. Prints figures and ratios.
// Usage: node scripts/run.mjs bun bench/cache.ts [--rounds 3] [--seconds 3] [--only hits,vectors,reading,memory]

import process from "node:process";
import { parseArgs } from "node:util";
import { gc } from "bun";
import { ResponseCache } from "../src/cache/response-cache.ts";
import { VectorIndex } from "../src/cache/vector-index.ts";
import { toUnit, Vectors } from "../src/cache/vectors.ts";
import { openDatabase } from "../src/db/client.ts";
import { migrate } from "../src/db/migrate.ts";
import { createCacheStore } from "../src/db/stores/cache.ts";
import { nodeMac } from "../src/serve/environment.ts";
import { cpuMicroseconds, median, rssMegabytes } from "./measure.ts";
import { cleanUp, createFolder, keys, startGateway, startUpstream, wait } from "./processes.ts";
import { scenarios } from "./scenarios.ts";
import { countFailures, ensureWrk, runWrk, type WrkTarget, writeWrkScript } from "./wrk.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "3" },
    only: { type: "string", default: "hits,vectors,reading,memory" },
  },
});
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
const parts = values.only.split(",");

/** Time a gateway gets after a run to write its last rows. */
const settleMs = 500;

/** CPU time of the small chat: without a config, with one that has no cache, and served from the cache. */
async function measureHits(): Promise<void> {
  ensureWrk();
  const small = scenarios.find(({ name }) => name === "small-32");
  if (!small) throw new Error("Cannot measure: the scenario is not there");
  const upstream = await startUpstream();
  const gateway = await startGateway("bun", { CACHE_MEMORY_MB: "64" });
  const folder = createFolder("cache");
  const targetOf = (more: Readonly<Record<string, string>>): WrkTarget => ({
    url: `http://127.0.0.1:${gateway.port}/v1${small.path}`,
    connections: small.connections,
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": keys.workspace,
      authorization: `Bearer ${keys.provider}`,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `http://127.0.0.1:${upstream.port}${small.base}`,
      ...more,
    },
    body: small.body,
  });
  const sides = {
    uncached: targetOf({}),
    hit: targetOf({ "x-gateway-cache": "simple" }),
    "hit by config": targetOf({ "x-gateway-config": '{"cache":{"mode":"simple","max_age":3600}}' }),
  };
  const found: Record<string, number[]> = {};
  let failures = 0;
  for (let round = -1; round < rounds; round++) {
    for (const [name, target] of Object.entries(sides)) {
      const before = cpuMicroseconds(gateway.pid);
      const result = await runWrk(
        target,
        writeWrkScript(folder, name.replaceAll(" ", "-"), target),
        round < 0 ? 2 : seconds,
      );
      await wait(settleMs);
      failures += countFailures(result);
      // the first round warms up
      if (round < 0) continue;
      const microseconds = (cpuMicroseconds(gateway.pid) - before) / Math.max(1, result.requests);
      found[name] = [...(found[name] ?? []), microseconds];
    }
  }
  const plain = median(found.uncached ?? []);
  for (const [name, times] of Object.entries(found)) {
    console.log(
      `${name}: ${median(times).toFixed(1)} us CPU a request, ${(median(times) / plain).toFixed(2)} of uncached`,
    );
  }
  console.log(`failures: ${failures}`);
  await gateway.stop();
  await upstream.stop();
}

/** A vector of length 1, near others by a share that all have in common. */
function createVector(dimensions: number, common: Float32Array, share: number): Float32Array<ArrayBuffer> {
  const vector = Float32Array.from({ length: dimensions }, (_, index) => {
    return share * (common[index] ?? 0) + ((1 - share) * (Math.random() - 0.5) * 3.46) / Math.sqrt(dimensions);
  });
  return toUnit(vector) ?? vector;
}

/** Milliseconds of CPU time of this process. */
function cpuMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Times of work. */
interface Times {
  /** Medians in milliseconds: by the clock, and of the processor. */
  readonly clock: number;
  readonly cpu: number;
  /**
   * Longest time during which nothing else ran, in milliseconds: by the clock or of the processor, whichever is less, in
   * the best of the batches. Other programs make the former longer, other threads and the collection of what earlier
   * measurements left the latter.
   */
  readonly gap: number;
}

/** Runs that are watched together. */
const defaultBatchSize = 10;

/** Runs work, while a timer notes when nothing else can run. */
async function timesOf(
  count: number,
  work: (round: number) => Promise<unknown>,
  batchSize = defaultBatchSize,
): Promise<Times> {
  const gaps: number[] = [];
  let gap = 0;
  let [last, lastCpu] = [performance.now(), cpuMilliseconds()];
  const tick = () => {
    const [now, cpu] = [performance.now(), cpuMilliseconds()];
    gap = Math.max(gap, Math.min(now - last, cpu - lastCpu));
    [last, lastCpu] = [now, cpu];
  };
  const beat = setInterval(tick, 1);
  const [clocks, cpus]: [number[], number[]] = [[], []];
  for (let round = 0; round < count; round++) {
    await wait(2);
    const [startedAt, cpuBefore] = [performance.now(), cpuMilliseconds()];
    await work(round);
    clocks.push(performance.now() - startedAt);
    cpus.push(cpuMilliseconds() - cpuBefore);
    if ((round + 1) % batchSize !== 0) continue;
    tick();
    gaps.push(gap);
    gap = 0;
  }
  clearInterval(beat);
  return { clock: median(clocks), cpu: median(cpus), gap: Math.min(...gaps) };
}

/** Prints whether a figure is below its bound. */
function judge(what: string, value: number, bound: number, unit: string): void {
  const verdict = value < bound ? "holds" : "DOES NOT HOLD";
  console.log(`${verdict}: ${what}: ${value.toFixed(2)} ${unit}, bound ${bound.toFixed(0)} ${unit}`);
}

const dimensions = 1_536;
const threshold = 0.95;
/** A slice of work takes 8 ms. */
const longestGapMs = 10;

/** Prints times of a search; other programs only make them longer, so the lesser of both kinds counts. */
function judgeSearch(what: string, { clock, cpu, gap }: Times, boundMs: number): void {
  console.log(`${what}: median ${clock.toFixed(2)} ms, ${cpu.toFixed(2)} ms of CPU`);
  judge(`${what}, median`, Math.min(clock, cpu), boundMs, "ms");
  judge(`${what}, longest gap`, gap, longestGapMs, "ms");
}

/** Search among the questions of one partition, one at a time and eight at a time. */
async function measureVectors(): Promise<void> {
  for (const [count, dimensions] of [
    [20_000, 1_536],
    [100_000, 256],
  ] as const) {
    const none = new Float32Array(dimensions);
    const create = () => createVector(dimensions, none, 0);
    const vectors = new Vectors(dimensions, count);
    gc(true);
    const before = rssMegabytes(process.pid);
    for (let index = 0; index < count; index++) vectors.add(String(index), create(), 1);
    const what = `${count} vectors of ${dimensions} numbers`;
    gc(true);
    const added = (rssMegabytes(process.pid) - before).toFixed(0);
    console.log(`${what}: ${added} MB of RSS, ${(vectors.bytes / 1e6).toFixed(0)} MB counted`);
    const search = () => vectors.nearest(create(), threshold, 0);
    judgeSearch(what, await timesOf(60, search), 100);
    const eight = () => Promise.all(Array.from({ length: 8 }, search));
    judgeSearch(`${what}, eight searches at a time`, await timesOf(20, eight), 800);
  }
}

/** The first search of a partition, which reads it from the database. */
async function measureReading(): Promise<void> {
  const database = await openDatabase({ url: `file:${createFolder("vectors")}/cache.db` });
  await migrate(database);
  const store = createCacheStore(database, 1);
  const place = { organisationId: "o", workspaceId: "w", namespace: "" };
  const none = new Float32Array(dimensions);
  for (let count = 0; count < 10_000; count += 20) {
    const rows = Array.from({ length: 20 }, (_, row) => {
      const vector = new Uint8Array(createVector(dimensions, none, 0).buffer);
      return { place, key: String(count + row), partition: "p", vector, storedAt: count + row, expiresAt: 20_000 };
    });
    await store.storeVectors(rows);
  }
  const read = () => {
    const index = new VectorIndex({ store, now: () => 1, bytes: 256 * 1024 * 1024 });
    return index.nearest({ place, name: "p" }, createVector(dimensions, none, 0), threshold);
  };
  const times = await timesOf(6, read, 1);
  console.log(`10,000 vectors are read from the database: ${times.clock.toFixed(0)} ms`);
  judge("10,000 vectors are read from the database, longest gap", times.gap, longestGapMs, "ms");
}

/** Memory of the process while a million different responses pass through the memory tier. */
async function measureMemory(): Promise<void> {
  const memoryBytes = 64 * 1024 * 1024;
  const store = createCacheStore(await openDatabase({ url: ":memory:" }), 1);
  const cache = new ResponseCache({
    mac: nodeMac(new Uint8Array(32)),
    now: () => 0,
    monotonic: () => 0,
    memoryBytes,
    questions: new VectorIndex({ store, now: () => 0, bytes: 1 }),
    warn() {},
  });
  const place = { organisationId: "o", workspaceId: "w", namespace: "" };
  let most = 0;
  /** Makes a million responses; what is not stored shows what making them leaves to be collected. */
  const run = async (isStored: boolean) => {
    const encoder = new TextEncoder();
    let rss = 0;
    for (let count = 0; count < 1_000_000; count++) {
      const key = (await cache.keyOf(place, { target: ["chat"], request: { count } })) ?? "";
      const body = encoder.encode(`{"content":"${"x".repeat(500 + (count % 1_000))}"}`);
      const entry = { key, body, dropped: null, cost: 1, tokens: 1, storedAt: 0, expiresAt: 1 };
      if (isStored) cache.store(place, entry, cache.epoch);
      if (count % 1_000 !== 0) continue;
      most = Math.max(most, cache.bytes);
      rss = Math.max(rss, rssMegabytes(process.pid));
      await wait(0);
    }
    return rss;
  };
  const [plain, stored] = [await run(false), await run(true)];
  console.log(`1,000,000 keys: RSS at most ${plain.toFixed(0)} MB without storing them, ${stored.toFixed(0)} MB with`);
  judge("1,000,000 keys, bytes counted", most / 1e6, memoryBytes / 1e6 + 0.01, "MB");
  judge("1,000,000 keys, RSS added by storing them", stored - plain, memoryBytes / 1e6 + 0.01, "MB");
}

try {
  if (parts.includes("hits")) await measureHits();
  if (parts.includes("memory")) await measureMemory();
  if (parts.includes("vectors")) await measureVectors();
  if (parts.includes("reading")) await measureReading();
} finally {
  cleanUp();
}

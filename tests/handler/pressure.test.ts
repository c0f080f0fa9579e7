import assert from "node:assert/strict";
import { test } from "node:test";
import { Pressure } from "../../src/context/pressure.ts";
import { readSettings } from "../../src/settings.ts";
import { findSamples, readExposition } from "../support/exposition.ts";
import { adminKey, chat, createTestGateway, readJson } from "../support/gateway.ts";

const sampleMs = 250;

/** A process whose memory and time the test sets. */
function createPressure(marks: { memoryBytes?: number; lagMs?: number; leastRunning: number }) {
  const state = { now: 0, bytes: 0 };
  const pressure = new Pressure({
    marks: { memoryBytes: undefined, lagMs: undefined, ...marks },
    residentBytes: () => state.bytes,
    monotonic: () => state.now,
  });
  const sample = (lateMs: number) => {
    state.now += sampleMs + lateMs;
    pressure.sample();
  };
  const isShed = (running: number) => {
    try {
      pressure.require(running);
      return false;
    } catch {
      return true;
    }
  };
  return { state, pressure, sample, isShed };
}

test("requests are shed while the event loop stays late, not for one pause, and never below the least number", () => {
  const { sample, isShed, pressure } = createPressure({ lagMs: 100, leastRunning: 2 });
  sample(5_000);
  assert.equal(isShed(100), false, "one pause");
  sample(200);
  sample(200);
  assert.equal(isShed(100), true);
  assert.equal(isShed(1), false);
  assert.equal(pressure.state().lagSeconds, 0.2);
  sample(0);
  assert.equal(isShed(100), false);
  assert.deepEqual([...pressure.state().shed], [["lag", 1]]);
});

test("requests are shed from the mark of memory on, until it is clearly below", () => {
  const { sample, isShed, state } = createPressure({ memoryBytes: 1_000, leastRunning: 0 });
  const at = (bytes: number) => {
    state.bytes = bytes;
    sample(0);
    return isShed(0);
  };
  assert.deepEqual([1_000, 1_001, 960, 950, 1_000].map(at), [false, true, true, false, false]);
});

test("a process beyond its memory refuses with 503 and Retry-After, answers /health, and counts what it refused", async () => {
  const stats = { residentBytes: 2_000, heapUsedBytes: 0, heapTotalBytes: 0, cpuUserSeconds: 0, cpuSystemSeconds: 0 };
  const gateway = await createTestGateway({
    processStats: () => ({ ...stats, startedAt: 0 }),
    shedding: { memoryBytes: 1_000, leastRunning: 0 },
  });
  try {
    let response = await chat(gateway);
    while (response.status === 200) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      response = await chat(gateway);
    }
    assert.equal(response.status, 503);
    assert.equal(response.headers.get("retry-after"), "1");
    assert.equal((await readJson<{ error: { code: string } }>(response)).error.code, "overloaded");
    assert.equal((await gateway.fetch("/health")).status, 200);
    stats.residentBytes = 10;
    do response = await gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } });
    while (response.status === 503);
    const shed = findSamples(readExposition(await response.text()), "gateway_shed_requests_total", { by: "memory" });
    assert.ok(Number(shed[0]?.value) >= 1);
  } finally {
    await gateway.close();
  }
});

test("/ready shows what the gateway needs, and takes the node out only for what is required", async () => {
  const gateway = await createTestGateway({ readyRequires: ["database", "log"] });
  try {
    const response = await gateway.fetch("/ready");
    assert.equal(response.status, 200);
    const { dependencies } = await readJson<{ dependencies: object }>(response);
    assert.deepEqual(dependencies, { database: "ok", limits: "exact", log: "ok" });
  } finally {
    await gateway.close();
  }
});

test("settings of load have their bounds, and 0 takes a mark away", () => {
  const { gateway } = readSettings({ SHED_MEMORY_MB: "2", SHED_LAG_MS: "0", READY_REQUIRES: "Redis, database" });
  assert.deepEqual(gateway.shedding, { memoryBytes: 2 * 1024 * 1024, lagMs: undefined });
  assert.deepEqual(gateway.readyRequires, ["redis", "database"]);
  assert.throws(() => readSettings({ READY_REQUIRES: "disk" }), /READY_REQUIRES: list some of database, redis/);
});

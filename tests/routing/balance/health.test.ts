import assert from "node:assert/strict";
import { test } from "node:test";
import { createHealthChecks } from "../../../src/routing/balance/health.ts";

const settings = {
  ask: { path: "/health" },
  intervalMs: 10_000,
  timeoutMs: 1_000,
  unhealthyThreshold: 2,
  healthyThreshold: 2,
  statusCodes: undefined,
};

test("HealthChecks follow the thresholds, the interval and the path, and end when nobody asks", async () => {
  const time = { now: 0 };
  const checks = createHealthChecks(() => time.now);
  const sent: string[] = [];
  let status = 503;
  const target = { findHost: async () => "https://one.example.com/v1", call: async () => 500 };
  const ask = () => checks.problemOf("one", settings, () => target);
  const round = async () => {
    checks.run(async (url) => {
      sent.push(url);
      return status;
    });
    await new Promise((resolve) => setTimeout(resolve, 0));
    time.now += 10_000;
    return ask();
  };
  assert.equal(ask(), undefined);
  assert.deepEqual([await round(), await round()], [undefined, "status 503"]);
  assert.deepEqual(checks.counts(), { healthy: 0, unhealthy: 1 });
  status = 204;
  assert.deepEqual([await round(), await round()], ["status 503", undefined]);
  assert.deepEqual(sent, Array(4).fill("https://one.example.com/health"));
  time.now -= 5_000;
  await round();
  assert.equal(sent.length, 4, "the interval is not over");
  time.now += 10 * 60_000 + 1;
  checks.run(async () => 200);
  assert.deepEqual(checks.counts(), { healthy: 0, unhealthy: 0 });
});

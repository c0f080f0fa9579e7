import assert from "node:assert/strict";
import { test } from "node:test";
import { p95, shareOf, simulate, simulatedTargets } from "../../support/balance-simulation.ts";

const [seconds, requestsPerSecond] = [90, 40];
const world = { seconds, requestsPerSecond, seed: 20_261_127 };
const byWeight = p95(simulate({ ...world, strategy: {} }));
/** Twice the share by weight, which is the limit of the best of two, with room for chance. */
const bound = (2 / simulatedTargets().length) * 1.15;

for (const choose of ["least_busy", "lowest_latency"]) {
  test(`${choose} has at most 0.6 of the p95 by weight, and no target gets more than twice its share`, () => {
    const calls = simulate({ ...world, strategy: { choose } });
    const time = p95(calls);
    assert.ok(time <= 0.6 * byWeight, `${time} of ${byWeight} ms`);
    const shares = simulatedTargets().map((_, index) => shareOf(calls, index, [0, seconds]));
    assert.ok(Math.max(...shares) <= bound, `the largest share is ${Math.max(...shares)}`);
    assert.deepEqual(simulate({ ...world, strategy: { choose } }), calls);
  });

  test(`${choose} leaves out a target during an outage, and gives it its share within 60 s after`, () => {
    const strategy = { choose, outlier_ejection: {} };
    const outage = { target: 0, from: 30, to: 60 };
    const calls = simulate({ ...world, strategy, seconds: 180, outage });
    const before = shareOf(calls, 0, [10, 30]);
    assert.ok(shareOf(calls, 0, [32, 60]) < before / 4);
    const after = shareOf(calls, 0, [120, 180]);
    assert.ok(after >= before * 0.8, `${after} of ${before}`);
  });
}

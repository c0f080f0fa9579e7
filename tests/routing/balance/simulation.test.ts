import assert from "node:assert/strict";
import { test } from "node:test";
import { p95, shareOf, simulate, simulatedTargets } from "../../support/balance-simulation.ts";

const [seconds, requestsPerSecond] = [90, 40];
const world = { seconds, requestsPerSecond, seed: 20_261_127 };
/** Three times the share by weight, which is the limit of the best of three, with room for chance. */
const bound = (3 / simulatedTargets().length) * 1.05;
/** Calls at a time that a target serves: it slows down above them, or never. */
const capacities = [16, 1_000];

for (const choose of ["least_busy", "lowest_latency"]) {
  test(`${choose} has at most 0.6 of the p95 by weight, and no target gets more than three times its share`, () => {
    for (const capacity of capacities) {
      const calls = simulate({ ...world, capacity, strategy: { choose } });
      const [time, byWeight] = [p95(calls), p95(simulate({ ...world, capacity, strategy: {} }))];
      assert.ok(time <= 0.6 * byWeight, `${time} of ${byWeight} ms with a capacity of ${capacity}`);
      const shares = simulatedTargets().map((_, index) => shareOf(calls, index, [0, seconds]));
      assert.ok(Math.max(...shares) <= bound, `the largest share is ${Math.max(...shares)}`);
    }
    const short = { ...world, seconds: 10, strategy: { choose } };
    assert.deepEqual(simulate(short), simulate(short));
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

import { p95, shareOf, simulate, simulatedTargets } from "../tests/support/balance-simulation.ts";

/** Seconds that are simulated, and requests in each. */
const [seconds, requestsPerSecond] = [600, 40];
const seeds = [1, 2, 3];
const targets = simulatedTargets();
const strategies = { weight: {}, least_busy: { choose: "least_busy" }, lowest_latency: { choose: "lowest_latency" } };

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

/** Strategies by how many calls at a time a target serves before it becomes slower. */
for (const [seed, capacity] of [16, 1_000].flatMap((most) => seeds.map((one) => [one, most] as const))) {
  const world = { seed, seconds, requestsPerSecond, capacity };
  const base = p95(simulate({ ...world, strategy: strategies.weight }));
  for (const [name, strategy] of Object.entries(strategies)) {
    const calls = simulate({ ...world, strategy });
    const largest = Math.max(...targets.map((_, index) => shareOf(calls, index, [0, seconds])));
    const failed = calls.filter(({ isFailed }) => isFailed).length / calls.length;
    const time = Math.round(p95(calls));
    console.log(
      [
        `capacity ${capacity}, seed ${seed}`,
        name.padEnd(14),
        `p95 ${time} ms (${(time / base).toFixed(2)})`,
        `largest share ${percent(largest)}`,
        `failed ${percent(failed)}`,
      ].join("  "),
    );
  }
}

const outage = { target: 0, from: 120, to: 180 };
for (const [name, strategy] of Object.entries(strategies)) {
  const calls = simulate({
    strategy: { ...strategy, outlier_ejection: {} },
    seed: 1,
    seconds: 360,
    requestsPerSecond,
    outage,
  });
  const shares = [
    ["before", 60, 120],
    ["during", 130, 180],
    ["first 30 s after", 180, 210],
    ["30 to 60 s after", 210, 240],
    ["from 60 s on", 240, 360],
  ] as const;
  const parts = shares.map(([when, from, to]) => `${when} ${percent(shareOf(calls, 0, [from, to]))}`);
  console.log(`outage of 60 s, ${name}: ${parts.join(", ")}`);
}

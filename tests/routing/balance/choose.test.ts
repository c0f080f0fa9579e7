import assert from "node:assert/strict";
import { test } from "node:test";
import { MeasuredCall } from "../../../src/routing/balance/measured-call.ts";
import { createMeasures } from "../../../src/routing/balance/measures.ts";
import { MovingAverage } from "../../../src/routing/balance/moving-average.ts";
import type { ConfigNode } from "../../../src/routing/config.ts";
import { listAttempts, planAttempts } from "../../../src/routing/plan.ts";
import { createRandom } from "../../support/gateway.ts";
import { balanceInput, linesOf, planInput, toConfig } from "../../support/routing.ts";

/** A load balancer over so many targets, at a time that is moved by hand. */
function createBalancer(strategy: object, weights: readonly number[] = [1, 1]) {
  const measures = createMeasures();
  const targets = weights.map((weight, index) => ({ provider: "ollama", name: `t${index}`, weight }));
  const config = toConfig({ strategy: { mode: "loadbalance", ...strategy }, targets }, true);
  const world = { now: 0, random: createRandom(7), open: new Set<string>(), prices: new Map<string, number>() };
  const plan = () => {
    const input = balanceInput(
      { now: world.now, random: world.random, priceOf: ({ name = "" }) => world.prices.get(name) },
      measures,
    );
    return planAttempts(
      config,
      planInput({
        random: world.random,
        balanceInput: () => input,
        isOpen: ({ name = "" }: ConfigNode) => world.open.has(name),
      }),
    );
  };
  const begin = () => {
    const [attempt] = listAttempts(plan().root);
    assert.ok(attempt?.measured);
    return { name: attempt.node.name, why: attempt.why, call: new MeasuredCall(attempt.measured, world.now) };
  };
  /** Makes a call that takes so long, by target. */
  const call = (times: Readonly<Record<string, number | "fails">>) => {
    const { name = "", call: made } = begin();
    const time = times[name] ?? 100;
    if (time !== "fails") {
      world.now += time;
      made.answered(world.now);
    }
    const verdict = time === "fails" ? "failure" : "success";
    made.end({ verdict, endedAt: world.now, isStreamed: false, outputTokens: undefined });
    return name;
  };
  /** How often each target is chosen in so many calls. */
  const count = (calls: number, times: Readonly<Record<string, number | "fails">> = {}) => {
    const counts: Record<string, number> = {};
    for (let index = 0; index < calls; index++) {
      const name = call(times);
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  };
  return { world, plan, begin, call, count };
}

test("MovingAverage forgets with time, and one sample does not replace all", () => {
  const average = new MovingAverage();
  assert.deepEqual([average.value, average.samplesAt(0)], [undefined, 0]);
  for (let time = 0; time < 1_000; time += 100) average.add(100, time);
  average.add(200, 1_000);
  assert.ok(Number(average.value) > 100 && Number(average.value) < 115);
  average.add(200, 10_000_000);
  assert.ok(Number(average.value) > 165 && Number(average.value) < 200);
});

test("least_busy calls the target with fewer running calls by weight", () => {
  const { begin } = createBalancer({ choose: "least_busy" }, [3, 1]);
  const names = Array.from({ length: 40 }, () => begin().name);
  assert.equal(names.filter((name) => name === "t0").length, 30);
});

test("least_busy prefers the target whose running calls end sooner", () => {
  const { world, begin, call } = createBalancer({ choose: "least_busy" });
  for (let index = 0; index < 6; index++) call({ t0: 400, t1: 100 });
  const running = Array.from({ length: 10 }, () => begin().name);
  // four calls of the fast one take as long as one of the slow one
  assert.equal(running.filter((name) => name === "t1").length, 8);
  world.now += 1;
  assert.match(begin().why, /^least busy of 2 drawn by weight: \d+ running calls$/);
});

test("of few targets two are drawn, of more three, and never more than half of more than three", () => {
  for (const [targets, drawn] of [
    [2, 2],
    [3, 2],
    [5, 2],
    [6, 3],
    [20, 3],
  ] as const) {
    for (const choose of ["least_busy", "lowest_latency"]) {
      const { begin, count } = createBalancer({ choose }, Array(targets).fill(1));
      count(40 * targets);
      assert.ok(begin().why.includes(` of ${drawn} drawn by weight`), `${choose}, ${targets} targets: ${begin().why}`);
    }
  }
});

test("lowest_latency measures each target once, and then calls the fast one except for few explorations", () => {
  const { begin, call, count } = createBalancer({ choose: "lowest_latency" });
  const times = { t0: 900, t1: 100 };
  assert.deepEqual(new Set([call(times), call(times)]), new Set(["t0", "t1"]));
  const counts = count(1_000, times);
  assert.ok(counts.t0 !== undefined && counts.t0 >= 3 && counts.t0 <= 20, JSON.stringify(counts));
  assert.match(begin().why, /^lowest latency of 2 drawn by weight: .* ms at config\.targets\[/);
});

test("lowest_latency follows a target that becomes fast", () => {
  const { count, world } = createBalancer({ choose: "lowest_latency" });
  count(100, { t0: 900, t1: 100 });
  const start = world.now;
  let calls = 0;
  while (world.now - start < 60_000) {
    count(1, { t0: 50, t1: 100 });
    calls++;
  }
  assert.ok(calls > 0);
  assert.ok((count(100, { t0: 50, t1: 100 }).t0 ?? 0) > 80);
});

test("lowest_latency compares streams by their first words and their tokens", () => {
  const { world, begin } = createBalancer({ choose: "lowest_latency" });
  for (let index = 0; index < 2; index++) {
    const { name, call } = begin();
    // t0 begins at once and is slow, t1 begins later and is quick
    world.now += name === "t0" ? 10 : 300;
    call.answered(world.now);
    world.now += name === "t0" ? 3_000 : 500;
    call.end({ verdict: "success", endedAt: world.now, isStreamed: true, outputTokens: 101 });
  }
  assert.equal(begin().name, "t1");
});

test("a target that only fails, and quickly, is not preferred by any measure", () => {
  for (const choose of ["least_busy", "lowest_latency", "lowest_cost"]) {
    const { world, count } = createBalancer({ choose });
    world.prices.set("t0", 0).set("t1", 5);
    const counts = count(200, { t0: "fails", t1: 100 });
    assert.ok((counts.t0 ?? 0) < 40, `${choose}: ${JSON.stringify(counts)}`);
  }
});

test("lowest_cost calls the cheapest target, equal ones by weight, and targets without a price last", () => {
  const { world, count, begin } = createBalancer({ choose: "lowest_cost" }, [1, 3, 1, 1]);
  world.prices.set("t0", 2).set("t1", 2).set("t2", 3);
  const counts = count(400);
  assert.ok(Number(counts.t1) > 2 * Number(counts.t0), JSON.stringify(counts));
  assert.deepEqual([counts.t2, counts.t3], [undefined, undefined]);
  assert.equal(begin().why, "lowest cost: $2 per million tokens");
  world.prices.clear();
  assert.equal(begin().why, "no target has a price: drawn by weight among 4 targets");
});

test("outlier_ejection leaves out a target after failures in a row, longer each time, and never all targets", () => {
  const ejection = { consecutive_failures: 3, ejection_time: 10_000 };
  const { world, plan, count } = createBalancer({ outlier_ejection: ejection }, [1, 1, 1, 1]);
  const fails = { t0: "fails", t1: "fails", t2: "fails", t3: "fails" } as const;
  count(40, fails);
  const { skipped } = plan();
  assert.equal(skipped.length, 2);
  assert.match(String(skipped[0]?.why), /^it failed several times in a row, and is ejected for another 10 s$/);
  world.now += 10_000;
  assert.deepEqual(plan().skipped, []);
  count(40, fails);
  assert.match(String(plan().skipped[0]?.why), /another 20 s$/);
});

test("a target that is back starts slowly, whether it was ejected or its circuit was open", () => {
  for (const cause of ["ejected", "open"]) {
    const strategy = { cb_config: { failure_threshold: 3 }, outlier_ejection: { consecutive_failures: 1 } };
    const { world, count } = createBalancer(strategy);
    if (cause === "open") world.open.add("t0");
    else while (count(1, { t0: "fails", t1: 0 }).t0 === undefined);
    assert.equal(count(50, { t0: 0, t1: 0 }).t0, undefined, cause);
    world.open.clear();
    world.now += 10_000;
    const start = count(400, { t0: 0, t1: 0 }).t0 ?? 0;
    assert.ok(start > 10 && start < 80, `${cause}: ${start}`);
    world.now += 20_000;
    assert.ok((count(400, { t0: 0, t1: 0 }).t0 ?? 0) > 150, cause);
  }
});

test("readConfig() refuses to save fields of choosing by measure that have no effect", () => {
  const targets = [{ provider: "ollama" }, { provider: "ollama" }];
  const cases: readonly (readonly [object, string[]])[] = [
    [{ mode: "loadbalance", choose: "fastest" }, ["must be weight, least_busy, lowest_latency or lowest_cost"]],
    [{ mode: "fallback", choose: "least_busy" }, ["choose: has an effect only with the mode loadbalance"]],
    [{ mode: "single", outlier_ejection: {} }, ["outlier_ejection: has an effect only with the mode loadbalance"]],
    [
      { mode: "loadbalance", slow_start: 10 },
      ["slow_start: has no effect without choose, outlier_ejection or health_check"],
    ],
    [
      { mode: "loadbalance", choose: "least_busy", affinity: true },
      ["choose: cannot be combined with affinity, which chooses by conversation"],
    ],
    [{ mode: "loadbalance", health_check: {} }, ["health_check.path: must be given, or model"]],
    [
      { mode: "loadbalance", health_check: { path: "/", model: "m" } },
      ["health_check.model: cannot be combined with path"],
    ],
    [{ mode: "loadbalance", health_check: { model: "" } }, ["health_check.model: must not be empty"]],
    [{ mode: "single", health_check: { path: "/" } }, ["health_check: has an effect only with the mode loadbalance"]],
    [{ mode: "loadbalance", health_check: { path: "//169.254.169.254/" } }, ["such as /health"]],
    [{ mode: "loadbalance", health_check: { path: "http://127.0.0.1/" } }, ["such as /health"]],
    [{ mode: "loadbalance", health_check: { path: "/\\127.0.0.1" } }, ["such as /health"]],
    [{ mode: "loadbalance", health_check: { path: "/", interval: 1 } }, ["must be at least 5000"]],
    [{ mode: "loadbalance", outlier_ejection: 5 }, ["outlier_ejection: must be an object"]],
    [{ mode: "loadbalance", outlier_ejection: { max_ejected_percent: 0 } }, ["must be at least 1"]],
    [{ mode: "loadbalance", outlier_ejection: { ratio: 1 } }, ["outlier_ejection.ratio: is not a member of a config"]],
  ];
  for (const [strategy, expected] of cases) {
    const lines = linesOf({ strategy, targets }, true);
    assert.equal(lines.length, expected.length, JSON.stringify([strategy, lines]));
    for (const [index, text] of expected.entries()) assert.ok(lines[index]?.endsWith(text), lines[index]);
  }
});

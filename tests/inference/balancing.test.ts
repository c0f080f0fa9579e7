import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { ExplainResponse } from "../../src/schemas/explain.ts";
import { call, done } from "../support/control.ts";
import { faultOf, startFaultyUpstream, success } from "../support/faults.ts";
import { createRandom, createTestClock, createTestGateway, workspaceKey } from "../support/gateway.ts";
import { ask, logOf, saveConfig, targetOf } from "../support/routed.ts";
import { eventually } from "../support/upstream.ts";

const clock = createTestClock();
const gateway = await createTestGateway({ clock, random: createRandom(3) });
const upstreams = [await startFaultyUpstream(), await startFaultyUpstream()] as const;
const [a, b] = upstreams;
after(async () => {
  await gateway.close();
  for (const upstream of upstreams) await upstream.close();
});

beforeEach(() => {
  for (const upstream of upstreams) upstream.script(() => success);
});

const [first, second] = ["config.targets[0]", "config.targets[1]"];
let credentials = 0;
/** A load balancer over both upstreams, of which nothing was measured. */
function balancer(strategy: object, more: readonly object[] = [{}, {}]): object {
  credentials++;
  const own = { api_key: `credential-${credentials}` };
  const targets = upstreams.map((upstream, index) => targetOf(upstream, { ...own, ...more[index] }));
  return { strategy: { mode: "loadbalance", ...strategy }, targets };
}

async function askMany(config: object | string, count: number, body: object = {}): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let index = 0; index < count; index++) {
    const { label, status } = await ask(gateway, { config, body });
    counts[`${label} ${status}`] = (counts[`${label} ${status}`] ?? 0) + 1;
  }
  return counts;
}

async function explain(config: object | string, body: object = {}): Promise<ExplainResponse> {
  const sent = { config, request: { body: { model: "m", messages: [], ...body } } };
  return done<ExplainResponse>(call(gateway, "POST /configs/explain", { key: workspaceKey, body: sent }));
}

/** Waits until the chosen target has no running call: the end of a stream is measured after its client has read it. */
async function untilIdle(config: object): Promise<void> {
  let why = "";
  while (!why.endsWith(": 0 running calls")) why = String((await explain(config)).attempts[0]?.why);
}

for (const stream of [false, true]) {
  test(`lowest_latency calls the faster target, streamed: ${stream}`, async () => {
    a.script(() => {
      clock.advance(800);
      return success;
    });
    b.script(() => {
      clock.advance(100);
      return success;
    });
    const inline = balancer({ choose: "lowest_latency" });
    const saved = await saveConfig(gateway, balancer({ choose: "lowest_latency" }));
    for (const config of [inline, saved]) {
      // its row is written once it is measured
      for (let turn = 0; turn < 2; turn++) await logOf(gateway, await ask(gateway, { config, body: { stream } }));
      assert.deepEqual(await askMany(config, 8, { stream }), { [`${second} 200`]: 8 });
      const { attempts } = await explain(config, { stream });
      assert.equal(attempts[0]?.label, second);
      assert.match(String(attempts[0]?.why), /^lowest latency of 2 drawn by weight: /);
    }
  });

  test(`least_busy avoids the target with a running call until it ends, streamed: ${stream}`, async () => {
    const config = balancer({ choose: "least_busy" });
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    for (const upstream of upstreams) {
      upstream.script(({ index }) =>
        upstream === a && index === 0
          ? {
              ...success,
              serve(response, streamed) {
                begun.resolve();
                released.promise.then(() => success.serve(response, streamed));
              },
            }
          : success,
      );
    }
    let label: string | null = null;
    while (label !== first) {
      const running = ask(gateway, { config, body: { stream } });
      label = await Promise.race([running.then((answer) => answer.label), begun.promise.then(() => first)]);
      if (label !== first) continue;
      for (let turn = 0; turn < 10; turn++) {
        await untilIdle(config);
        assert.deepEqual(await askMany(config, 1, { stream }), { [`${second} 200`]: 1 });
      }
      released.resolve();
      assert.equal((await running).status, 200);
    }
    // both are idle again: equal ones are drawn by weight
    const seen = await askMany(config, 20, { stream });
    assert.ok((seen[`${first} 200`] ?? 0) > 2, JSON.stringify(seen));
  });
}

test("least_busy counts a call of a client that left as over", async () => {
  const config = balancer({ choose: "least_busy" });
  const stall = { ...success, serve: () => {} };
  const leave = new AbortController();
  for (const upstream of upstreams) upstream.script(() => stall);
  const left = ask(gateway, { config, signal: leave.signal });
  await eventually(() => a.calls.length + b.calls.length === 1, "a call");
  const wasFirst = a.calls.length === 1;
  leave.abort();
  await left.catch(() => {});
  for (const upstream of upstreams) upstream.script(() => success);
  await untilIdle(config);
  const seen = await askMany(config, 20);
  assert.ok((seen[`${wasFirst ? first : second} 200`] ?? 0) > 2, JSON.stringify(seen));
});

test("lowest_cost calls the target whose model costs less, also one that the request names", async () => {
  const models = ["gpt-4o", "gpt-4o-mini"].map((model) => ({ override_params: { model } }));
  const config = balancer({ choose: "lowest_cost" }, models);
  assert.deepEqual(await askMany(config, 6), { [`${second} 200`]: 6 });
  const named = balancer({ choose: "lowest_cost" }, [{}, models[0] ?? {}]);
  assert.deepEqual(await askMany(named, 6, { model: "gpt-4o-mini" }), { [`${first} 200`]: 6 });
  const { attempts } = await explain(named, { model: "gpt-4o-mini" });
  assert.match(String(attempts[0]?.why), /^lowest cost: \$[\d.]+ per million tokens$/);
});

for (const choose of [undefined, "least_busy", "lowest_latency", "lowest_cost"]) {
  test(`outlier_ejection leaves out a failing target, in the row and in explain: ${choose}`, async () => {
    a.script(() => faultOf("500"));
    const strategy = { outlier_ejection: { consecutive_failures: 2, ejection_time: 30_000 } };
    const config = await saveConfig(gateway, balancer({ ...strategy, ...(choose && { choose }) }));
    let failed = 0;
    while (failed < 2) {
      failed += (await ask(gateway, { config })).status === 500 ? 1 : 0;
      clock.advance(10_000); // a target that failed is measured again
    }
    const answer = await ask(gateway, { config });
    assert.deepEqual([answer.status, answer.label], [200, second]);
    assert.deepEqual((await logOf(gateway, answer)).skipped, [first]);
    const { warnings } = await explain(config);
    assert.equal(warnings.length, 1);
    assert.match(
      String(warnings[0]),
      /^config\.targets\[0\]: left out, it failed several times in a row, and is ejected/,
    );
    clock.advance(30_000);
    assert.deepEqual((await explain(config)).warnings, []);
  });
}

test("outlier_ejection does not count what is the fault of the request", async () => {
  for (const upstream of upstreams) upstream.script(() => faultOf("400"));
  const config = balancer({ outlier_ejection: { consecutive_failures: 1 } });
  await askMany(config, 4);
  assert.deepEqual((await explain(config)).warnings, []);
});

test("sticky requests stay at the target that a measure chose, while it is not ejected", async () => {
  const sticky = { enabled: true, hash_fields: ["params.user"], ttl: 600 };
  const strategy = { choose: "least_busy", sticky, outlier_ejection: { consecutive_failures: 1 } };
  const config = balancer(strategy);
  const chosen = await ask(gateway, { config, body: { user: "u" } });
  const seen = await askMany(config, 5, { user: "u" });
  assert.deepEqual(seen, { [`${chosen.label} 200`]: 5 });
  for (const upstream of upstreams) upstream.script(() => faultOf("500"));
  await ask(gateway, { config, body: { user: "u" } });
  for (const upstream of upstreams) upstream.script(() => success);
  const other = chosen.label === first ? second : first;
  assert.deepEqual(await askMany(config, 3, { user: "u" }), { [`${other} 200`]: 3 });
  clock.advance(10_000);
  assert.deepEqual(await askMany(config, 3, { user: "u" }), { [`${chosen.label} 200`]: 3 });
});

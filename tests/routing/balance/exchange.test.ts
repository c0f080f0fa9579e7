import assert from "node:assert/strict";
import { after, test } from "node:test";
import { MeasureExchange } from "../../../src/routing/balance/exchange.ts";
import { MeasuredCall } from "../../../src/routing/balance/measured-call.ts";
import { createMeasures } from "../../../src/routing/balance/measures.ts";
import { connectRedis } from "../../../src/serve/redis.ts";
import { hasRedis, type RedisServer, startRedis } from "../../support/redis.ts";
import { toConfig } from "../../support/routing.ts";

const server: RedisServer | undefined = hasRedis ? await startRedis() : undefined;
after(() => server?.kill());

const target = toConfig({ provider: "ollama" });
const ejection = { consecutiveFailures: 2, ejectionMs: 10_000, maxEjectedPercent: 50 };

/** A process with its own measures, clock and warnings. */
function createProcess(id: string, connect = () => connectRedis(server?.url ?? "")) {
  const warnings: string[] = [];
  const measures = createMeasures();
  const time = { now: 1_000_000 };
  const digest = (text: string) => `${text.length}`;
  const warn = (message: string) => warnings.push(message);
  const exchange = new MeasureExchange({ measures, connect, digest, now: () => time.now, id, warn });
  const measure = measures.of(target, "tenant", () => "target");
  const call = () => new MeasuredCall([{ measure, ejection }], time.now);
  return { exchange, measure, call, time, warnings };
}

const ended = { isStreamed: false, outputTokens: undefined };

test("MeasureExchange shares running calls, latencies, failures and ejections", { skip: !hasRedis }, async () => {
  const [one, other] = [createProcess("one"), createProcess("other")];
  other.time.now = 5_000;
  one.call();
  const made = one.call();
  made.answered(one.time.now + 700);
  one.time.now += 700;
  made.end({ verdict: "success", endedAt: one.time.now, ...ended });
  for (let index = 0; index < 2; index++) one.call().end({ verdict: "failure", endedAt: one.time.now, ...ended });
  other.measure.look(false, other.time.now);
  await one.exchange.run();
  await other.exchange.run();
  const { measure, time } = other;
  assert.equal(measure.pendingAt(time.now), 1);
  assert.equal(Math.round(measure.latencyAt(time.now, { isStreamed: false, tokens: 1 }) ?? 0), 700);
  assert.ok(measure.failureAt(time.now) > 0.4);
  assert.equal(measure.ejectedUntil(time.now), time.now + 10_000);
  // its own part is not added once more
  await one.exchange.run();
  assert.equal(one.measure.pendingAt(one.time.now), 1);
  // what was not heard again for a while does not count
  assert.equal(measure.pendingAt(time.now + 5_000), 0);
  for (const { exchange } of [one, other]) exchange.close();
});

test("MeasureExchange connects only when a target is in use, and warns once while Redis is away", async () => {
  let connections = 0;
  const { exchange, call, warnings } = createProcess("one", async () => {
    connections++;
    return { run: () => Promise.reject(new Error("away")), reconnect: () => {}, close: () => {} };
  });
  await exchange.run();
  assert.equal(connections, 0);
  call();
  await exchange.run();
  await exchange.run();
  assert.deepEqual([connections, warnings.length], [1, 1]);
});

test("MeasureExchange ignores what it cannot read", async () => {
  const said = ["", "1 2", "-1 0 0 0 0 0 0 0 0 0", "x 0 0 0 0 0 0 0 0 0", "2 0 0 0 0 0 0 0 0 0"];
  const { exchange, measure, call, time } = createProcess("one", async () => ({
    run: async () => [said],
    reconnect: () => {},
    close: () => {},
  }));
  call();
  await exchange.run();
  assert.equal(measure.pendingAt(time.now), 3);
});

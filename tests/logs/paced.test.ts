import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createRedactor } from "../../src/logs/redact.ts";
import { chat, createTestGateway, helloBody, waitForLog } from "../support/gateway.ts";
import { measureGap } from "../support/loop-gap.ts";

// a database in memory has no log thread: rows are masked on the request loop
const gateway = await createTestGateway({ database: ":memory:" });
after(() => gateway.close());

/** Longest time the event loop may be held. One piece of work is a sixth of it, the whole work more than it. */
const mostMs = 50;
const secrets = `[${'{"password":1},'.repeat(60_000)}0]`;

/** Longest piece of the work of masking a long body, in milliseconds. */
function longestPiece(): number {
  const { textSteps } = createRedactor({ mac: () => "", keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] });
  const work = textSteps(secrets);
  let longest = 0;
  for (;;) {
    const startedAt = performance.now();
    const { done, value } = work.next();
    longest = Math.max(longest, performance.now() - startedAt);
    if (!done) continue;
    assert.ok(!value.includes(":1"));
    return longest;
  }
}

/** Time of masking some long bodies in one piece, in milliseconds. */
function wholeWork(bodies: number): number {
  const { text } = createRedactor({ mac: () => "", keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] });
  const startedAt = performance.now();
  for (let body = 0; body < bodies; body++) text(secrets);
  return performance.now() - startedAt;
}

test("masking a long body of secret members gives way to other requests", () => {
  // other programs only make a piece longer
  const longest = Math.min(...Array.from({ length: 5 }, longestPiece));
  assert.ok(longest <= mostMs, `${longest} ms`);
});

test("strings that are masked in turns do not affect each other", () => {
  const { text, textSteps } = createRedactor({ mac: () => "", keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] });
  const inputs = [secrets, `{"a":"b","api_key":"one-two-three"}${secrets}`];
  const works = inputs.map((input) => textSteps(input));
  const results: string[] = [];
  while (results.filter(Boolean).length < works.length) {
    for (const [index, work] of works.entries()) {
      const { done, value } = work.next();
      if (done && typeof value === "string") results[index] = value;
    }
  }
  assert.deepEqual(results, inputs.map(text));
});

test("a row with long bodies of secret members does not hold the loop of a database in memory", async () => {
  // the answer repeats what is said: both bodies are as long as rows store them
  const said = { ...helloBody, messages: [{ role: "user", content: secrets.slice(0, 850_000) }] };
  const sent = JSON.stringify(said);
  const ask = async (traceId: string) => {
    const response = await chat(gateway, sent, { "x-gateway-trace-id": traceId });
    await response.text();
    return waitForLog(gateway, traceId);
  };
  const row = await ask("warm");
  assert.ok(!JSON.stringify(row).includes('password\\\\":1'));
  let round = 0;
  // as fast as the machine is at this moment: the work of both bodies in one piece, and a part of it at a time
  const wholeMs = wholeWork(2);
  const enough = Math.max(mostMs, wholeMs / 2);
  const { gapMs } = await measureGap(() => ask(`row-${round++}`), enough);
  assert.ok(gapMs <= enough, `${gapMs} ms, and ${wholeMs} ms in one piece`);
});

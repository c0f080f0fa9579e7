import assert from "node:assert/strict";
import { test } from "node:test";
import { createGuardrails } from "../../src/guardrails/state.ts";
import { checks } from "../support/guardrails.ts";

const mebibyte = 1024 * 1024;

test("work after responses runs in order with limited concurrency", async () => {
  const guardrails = createGuardrails(checks, () => {});
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = (index: number) => () =>
    new Promise<void>((resolve) => {
      begun.push(index);
      ends.push(resolve);
    });
  for (let index = 0; index < 100; index++) void guardrails.later(work(index), 1);
  assert.equal(begun.length, 64);
  ends[0]?.();
  await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(
    begun,
    Array.from({ length: 65 }, (_, index) => index),
  );
  const closing = guardrails.close(5_000);
  let isClosed = false;
  void closing.then(() => {
    isClosed = true;
  });
  while (!isClosed) {
    for (const end of ends) end();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.equal(begun.length, 100);
});

test("work after responses that needs too much memory is dropped, with one warning", async () => {
  const warnings: string[] = [];
  const guardrails = createGuardrails(checks, (message) => warnings.push(message));
  let begun = 0;
  const forever = () => {
    begun++;
    return new Promise<void>(() => {});
  };
  for (let index = 0; index < 64 + 200; index++) void guardrails.later(forever, mebibyte);
  assert.equal(begun, 64);
  assert.equal(warnings.length, 1);
  await guardrails.close(10);
});

test("failing work after responses is logged, and other work continues", async () => {
  const warnings: string[] = [];
  const guardrails = createGuardrails(checks, (message) => warnings.push(message));
  await guardrails.later(() => Promise.reject(new Error("away")), 0);
  let isDone = false;
  await guardrails.later(async () => {
    isDone = true;
  }, 0);
  assert.deepEqual([isDone, warnings], [true, ["Cannot store the results of hooks after a response"]]);
});

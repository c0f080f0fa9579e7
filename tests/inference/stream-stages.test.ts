import assert from "node:assert/strict";
import { test } from "node:test";
import { readHooks } from "../../src/guardrails/read-hooks.ts";
import { noSavedGuardrails, resolveHooks } from "../../src/guardrails/resolve.ts";
import { planWindow, WindowChecks } from "../../src/guardrails/window.ts";
import { createNumberStages } from "../../src/inference/stream/conversion-stages.ts";
import { GuardStages, type GuardStagesOptions } from "../../src/inference/stream/guard-stages.ts";
import { MappedObserver } from "../../src/inference/stream/mapped-observer.ts";
import { type Stage, type StreamObserver, StreamStages, stageOrder } from "../../src/inference/stream/stages.ts";
import { StreamCapture } from "../../src/inference/stream/stream-capture.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { HookResult } from "../../src/schemas/hooks.ts";
import { checks } from "../support/guardrails.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const read = (bytes: Uint8Array | undefined) => bytes && decoder.decode(bytes);

/** A stage that adds its name to what goes through it. */
const named = (name: string): Stage => ({ push: (block) => encoder.encode(`${decoder.decode(block)} ${name}`) });

/** A conversion that does the same. */
const conversion: StreamObserver = {
  ...named("convert"),
  end: () => encoder.encode("end"),
  state: "complete",
  hasSpoken: true,
  isOver: () => false,
  failure: () => encoder.encode("failure"),
  usage: undefined,
};

test("a block goes through all stages in their order", () => {
  const stages = new StreamStages({
    // not in this order
    capture: named("capture"),
    compare: named("compare"),
    restore: named("restore"),
    shelter: named("shelter"),
    original: named("original"),
    charge: named("charge"),
    convert: conversion,
  });
  assert.equal(read(stages.push(encoder.encode("block"))), ["block", ...stageOrder].join(" "));
  assert.deepEqual(stageOrder, ["charge", "original", "shelter", "convert", "restore", "compare", "capture"]);
});

test("what a stage holds at the end goes through the stages behind it", () => {
  const last = { ...named("capture"), end: () => encoder.encode("|last") };
  const stages = new StreamStages({
    convert: conversion,
    original: named("original"),
    restore: named("restore"),
    capture: last,
  });
  assert.equal(read(stages.end()), "end restore capture|last");
});

test("a block of which a stage makes nothing goes no further", () => {
  const capture = new StreamCapture(conversion);
  const stages = new StreamStages({ convert: { ...conversion, push: () => undefined }, capture });
  assert.equal(stages.push(encoder.encode("block")), undefined);
  assert.equal(capture.take(), undefined);
});

test("the cache gets the numbers of a converted stream as the provider wrote them", () => {
  const mapper = {
    map: ({ data }: { data: string }) => [{ id: "1", choices: [{ delta: { content: JSON.parse(data).id } }] }],
    isComplete: () => true,
    usage: () => undefined,
  };
  const convert = new MappedObserver({ mapper, provider: "p", includeUsage: false });
  const capture = new StreamCapture(convert);
  const stages = new StreamStages({ convert, capture, ...createNumberStages(undefined) });
  stages.push(encoder.encode('data: {"id":12345678901234567891}\n\n'));
  stages.end();
  const text = capture.take()?.text ?? "";
  assert.match(text, /"content":12345678901234567891\b/);
  assert.match(text, /data: \[DONE\]\n\n$/);
});

const passed: HookResult = {
  id: "before",
  verdict: true,
  transformed: false,
  deny: false,
  async: false,
  type: "guardrail",
  checks: [],
  feedback: null,
  execution_time: 0,
  created_at: "2026-01-01T00:00:00.000Z",
};

/** The stages of guardrails of which one may deny, one reads the whole response, and one passed before the call. */
function createGuardStages(isGuarded: boolean) {
  const read = readHooks(
    { output_guardrails: [{ "default.contains": { words: ["forbidden"], operator: "none" }, deny: true }] },
    checks,
  );
  const plan = isGuarded ? planWindow(resolveHooks(read, noSavedGuardrails, checks).after) : undefined;
  const answers: unknown[] = [];
  const guard: GuardStagesOptions["guard"] = {
    status: 200,
    async conclude(answer, { windowed }) {
      answers.push(answer);
      return windowed;
    },
    toDenial: () => new Error("denied"),
    store: () => {},
    readFailure: async (failure) => failure,
  };
  const before = [passed];
  const windowed = plan && new WindowChecks(plan, systemClock);
  const facts = { requestType: "chatComplete", request: {}, strict: false, isWatched: true } as const;
  return { answers, stages: new GuardStages({ guard, ...facts, checks: windowed, before }) };
}

const event = (content: string) =>
  encoder.encode(`data: {"choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`);

test("guardrails hold back, then see, then add their results", async () => {
  const { stages, answers } = createGuardStages(true);
  const long = "a text of which the beginning can be sent";
  assert.equal(await stages.push(event("short")), undefined);
  const sent = read(await stages.push(event(long))) ?? "";
  assert.match(sent, /^data: \{"choices":\[\],"hook_results":\{"before_request_hooks":.*\n\ndata: .*short/);
  assert.match(
    read(await stages.finish(encoder.encode("data: [DONE]\n\n"))) ?? "",
    /beginning.*\n\ndata: \[DONE\]\n\n$/,
  );
  assert.match(read(await stages.conclude()) ?? "", /"after_request_hooks":.*"verdict":true/);
  assert.match(JSON.stringify(answers), /"content":"shorta text of which the beginning can be sent"/);
});

test("guardrails that only read a response hold nothing back", async () => {
  const { stages, answers } = createGuardStages(false);
  assert.match(read(await stages.push(event("short"))) ?? "", /before_request_hooks.*\n\ndata: .*short/);
  assert.equal(stages.releaseQuiet(), undefined);
  assert.equal(await stages.conclude(), undefined);
  assert.match(JSON.stringify(answers), /"content":"short"/);
});

test("guardrails send nothing of a response that they deny", async () => {
  const { stages } = createGuardStages(true);
  await assert.rejects(stages.push(event("what is forbidden, and some more text behind it")), /^Error: denied$/);
});

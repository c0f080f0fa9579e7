import assert from "node:assert/strict";
import { test } from "node:test";
import { createNumberStages } from "../../src/inference/stream/conversion-stages.ts";
import { MappedObserver } from "../../src/inference/stream/mapped-observer.ts";
import type { StreamObserver } from "../../src/inference/stream/stages.ts";
import {
  GuardStages,
  type ResultsStage,
  type Stage,
  StreamStages,
  stageOrder,
} from "../../src/inference/stream/stages.ts";
import { StreamCapture } from "../../src/inference/stream/stream-capture.ts";

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

test("guardrails hold back, then see, then add their results", async () => {
  const results: ResultsStage = {
    ...named("results"),
    status: 200,
    holdsLast: false,
    finish: async () => undefined,
    readFailure: async (failure) => failure,
  };
  const window = {
    push: async (block: Uint8Array) => named("window").push(block),
    releaseQuiet: () => encoder.encode("quiet"),
    finish: async (ending: Uint8Array | undefined) => ending && named("rest").push(ending),
  };
  const stages = new GuardStages({ results, watch: named("watch"), window });
  assert.equal(read(await stages.push(encoder.encode("block"))), "block window watch results");
  assert.equal(read(stages.releaseQuiet()), "quiet watch results");
  assert.equal(read(await stages.finish(encoder.encode("end"))), "end rest watch results");
  assert.equal(await stages.finish(), undefined);
  const plain = new GuardStages({ results });
  assert.equal(read(await plain.push(encoder.encode("block"))), "block results");
});

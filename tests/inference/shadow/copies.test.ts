import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShadowCopy } from "../../../src/context/shadow.ts";
import type { HandleRequest, Services } from "../../../src/context.ts";
import { CopyQueue } from "../../../src/inference/shadow/copies.ts";
import { createTimers } from "../../../src/lib/timers.ts";
import { toConfig } from "../../support/routing.ts";

const node = toConfig({ provider: "@a" });

/** A copy of an organisation's request. */
function copyOf(organisationId: string, bytes = 1): ShadowCopy {
  const principal = { organisationId, limits: { usageLimits: [], rateLimits: [], lastResetAt: null } };
  return {
    of: "01",
    path: "/v1/chat/completions",
    request: { model: "m" },
    config: { node, id: "", slug: null },
    // what copies read of it
    principal: principal as unknown as ShadowCopy["principal"], // the members that queues read
    headers: {},
    numbers: undefined,
    remoteAddress: undefined,
    bytes,
  };
}

interface Held {
  readonly organisation: string;
  end(): void;
}

/** A queue whose copies run until they are ended. */
function createQueue(state: { isReady?: boolean; isHigh?: boolean; isFullLog?: boolean } = {}) {
  const running: Held[] = [];
  const handle: HandleRequest = (_request, { actingFor }) => {
    assert.equal(actingFor && "limits" in actingFor, false);
    const { promise, resolve } = Promise.withResolvers<Response>();
    running.push({ organisation: actingFor?.organisationId ?? "", end: () => resolve(new Response("{}")) });
    return promise;
  };
  const parts = {
    handle,
    isReady: () => state.isReady !== false,
    pressure: { isHigh: state.isHigh === true },
    logRoom: { load: () => (state.isFullLog ? "most" : "none") },
    timers: createTimers(),
  };
  // the parts that queues read
  const queue = new CopyQueue(() => parts as unknown as Services); // the parts that queues read
  return { queue, running };
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

/** Waits until so many copies run. */
async function untilRunning(running: readonly Held[], count: number): Promise<void> {
  while (running.length < count) await turn();
}

test("32 copies run at once, half of them of one organisation, and the next starts when one ends", async () => {
  const { queue, running } = createQueue();
  const sent = Array.from({ length: 40 }, () => queue.add(copyOf("a")));
  await untilRunning(running, 16);
  for (let index = 0; index < 20; index++) sent.push(queue.add(copyOf("b")));
  await untilRunning(running, 32);
  await turn();
  assert.deepEqual([running.length, running.filter(({ organisation }) => organisation === "a").length], [32, 16]);
  for (let index = 0; index < sent.length; index++) {
    await untilRunning(running, index + 1);
    running[index]?.end();
  }
  await Promise.all(sent);
  assert.deepEqual([...queue.counts()], [["sent", 60]]);
});

test("copies beyond the queue are dropped, and an organisation fills half of it", async () => {
  const { queue } = createQueue();
  const taken = (organisation: string, count: number) =>
    Array.from({ length: count }, () => queue.add(copyOf(organisation))).filter((one) => one !== undefined).length;
  assert.deepEqual([taken("a", 600), taken("b", 600), taken("c", 600)], [500, 500, 0]);
  assert.equal(queue.counts().get("full"), 800);
  queue.stop();
  assert.equal(queue.counts().get("stopped"), 1_000);
});

test("copies that wait are bounded by their bytes", () => {
  const { queue } = createQueue();
  const megabyte = 1024 * 1024;
  const taken = Array.from({ length: 64 }, () => queue.add(copyOf("a", megabyte - 1))).filter((one) => one);
  assert.equal(taken.length, 32);
  assert.equal(queue.add(copyOf("a", megabyte)), undefined);
  assert.equal(queue.counts().get("large"), 1);
  queue.stop();
});

for (const [title, state, outcome] of [
  ["memory or the event loop is beyond its mark", { isHigh: true }, "load"],
  ["log rows wait", { isFullLog: true }, "load"],
  ["the process stops", { isReady: false }, "stopped"],
] as const) {
  test(`nothing is copied while ${title}`, () => {
    const { queue } = createQueue(state);
    assert.equal(queue.add(copyOf("a")), undefined);
    assert.deepEqual([...queue.counts()], [[outcome, 1]]);
  });
}

test("a copy that throws takes no place", async () => {
  const parts = {
    handle: async () => Promise.reject(new Error("broken")),
    isReady: () => true,
    pressure: { isHigh: false },
    logRoom: { load: () => "none" },
    timers: createTimers(),
  };
  const queue = new CopyQueue(() => parts as unknown as Services); // the parts that queues read
  await Promise.all(Array.from({ length: 100 }, () => queue.add(copyOf("a"))));
  assert.deepEqual([...queue.counts()], [["sent", 100]]);
});

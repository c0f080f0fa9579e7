import assert from "node:assert/strict";
import { test } from "node:test";
import {
  askChat,
  type CacheStage,
  type Came,
  cachedHeaders,
  chatAnswer,
  question,
  saidIn,
  toJsonResponse,
  withCache,
} from "../support/cache.ts";
import { requestHeaders, waitForLogs } from "../support/gateway.ts";
import { chatStream, endlessStream, spoken } from "../support/stored-streams.ts";
import { eventually } from "../support/upstream.ts";

const joined = { cache: { mode: "simple", join: true } };

/** Lets upstream responses go, one by one or all. */
function createGate() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Sends a chat whose client may leave. */
function send({ gateway }: CacheStage, signal: AbortSignal, body: object = question): Promise<Response> {
  return gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: requestHeaders(cachedHeaders(joined)),
    body: JSON.stringify(body),
    signal,
  });
}

/** The seed of a request whose response is not held back. */
const otherSeed = 99;

/** Sends requests that come the same way as those under test, one after the other, and are not held back. */
async function sendOthers(stage: CacheStage, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent++) {
    const headers = cachedHeaders(joined, { "x-gateway-cache-namespace": `other ${sent}` });
    await askChat(stage, headers, { ...question, seed: otherSeed });
  }
}

/** Calls for the requests under test. */
const callsOf = (stage: CacheStage) => stage.sent.filter(({ body }) => body.seed !== otherSeed).length;

const statuses = (all: readonly Came[]) => {
  const counts: Record<string, number> = {};
  for (const { status, cache } of all) counts[`${status} ${cache}`] = (counts[`${status} ${cache}`] ?? 0) + 1;
  return counts;
};

test("500 identical requests at once make one call, and all get the response", () => {
  const gate = createGate();
  return withCache(
    async (stage) => {
      const all = Array.from({ length: 500 }, () => askChat(stage, cachedHeaders(joined)));
      await eventually(() => stage.sent.length === 1, "the call");
      gate.open();
      const came = await Promise.all(all);
      assert.deepEqual(statuses(came), { "200 MISS": 1, "200 HIT": 499 });
      assert.equal(new Set(came.map(({ text }) => text)).size, 1);
      assert.equal(stage.sent.length, 1);
      const rows = await waitForLogs(stage.gateway, "limit=100", 100);
      assert.ok(rows.every(({ cost }) => cost === 0 || cost === 0.75));
    },
    {
      respond: async () => {
        await gate.opened;
        return toJsonResponse(chatAnswer("One"));
      },
    },
  );
});

test("when the first client hangs up, its call goes on for the others", () => {
  const gate = createGate();
  return withCache(
    async (stage) => {
      const leaving = new AbortController();
      const first = send(stage, leaving.signal);
      await eventually(() => stage.sent.length === 1, "the call");
      const others = Array.from({ length: 50 }, () => askChat(stage, cachedHeaders(joined)));
      leaving.abort();
      gate.open();
      await first;
      assert.deepEqual(statuses(await Promise.all(others)), { "200 HIT": 50 });
      assert.equal(stage.sent.length, 1);
    },
    {
      respond: async () => {
        await gate.opened;
        return toJsonResponse(chatAnswer("One"));
      },
    },
  );
});

test("when the first client of a stream hangs up, another one calls", () =>
  withCache(
    async (stage) => {
      const body = { ...question, stream: true };
      const leaving = new AbortController();
      const first = await send(stage, leaving.signal, body);
      const reader = first.body?.getReader();
      await reader?.read();
      const others = Array.from({ length: 20 }, () => askChat(stage, cachedHeaders(joined), body));
      await reader?.cancel();
      leaving.abort();
      const came = await Promise.all(others);
      assert.deepEqual(statuses(came), { "200 MISS": 1, "200 HIT": 19 });
      assert.equal(stage.sent.length, 2);
    },
    { respond: (_, number) => (number === 1 ? endlessStream() : chatStream()) },
  ));

test("those who wait for a stream get it as JSON or as a stream", () =>
  withCache(
    async (stage) => {
      const streamed = askChat(stage, cachedHeaders(joined), { ...question, stream: true });
      await eventually(() => stage.sent.length === 1, "the call");
      const [first, whole, again] = await Promise.all([
        streamed,
        askChat(stage, cachedHeaders(joined)),
        askChat(stage, cachedHeaders(joined), { ...question, stream: true }),
      ]);
      assert.deepEqual([first.cache, whole.cache, again.cache], ["MISS", "HIT", "HIT"]);
      assert.equal(saidIn(whole), spoken);
      assert.match(again.text, /\[DONE\]/);
      assert.equal(stage.sent.length, 1);
    },
    { respond: () => chatStream() },
  ));

test("an error of the provider reaches all who waited, after one call", () => {
  const gate = createGate();
  return withCache(
    async (stage) => {
      // the first request of a key is read from the database, and would be overtaken
      await sendOthers(stage, 1);
      const all = Array.from({ length: 30 }, () => askChat(stage, cachedHeaders(joined)));
      await eventually(() => callsOf(stage) === 1, "the call");
      await sendOthers(stage, 40);
      gate.open();
      const came = await Promise.all(all);
      assert.ok(came.every(({ status }) => status === 503));
      assert.equal(callsOf(stage), 1);
      // nothing is remembered of it
      assert.equal((await askChat(stage, cachedHeaders(joined))).status, 503);
      assert.equal(callsOf(stage), 2);
    },
    {
      respond: async ({ body }) => {
        if (body.seed === otherSeed) return toJsonResponse(chatAnswer("Other"));
        await gate.opened;
        return toJsonResponse({ error: { message: "busy" } }, 503);
      },
    },
  );
});

test("a response that must not be stored reaches those who waited, and nobody later", () => {
  const gate = createGate();
  return withCache(
    async (stage) => {
      await sendOthers(stage, 1);
      const all = Array.from({ length: 10 }, () => askChat(stage, cachedHeaders(joined)));
      await eventually(() => callsOf(stage) === 1, "the call");
      await sendOthers(stage, 40);
      gate.open();
      assert.ok((await Promise.all(all)).every(({ status }) => status === 200));
      assert.equal(callsOf(stage), 1);
      assert.equal((await askChat(stage, cachedHeaders(joined))).cache, "MISS");
    },
    {
      respond: async ({ body }) => {
        if (body.seed === otherSeed) return toJsonResponse(chatAnswer("Other"));
        await gate.opened;
        return toJsonResponse(chatAnswer("", { finish_reason: "content_filter" }));
      },
    },
  );
});

test("requests that differ, or do not ask for it, do not wait for each other", () => {
  const gate = createGate();
  return withCache(
    async (stage) => {
      const all = [
        askChat(stage, cachedHeaders(joined)),
        askChat(stage, cachedHeaders(joined), { ...question, seed: 1 }),
        askChat(stage, cachedHeaders(joined, { authorization: "Bearer another" })),
        askChat(stage),
        askChat(stage),
        askChat(stage, cachedHeaders(joined, { "x-gateway-cache-force-refresh": "true" })),
      ];
      await eventually(() => stage.sent.length === 6, "all calls");
      gate.open();
      await Promise.all(all);
    },
    {
      respond: async (_, number) => {
        await gate.opened;
        return toJsonResponse(chatAnswer(`Answer ${number}`));
      },
    },
  );
});

test("who waits longer than its timeout gets 408", () => {
  const gate = createGate();
  return withCache(
    async (stage) => {
      const first = askChat(stage, cachedHeaders(joined));
      await eventually(() => stage.sent.length === 1, "the call");
      const late = await askChat(stage, cachedHeaders(joined, { "x-gateway-request-timeout": "20" }));
      assert.equal(late.status, 408);
      gate.open();
      assert.equal((await first).status, 200);
    },
    {
      respond: async () => {
        await gate.opened;
        return toJsonResponse(chatAnswer("One"));
      },
    },
  );
});

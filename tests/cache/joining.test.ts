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
import { isWhole } from "../support/sample.ts";
import { chatStream, endlessStream, spoken } from "../support/stored-streams.ts";
import { eventually } from "../support/upstream.ts";

/** Clients that ask at once. */
const clients = isWhole ? 500 : 50;
/** Rows of them that are looked at. */
const rowCount = Math.min(clients, 100);

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

const streamed = { ...question, stream: true };

/** Ways to ask, and to answer once the gate is open. */
const forms = {
  JSON: { body: question, respond: () => toJsonResponse(chatAnswer("One")) },
  "a stream": { body: streamed, respond: () => chatStream() },
} as const;

for (const [what, { body, respond }] of Object.entries(forms)) {
  test(`${clients} identical requests at once make one call, and all get the response as ${what}`, () => {
    const gate = createGate();
    return withCache(
      async (stage) => {
        const all = Array.from({ length: clients }, () => askChat(stage, cachedHeaders(joined), body));
        await eventually(() => stage.sent.length === 1, "the call");
        gate.open();
        const came = await Promise.all(all);
        assert.deepEqual(statuses(came), { "200 MISS": 1, "200 HIT": clients - 1 });
        // a stream that is replayed has other events than the first one
        assert.equal(new Set(came.filter(({ cache }) => cache === "HIT").map(({ text }) => text)).size, 1);
        assert.equal(stage.sent.length, 1);
        const rows = await waitForLogs(stage.gateway, "limit=100", rowCount);
        assert.ok(rows.every(({ cost }) => cost === 0 || cost === 0.75));
      },
      {
        respond: async () => {
          await gate.opened;
          return respond();
        },
      },
    );
  });

  test(`when the first of ${clients} clients hangs up before ${what} comes, its call goes on for the others`, () => {
    const gate = createGate();
    return withCache(
      async (stage) => {
        const leaving = new AbortController();
        const first = send(stage, leaving.signal, body);
        await eventually(() => stage.sent.length === 1, "the call");
        const others = Array.from({ length: clients - 1 }, () => askChat(stage, cachedHeaders(joined), body));
        leaving.abort();
        gate.open();
        await first;
        const came = await Promise.all(others);
        assert.deepEqual(statuses(came), { "200 HIT": clients - 1 });
        assert.equal(new Set(came.map(({ text }) => text)).size, 1);
        assert.equal(stage.sent.length, 1);
      },
      {
        respond: async () => {
          await gate.opened;
          return respond();
        },
      },
    );
  });
}

/** A stream of a chat whose second half comes when the gate is open. */
async function slowStream(opened: Promise<void>): Promise<Response> {
  const bytes = new Uint8Array(await chatStream().arrayBuffer());
  const middle = Math.floor(bytes.length / 2);
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(bytes.subarray(0, middle));
      await opened;
      controller.enqueue(bytes.subarray(middle));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** How a client ends a stream of which it has read a part. */
const departures: Readonly<
  Record<string, (reader: ReadableStreamDefaultReader<Uint8Array>, leaving: AbortController) => Promise<void>>
> = {
  "cancels the stream": async (reader) => reader.cancel(),
  "closes its connection": async (_, leaving) => leaving.abort(),
  "does both": async (reader, leaving) => {
    leaving.abort();
    await reader.cancel();
  },
  "stops reading": async () => {},
};

for (const [what, leave] of Object.entries(departures)) {
  test(`when the first of ${clients} clients ${what} in the middle, the call goes on for the others`, () => {
    const gate = createGate();
    return withCache(
      async (stage) => {
        const leaving = new AbortController();
        const first = await send(stage, leaving.signal, streamed);
        const reader = first.body?.getReader();
        assert.ok(reader);
        await reader.read();
        const others = Array.from({ length: clients - 1 }, (_, index) =>
          askChat(stage, cachedHeaders(joined), index % 2 === 0 ? streamed : question),
        );
        await leave(reader, leaving);
        gate.open();
        const came = await Promise.all(others);
        assert.deepEqual(statuses(came), { "200 HIT": clients - 1 });
        assert.equal(saidIn(came[1] as Came), spoken);
        assert.match(came[0]?.text ?? "", /\[DONE\]/);
        assert.equal(stage.sent.length, 1);
        assert.equal((await askChat(stage, cachedHeaders(joined))).cache, "HIT");
        // the caller who left pays for the whole response
        const [row] = await waitForLogs(stage.gateway, `trace_id=${first.headers.get("x-gateway-trace-id")}`);
        assert.deepEqual([row?.cost, row?.status], [0.75, 200]);
      },
      { respond: () => slowStream(gate.opened) },
    );
  });
}

test("when a stream breaks off after its client left, another one calls", () =>
  withCache(
    async (stage) => {
      const leaving = new AbortController();
      const first = await send(stage, leaving.signal, streamed);
      const reader = first.body?.getReader();
      await reader?.read();
      const others = Array.from({ length: 20 }, () => askChat(stage, cachedHeaders(joined), streamed));
      leaving.abort();
      assert.deepEqual(statuses(await Promise.all(others)), { "200 MISS": 1, "200 HIT": 19 });
      assert.equal(stage.sent.length, 2);
    },
    { respond: (_, number) => chatStream(number === 1) },
  ));

test("the stream of a caller who did not ask for joining ends with it", () =>
  withCache(
    async (stage) => {
      const response = await stage.gateway.fetch("/v1/chat/completions", {
        method: "POST",
        headers: requestHeaders(cachedHeaders()),
        body: JSON.stringify(streamed),
      });
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
      const [row] = await waitForLogs(stage.gateway, "limit=1");
      assert.equal(row?.status, 499);
    },
    { respond: () => endlessStream() },
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

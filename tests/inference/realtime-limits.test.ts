import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { WebSocket } from "ws";
import type { SocketClose, SocketMessage } from "../../packages/websocket-frames/src/frames.ts";
import type { SocketListener } from "../../src/lib/websocket.ts";
import { call, done } from "../support/control.ts";
import {
  createTemporaryFolder,
  createTestClock,
  createTestGateway,
  type ShownLog,
  type TestClock,
  type TestGateway,
  waitForLogs,
} from "../support/gateway.ts";
import { becomes, createKey, usedBy } from "../support/limited.ts";
import { eventually } from "../support/upstream.ts";
import { handshakeHeaders, type SocketUpstream, startSocketUpstream } from "../support/websocket-upstream.ts";

let upstream: SocketUpstream;
let sockets: WebSocket[] = [];
before(async () => {
  upstream = await startSocketUpstream({ open: (socket) => sockets.push(socket) });
});
after(() => upstream.close());

interface Parts {
  gateway: TestGateway;
  clock: TestClock;
  database: string;
}

/** Runs a test with a gateway over a file. */
async function withGateway(use: (parts: Parts) => Promise<void>): Promise<void> {
  const folder = createTemporaryFolder();
  const database = `file:${join(folder.path, "gateway.db")}`;
  const clock = createTestClock();
  const gateway = await createTestGateway({ clock, database });
  sockets = [];
  try {
    await use({ gateway, clock, database });
    assert.deepEqual(gateway.warnings, []);
  } finally {
    await gateway.close();
    folder.remove();
  }
}

/** A session of the test. */
interface Session {
  trace: string;
  heard: SocketMessage[];
  closes: SocketClose[];
  leave(): void;
  /** The client sends an event. */
  say(event: object): void;
  /** The upstream sends an event, which the gateway has seen when this resolves. */
  send(event: object): Promise<void>;
  /** The upstream reports tokens of a response, which the gateway has seen when this resolves. */
  use(tokens: number): Promise<void>;
}

/** Opens a session; the status of a refused one. */
async function open(
  { gateway }: Parts,
  key: string,
  query = "model=gpt-realtime",
  more: Readonly<Record<string, string>> = {},
): Promise<Session | number> {
  const trace = crypto.randomUUID();
  const heard: SocketMessage[] = [];
  const closes: SocketClose[] = [];
  let listener: SocketListener | undefined;
  const headers = {
    ...handshakeHeaders,
    "x-gateway-api-key": key,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    "x-gateway-trace-id": trace,
    authorization: "Bearer provider-key",
    ...more,
  };
  const known = sockets.length;
  const response = await gateway.fetch(
    `/v1/realtime?${query}`,
    { headers },
    {
      upgrade(acceptance) {
        acceptance.open({
          bufferedBytes: 0,
          listen: (one) => (listener = one),
          send: (message) => heard.push(message),
          close: (close) => closes.push(close),
          terminate: () => {},
          pause: () => {},
          resume: () => {},
        });
        return new Response(null);
      },
    },
  );
  if (!listener) return response.status;
  const send = async (event: object) => {
    const before = heard.length;
    sockets[known]?.send(JSON.stringify(event));
    await eventually(() => heard.length > before, "the event");
  };
  const use = (tokens: number) => {
    const usage = { total_tokens: tokens, input_tokens: tokens - 10, output_tokens: 10 };
    return send({ type: "response.done", response: { usage } });
  };
  const say = (event: object) => listener?.message(JSON.stringify(event));
  return { trace, heard, closes, say, send, use, leave: () => listener?.close({ code: 1000, reason: "" }) };
}

async function openSession(...asked: Parameters<typeof open>): Promise<Session> {
  const session = await open(...asked);
  return typeof session === "number" ? assert.fail(`refused with ${session}`) : session;
}

/** Waits until a key has used so much. */
const hasUsed = ({ gateway }: Parts, id: string, wanted: number) =>
  becomes(
    () => usedBy(gateway, id),
    (used) => used === wanted,
  );

const minute = 60_000;
const rowsOf = (parts: Parts, { trace }: Session, count: number) =>
  waitForLogs(parts.gateway, `trace_id=${trace}`, count);
const tokensOf = (rows: readonly ShownLog[]) => rows.reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0);
const tokens = (most: number) => ({ usage_limits: { type: "tokens", credit_limit: most } });

test("a session is refused before it is opened where a limit is used up", () =>
  withGateway(async (parts) => {
    const { key } = await createKey(parts.gateway, { rate_limits: [{ type: "requests", unit: "rpm", value: 1 }] });
    const session = await openSession(parts, key);
    const seen = upstream.handshakes.length;
    assert.equal(await open(parts, key), 429);
    assert.equal(upstream.handshakes.length, seen);
    session.leave();
  }));

test("a session counts each minute while it lasts, and the rest at its end, once each", () =>
  withGateway(async (parts) => {
    const limits = { ...tokens(100_000), rate_limits: [{ type: "requests", unit: "rpd", value: 3 }] };
    const { id, key } = await createKey(parts.gateway, limits);
    const session = await openSession(parts, key);
    for (const [used, sum] of [
      [100, 100],
      [250, 350],
    ] as const) {
      await session.use(used);
      parts.clock.advance(minute);
      await hasUsed(parts, id, sum);
    }
    // a minute without use leaves no row
    parts.clock.advance(minute);
    await session.use(40);
    session.leave();
    await hasUsed(parts, id, 390);
    const rows = await rowsOf(parts, session, 3);
    // the row of the session has its id from the beginning
    const last = rows.at(-1);
    assert.equal(rows.length, 3);
    assert.deepEqual(
      rows.map(({ usage }) => usage?.total_tokens),
      [250, 100, 40],
    );
    assert.ok(rows.every(({ operation, status }) => operation === "realtime" && status === 101));
    assert.deepEqual(
      rows.map((row) => "part_of" in row && row.part_of),
      [last?.id, last?.id, false],
    );
    // it is one request
    assert.equal(typeof (await openSession(parts, key)).trace, "string");
    assert.equal(typeof (await openSession(parts, key)).trace, "string");
    assert.equal(await open(parts, key), 429);
  }));

test("the row of what was transcribed quotes nothing that the guardrails of its session found", () =>
  withGateway(async (parts) => {
    const { key } = await createKey(parts.gateway, tokens(100_000));
    const inform = { "default.contains": { words: ["kumquat"], operator: "none" }, deny: false };
    const config = JSON.stringify({ input_guardrails: [inform] });
    const session = await openSession(parts, key, undefined, { "x-gateway-config": config });
    session.say({ type: "response.create", response: { instructions: "Say kumquat" } });
    const transcription = { model: "whisper-1" };
    await session.send({ type: "session.updated", session: { input_audio_transcription: transcription } });
    const usage = { type: "duration", seconds: 30 };
    await session.send({ type: "conversation.item.input_audio_transcription.completed", transcript: "", usage });
    session.leave();
    const rows = await rowsOf(parts, session, 2);
    const [part, whole] = [true, false].map((isPart) =>
      JSON.stringify(rows.find((row) => "part_of" in row === isPart)),
    );
    assert.match(whole ?? "", /default\.contains/);
    assert.match(part ?? "", /default\.contains/);
    assert.doesNotMatch(part ?? "", /kumquat/);
  }));

test("a session without limits leaves one row, however long it lasts", () =>
  withGateway(async (parts) => {
    const { key } = await createKey(parts.gateway, {});
    const session = await openSession(parts, key);
    for (let minutes = 0; minutes < 2; minutes++) {
      await session.use(100);
      parts.clock.advance(minute);
      // the gateway looks at its sessions once a second
      await new Promise((resolve) => setTimeout(resolve, 1_100));
    }
    session.leave();
    const rows = await rowsOf(parts, session, 1);
    assert.deepEqual(
      rows.map(({ usage }) => usage?.total_tokens),
      [200],
    );
  }));

test("responses of a session without counts are estimated by their text, and are never free", () =>
  withGateway(async (parts) => {
    const { key } = await createKey(parts.gateway, {});
    const said = {
      role: "assistant",
      type: "message",
      content: [{ type: "audio", transcript: "The tide turns at six." }],
    };
    const asked = {
      role: "user",
      type: "message",
      content: [{ type: "input_text", text: "When does the tide turn?" }],
    };
    for (const usage of [undefined, null, {}, { total_tokens: 0, input_tokens: 0, output_tokens: 0 }]) {
      const session = await openSession(parts, key);
      await session.send({ type: "session.created", session: { model: "gpt-realtime", instructions: "Be brief." } });
      await session.send({ type: "conversation.item.added", item: asked });
      await session.send({ type: "response.done", response: { output: [said], usage } });
      session.leave();
      const [row] = await rowsOf(parts, session, 1);
      assert.ok(Number(row?.usage?.output_tokens) >= 4, JSON.stringify(row?.usage));
      assert.ok(Number(row?.usage?.input_tokens) >= 5, JSON.stringify(row?.usage));
      assert.ok(Number(row?.cost) > 0);
      assert.equal(row?.priced, true);
    }
    const silent = await openSession(parts, key);
    await silent.send({
      type: "response.done",
      response: { output: [{ type: "message", content: [{ type: "audio" }] }] },
    });
    silent.leave();
    const [row] = await rowsOf(parts, silent, 1);
    assert.deepEqual([row?.cost, row?.priced], [null, false]);
    const failed = await openSession(parts, key);
    await failed.send({ type: "response.done", response: { status: "failed", output: [] } });
    failed.leave();
    const [other] = await rowsOf(parts, failed, 1);
    assert.equal(other?.cost, 0);
  }));

test("money of a session counts each minute", () =>
  withGateway(async (parts) => {
    const { id, key } = await createKey(parts.gateway, { usage_limits: { type: "cost", credit_limit: 100 } });
    const session = await openSession(parts, key);
    await session.use(1_010);
    parts.clock.advance(minute);
    const [part] = await rowsOf(parts, session, 1);
    assert.ok(part?.cost && part.cost > 0);
    await hasUsed(parts, id, part.cost / 100);
    session.leave();
  }));

test("what was transcribed in a session counts at the prices of the model that did it, in separate rows", () =>
  withGateway(async (parts) => {
    const { id, key } = await createKey(parts.gateway, { usage_limits: { type: "cost", credit_limit: 100 } });
    const session = await openSession(parts, key);
    const audio = { input: { transcription: { model: "gpt-4o-transcribe" } } };
    await session.send({ type: "session.updated", session: { type: "realtime", model: "gpt-realtime", audio } });
    const transcribed = (usage: object) =>
      session.send({ type: "conversation.item.input_audio_transcription.completed", transcript: "a secret", usage });
    const counts = { type: "tokens", input_tokens: 100, output_tokens: 10, total_tokens: 110 };
    await transcribed({ ...counts, input_token_details: { text_tokens: 0, audio_tokens: 100 } });
    parts.clock.advance(minute);
    // 6 dollars for a million tokens of audio, 10 for one of text
    await becomes(
      () => usedBy(parts.gateway, id),
      (used) => Math.round(used * 1e9) === 700_000,
    );
    await session.send({
      type: "session.updated",
      session: { model: "gpt-realtime", input_audio_transcription: { model: "whisper-1" } },
    });
    await transcribed({ type: "duration", seconds: 30 });
    session.leave();
    const rows = await rowsOf(parts, session, 3);
    const shown = rows.map(({ model, cost }) => `${model} ${cost}`).sort();
    assert.deepEqual(shown, ["gpt-4o-transcribe 0.07", "gpt-realtime 0", "whisper-1 0.3"]);
    assert.doesNotMatch(JSON.stringify(rows), /a secret/);
    assert.equal(Math.round((await usedBy(parts.gateway, id)) * 1e9), 700_000 + 3_000_000);
  }));

for (const [what, limits, code] of [
  ["its budget", tokens(500), "api_key_exhaust_error"],
  ["its rate limit", { rate_limits: [{ type: "tokens", unit: "rpd", value: 500 }] }, "api_key_rate_limit_error"],
] as const) {
  test(`a session that used up ${what} ends with an error event and 1008`, () =>
    withGateway(async (parts) => {
      const { key } = await createKey(parts.gateway, limits);
      const session = await openSession(parts, key);
      await session.use(800);
      parts.clock.advance(minute);
      await eventually(() => session.closes.length > 0, "the end of the session");
      assert.deepEqual(session.closes[0], { code: 1008, reason: `a limit is used up: ${code}` });
      const event = JSON.parse(String(session.heard.at(-1)));
      assert.deepEqual([event.type, event.error.code, event.error.event_id], ["error", code, null]);
      assert.match(event.error.message, /tokens/);
      const rows = await rowsOf(parts, session, 2);
      assert.deepEqual(
        rows.map(({ error }) => error?.code),
        [undefined, "close_1008"],
      );
      assert.equal(tokensOf(rows), 800);
      assert.equal(await open(parts, key), code.includes("rate") ? 429 : 412);
    }));
}

test("a session ends when others use up its limit, and one whose key has none goes on", () =>
  withGateway(async (parts) => {
    const { key } = await createKey(parts.gateway, tokens(500));
    const free = await createKey(parts.gateway, {});
    const [silent, busy, other] = [
      await openSession(parts, key),
      await openSession(parts, key).catch(() => undefined),
      await openSession(parts, free.key),
    ];
    // the first session holds what is left
    assert.equal(busy, undefined);
    await silent.use(600);
    await other.use(600);
    parts.clock.advance(minute);
    await eventually(() => silent.closes.length > 0, "the end of the session");
    assert.deepEqual(other.closes, []);
    other.leave();
  }));

test("limits that were set or lowered while a session lasts hold for it", () =>
  withGateway(async (parts) => {
    const { id, key } = await createKey(parts.gateway, tokens(100_000));
    const free = await createKey(parts.gateway, {});
    const [session, other] = [await openSession(parts, key), await openSession(parts, free.key)];
    await session.use(600);
    await other.use(600);
    parts.clock.advance(minute);
    await hasUsed(parts, id, 600);
    await done(call(parts.gateway, `PUT /api-keys/${id}`, { body: tokens(500) }));
    const policy = {
      workspace_id: "default",
      conditions: [{ key: "api_key", value: free.id }],
      group_by: [{ key: "model" }],
      type: "tokens",
      unit: "rpd",
      value: 0,
    };
    await done(call(parts.gateway, "POST /policies/rate-limits", { body: policy }));
    parts.clock.advance(minute);
    await eventually(() => session.closes.length > 0 && other.closes.length > 0, "the end of the sessions");
    assert.deepEqual(
      [session, other].map(({ closes }) => closes[0]?.code),
      [1008, 1008],
    );
  }));

test("counters and rows agree when a process is killed in the middle of a session", () =>
  withGateway(async (parts) => {
    const { id, key } = await createKey(parts.gateway, tokens(100_000));
    const session = await openSession(parts, key);
    await session.use(300);
    parts.clock.advance(minute);
    const stored = await rowsOf(parts, session, 1);
    await session.use(50);
    // what another process finds while nothing of this one is written any more
    const next = await createTestGateway({ clock: parts.clock, database: parts.database });
    try {
      assert.equal(await usedBy(next, id), 300);
      assert.equal(tokensOf(stored), 300);
    } finally {
      await next.close();
    }
    session.leave();
    assert.equal(tokensOf(await rowsOf(parts, session, 2)), 350);
  }));

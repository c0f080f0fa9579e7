import assert from "node:assert/strict";
import { test } from "node:test";
import type { SocketClose, SocketMessage } from "../../packages/websocket-frames/src/frames.ts";
import { type RelayEnd, type RelayStop, relaySockets } from "../../src/inference/realtime/socket-relay.ts";
import type { SocketEnd, SocketListener } from "../../src/lib/websocket.ts";
import { createTestClock } from "../support/gateway.ts";

/** A WebSocket that does as the test says. */
class TestEnd implements SocketEnd {
  bufferedBytes = 0;
  readonly sent: SocketMessage[] = [];
  readonly done: string[] = [];
  listener: SocketListener | undefined;
  closedWith: SocketClose | undefined;

  listen(listener: SocketListener): void {
    this.listener = listener;
  }
  send(message: SocketMessage): void {
    this.sent.push(message);
  }
  close(close: SocketClose): void {
    this.closedWith ??= close;
  }
  terminate(): void {
    this.done.push("terminate");
  }
  pause(): void {
    this.done.push("pause");
  }
  resume(): void {
    this.done.push("resume");
  }
  probe(): void {
    this.done.push("probe");
  }
  hear(message: SocketMessage): void {
    this.listener?.message(message);
  }
}

const codeOf = ({ closedWith }: TestEnd): number | undefined => closedWith?.code;
const kilobyte = 1024;

function start(options: { check?: () => Promise<RelayStop | undefined> } = {}) {
  const client = new TestEnd();
  const upstream = new TestEnd();
  const clock = createTestClock();
  const streams = new Set<{ tick(now: number): void; end(): void }>();
  const ends: RelayEnd[] = [];
  const noted: SocketMessage[] = [];
  relaySockets({
    client,
    upstream,
    clock,
    streams,
    limits: { maxMessageBytes: 100, idleTimeoutMs: 900_000, totalTimeoutMs: 7_200_000 },
    note: (message) => noted.push(message),
    ended: (end) => ends.push(end),
    check: options.check ?? (async () => undefined),
  });
  const [stream] = streams;
  const tick = (milliseconds: number) => {
    clock.advance(milliseconds);
    stream?.tick(clock.monotonic());
  };
  return { client, upstream, streams, ends, noted, tick, stop: () => stream?.end() };
}

test("relaySockets() forwards messages, and shows those of the upstream", () => {
  const { client, upstream, noted } = start();
  client.hear("a");
  client.hear(Uint8Array.of(1));
  upstream.hear("b");
  assert.deepEqual(upstream.sent, ["a", Uint8Array.of(1)]);
  assert.deepEqual(client.sent, ["b"]);
  assert.deepEqual(noted, ["b"]);
});

for (const [received, sent] of [
  [{ code: 1000, reason: "" }, undefined],
  [{ code: 4321, reason: "own" }, undefined],
  [{ code: 1014, reason: "bad gateway" }, undefined],
  [
    { code: 1005, reason: "" },
    { code: 1000, reason: "" },
  ],
  [
    { code: 1006, reason: "" },
    { code: 1000, reason: "" },
  ],
  [
    { code: 1015, reason: "tls" },
    { code: 1000, reason: "" },
  ],
  [
    { code: 999, reason: "odd" },
    { code: 1000, reason: "" },
  ],
  [
    { code: 2999, reason: "odd" },
    { code: 1000, reason: "" },
  ],
  [
    { code: 3000, reason: "é".repeat(100) },
    { code: 3000, reason: "é".repeat(61) },
  ],
] as const) {
  test(`relaySockets() copies the close ${received.code}`, () => {
    for (const side of ["client", "upstream"] as const) {
      const relay = start();
      const other = side === "client" ? relay.upstream : relay.client;
      relay[side].listener?.close(received);
      assert.deepEqual(other.closedWith, sent ?? received);
      assert.deepEqual(relay.ends, [{ by: side, close: received }]);
      assert.equal(relay.streams.size, 1, "the other side says goodbye first");
      other.listener?.close({ code: 1000, reason: "" });
      assert.equal(relay.streams.size, 0);
      assert.equal(relay.ends.length, 1, "it ends once");
    }
  });
}

test("relaySockets() pauses a side while the other is too slow", () => {
  const { client, upstream } = start();
  upstream.bufferedBytes = 256 * kilobyte;
  client.hear("a");
  assert.deepEqual(client.done, []);
  upstream.bufferedBytes = 256 * kilobyte + 1;
  client.hear("b");
  client.hear("c");
  assert.deepEqual(client.done, ["pause"]);
  upstream.bufferedBytes = 65 * kilobyte;
  upstream.listener?.drain();
  assert.deepEqual(client.done, ["pause"]);
  upstream.bufferedBytes = 0;
  upstream.listener?.drain();
  assert.deepEqual(client.done, ["pause", "resume"]);
  assert.deepEqual(upstream.sent, ["a", "b", "c"], "nothing is lost");
});

test("relaySockets() ends with 1011 when 8 MiB wait for a side that cannot be paused", () => {
  const { client, upstream, ends } = start();
  upstream.bufferedBytes = 8 * 1024 * kilobyte;
  client.hear("a");
  assert.equal(ends.length, 0);
  upstream.bufferedBytes += 1;
  client.hear("b");
  assert.equal(client.closedWith?.code, 1011);
  assert.equal(upstream.closedWith?.code, 1011);
  assert.equal(ends[0]?.by, "gateway");
  client.hear("c");
  assert.deepEqual(upstream.sent, ["a", "b"], "nothing is relayed afterwards");
});

test("relaySockets() ends with 1011 when a side reads nothing for a minute, not while it reads", () => {
  const { client, upstream, tick } = start();
  client.bufferedBytes = 512 * kilobyte;
  upstream.hear("a");
  tick(50_000);
  client.bufferedBytes -= 1;
  tick(50_000);
  tick(50_000);
  assert.equal(codeOf(client), undefined);
  tick(11_000);
  assert.equal(client.closedWith?.code, 1011);
});

test("relaySockets() ends with 1009 at a message over the limit", () => {
  for (const message of ["x".repeat(101), new Uint8Array(101)]) {
    const { client, upstream } = start();
    client.hear(message);
    assert.deepEqual(upstream.sent, []);
    assert.equal(client.closedWith?.code, 1009);
    assert.equal(upstream.closedWith?.code, 1009);
  }
});

test("relaySockets() ends with 1001 when idle, after its time, and when the gateway stops", () => {
  const quiet = start();
  quiet.tick(900_000);
  assert.equal(codeOf(quiet.client), undefined);
  quiet.upstream.hear("a");
  quiet.tick(900_000);
  assert.equal(codeOf(quiet.client), undefined);
  quiet.tick(1);
  assert.match(quiet.client.closedWith?.reason ?? "", /idle/);

  const long = start();
  for (let passed = 0; passed <= 7_200_000; passed += 600_000) {
    long.client.hear("a");
    long.tick(600_000);
  }
  assert.equal(long.upstream.closedWith?.code, 1001);

  const stopped = start();
  stopped.stop();
  assert.deepEqual(stopped.client.closedWith, { code: 1001, reason: "the gateway is stopping" });
  assert.equal(stopped.ends[0]?.by, "gateway");
});

test("relaySockets() pings both sides twice a minute, and ends when the caller may not continue", async () => {
  let stop: RelayStop | undefined;
  const { client, upstream, tick } = start({ check: async () => stop });
  tick(29_999);
  assert.deepEqual(client.done, []);
  tick(1);
  assert.deepEqual([client.done, upstream.done], [["probe"], ["probe"]]);
  stop = { close: { code: 1008, reason: "no" }, event: "why" };
  tick(30_000);
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([client.sent, upstream.sent], [["why"], []]);
  assert.equal(client.closedWith?.code, 1008);
  assert.equal(upstream.closedWith?.code, 1008);
});

test("relaySockets() continues when the key cannot be checked", async () => {
  const { client, tick } = start({ check: () => Promise.reject(new Error("no database")) });
  tick(30_000);
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(codeOf(client), undefined);
});

test("relaySockets() cuts off a side that does not confirm the close", async () => {
  const { client, upstream, streams } = start();
  client.listener?.close({ code: 1000, reason: "" });
  assert.equal(streams.size, 1);
  for (let waited = 0; streams.size > 0 && waited < 5_000; waited += 20) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.deepEqual(upstream.done, ["terminate"]);
  assert.deepEqual(client.done, []);
  assert.equal(streams.size, 0);
});

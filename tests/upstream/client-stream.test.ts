import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunningStream } from "../../src/context.ts";
import { PulledStream, PushedStream } from "../../src/upstream/client-stream.ts";
import { createTestClock } from "../support/gateway.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const createServices = () => ({
  clock: createTestClock(),
  streams: new Set<RunningStream>(),
  limits: { streamKeepAliveMs: 15_000 },
});
type Services = ReturnType<typeof createServices>;

/** Sends what a test hands it. */
class TestPushed extends PushedStream {
  readonly said: string[] = [];
  isEnded = false;

  constructor(services: Services) {
    super(services, "comment");
  }
  start(): ReadableStream<Uint8Array> {
    this.register();
    return this.open();
  }
  async say(text: string): Promise<void> {
    await this.asked();
    if (this.hasLeft) throw new Error("the client left");
    this.said.push(text);
    this.send(encoder.encode(text));
  }
  override end(): void {
    this.isEnded = true;
  }
}

/** Reads pieces of a list, each when it is asked; fails behind the last one. */
class TestPulled extends PulledStream {
  readonly pieces: string[];
  left = 0;
  failure: unknown;

  constructor(services: Services, pieces: string[]) {
    super(services, "ping");
    this.pieces = pieces;
  }
  start(): ReadableStream<Uint8Array> {
    this.register();
    return this.open();
  }
  protected override async step(): Promise<boolean> {
    const piece = this.pieces.shift();
    if (piece === undefined) throw new Error("no more");
    if (piece === "") return false;
    this.send(encoder.encode(piece));
    return true;
  }
  protected override fail(cause: unknown): void {
    this.failure = cause;
    this.isOver = true;
    this.close();
  }
  protected override leave(): void {
    this.left++;
  }
  override end(): void {
    this.isOver = true;
  }
}

/** Lets time pass, and what waits for nothing go on; then one tick. */
async function pass(stream: RunningStream, { clock }: Services, milliseconds: number): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve);
  });
  clock.advance(milliseconds);
  stream.tick(clock.monotonic());
}

test("a pulled stream reads when its client asks, until something was sent", async () => {
  const services = createServices();
  const stream = new TestPulled(services, ["a", "", "", "b"]);
  const reader = stream.start().getReader();
  assert.equal(stream.pieces.length, 4);
  assert.equal(decoder.decode((await reader.read()).value), "a");
  assert.equal(decoder.decode((await reader.read()).value), "b");
  assert.equal((await reader.read()).done, true);
  assert.match(String(stream.failure), /no more/);
  assert.equal(stream.sentBytes, 2);
});

test("a client that reads nothing for a minute is disconnected", async () => {
  const services = createServices();
  const stream = new TestPulled(services, ["a", "b"]);
  const reader = stream.start().getReader();
  await reader.read();
  await pass(stream, services, 60_000);
  assert.equal(stream.left, 0);
  await pass(stream, services, 1);
  assert.equal(stream.left, 1);
  await assert.rejects(reader.read(), /the client reads nothing/);
});

test("a client of a pushed stream that reads nothing is disconnected, and whoever sends learns of it", async () => {
  const services = createServices();
  const stream = new TestPushed(services);
  const reader = stream.start().getReader();
  const said = stream.say("a");
  assert.equal(decoder.decode((await reader.read()).value), "a");
  await said;
  const next = stream.say("b");
  const refused = assert.rejects(next, /the client left/);
  await pass(stream, services, 60_001);
  await refused;
  assert.deepEqual(stream.said, ["a"]);
});

test("a client that waits gets a comment after the silence of the setting", async () => {
  const services = createServices();
  const stream = new TestPushed(services);
  const reader = stream.start().getReader();
  const read = reader.read();
  await pass(stream, services, 14_999);
  await pass(stream, services, 1);
  assert.equal(decoder.decode((await read).value), ": keep-alive\n\n");
  const next = reader.read();
  await stream.say("a");
  assert.equal(decoder.decode((await next).value), "a");
});

test("a stream is registered while it runs", () => {
  const services = createServices();
  const stream = new TestPushed(services);
  stream.start();
  assert.deepEqual([...services.streams], [stream]);
  for (const one of services.streams) one.end();
  assert.equal(stream.isEnded, true);
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { after, test } from "node:test";
import { readEvents } from "../../src/lib/sse.ts";
import {
  chat,
  createTestClock,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  readJson,
  upstreamHeaders,
  waitForLog,
} from "../support/gateway.ts";
import { eventually, startServer, type Upstream } from "../support/upstream.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

const fixture = (name: string) => readFileSync(new URL(`../fixtures/openai/${name}`, import.meta.url), "utf8");

/** Runs a test against a fresh server and closes it. */
async function using(server: Promise<Upstream>, run: (upstream: Upstream) => Promise<void>): Promise<void> {
  const upstream = await server;
  try {
    await run(upstream);
  } finally {
    await upstream.close();
  }
}

type Script = (response: ServerResponse, request: IncomingMessage, body: string) => void | Promise<void>;

/** An upstream that starts an event stream and then does what the script says. */
function streaming(script: Script): Promise<Upstream> {
  return startServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (part) => chunks.push(part));
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream", "x-request-id": "up-1" });
      response.on("error", () => {});
      void script(response, request, Buffer.concat(chunks).toString());
    });
  });
}

/** An upstream that sends a text in chunks, each in a separate write, and closes. */
function sending(pieces: readonly (string | Uint8Array)[]): Promise<Upstream> {
  return streaming(async (response) => {
    for (const piece of pieces) {
      await new Promise<void>((resolve) => response.write(piece, () => resolve()));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
}

interface Ask {
  usage?: boolean;
  headers?: HeaderChanges;
  trace?: string;
  signal?: AbortSignal;
}

function ask(upstream: { url: string }, { usage, headers = {}, trace, signal }: Ask = {}): Promise<Response> {
  const body = { ...helloBody, stream: true, ...(usage && { stream_options: { include_usage: true } }) };
  const changes = {
    ...upstreamHeaders(upstream),
    ...(trace !== undefined && { "x-gateway-trace-id": trace }),
    ...headers,
  };
  return chat(gateway, body, changes, signal ? { signal } : {});
}

interface Chunk {
  choices?: { delta?: { content?: string; tool_calls?: unknown }; finish_reason?: string | null }[];
  usage?: object | null;
  error?: { message: string; code: string | null; type: string };
}

/** What a client receives: chunks in order, and whether and how often `[DONE]` came. */
function readStream(text: string): {
  chunks: Chunk[];
  text: string;
  dones: number;
  last: string;
  error: Chunk["error"];
} {
  const events = readEvents(text).map(({ data }) => data);
  const chunks: Chunk[] = events.filter((data) => data !== "[DONE]").map((data) => JSON.parse(data));
  const pieces = chunks.flatMap(({ choices }) => choices?.map(({ delta }) => delta?.content ?? "") ?? []);
  return {
    chunks,
    text: pieces.join(""),
    dones: events.filter((data) => data === "[DONE]").length,
    last: events.at(-1) ?? "",
    error: chunks.find(({ error }) => error !== undefined && error !== null)?.error,
  };
}

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const piece = (content: string) => event({ id: "x", choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const finish = event({ id: "x", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
const usageTrailer = event({
  id: "x",
  choices: [],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
});
const done = "data: [DONE]\n\n";

/** Requires a stream with a normal end. */
function requireWhole(text: string, wanted: string): Chunk[] {
  const stream = readStream(text);
  assert.equal(stream.text, wanted);
  assert.equal(stream.dones, 1, "[DONE] exactly once");
  assert.equal(stream.last, "[DONE]", "[DONE] last");
  assert.equal(stream.error, undefined);
  return stream.chunks;
}

/** Requires a stream that was ended by an error event. */
function requireBroken(text: string, wanted: string): NonNullable<Chunk["error"]> {
  const stream = readStream(text);
  assert.equal(stream.text, wanted);
  assert.equal(stream.dones, 0, "no [DONE] after an error");
  assert.ok(stream.error, "an error event");
  assert.equal(JSON.parse(stream.last).error.message, stream.error.message, "the error event is the last one");
  return stream.error;
}

test("a stream has the type of events, is not buffered, and names its provider", async () => {
  await using(sending([fixture("stream.sse")]), async (upstream) => {
    const response = await ask(upstream);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assert.equal(response.headers.get("x-accel-buffering"), "no");
    assert.equal(response.headers.get("x-gateway-provider"), "openai");
    assert.equal(response.headers.get("x-request-id"), "up-1");
    assert.equal(response.headers.get("cache-control"), "no-store");
    await response.text();
  });
});

test("the recorded stream is forwarded unchanged when its usage was requested", async () => {
  await using(sending([fixture("stream.sse")]), async (upstream) => {
    const text = await (await ask(upstream, { usage: true })).text();
    assert.equal(text, fixture("stream.sse"));
    requireWhole(text, "Tide rises – 3 m ☂.");
  });
});

test("the recorded stream loses only its usage trailer when it was not requested", async () => {
  await using(sending([fixture("stream.sse")]), async (upstream) => {
    const trace = crypto.randomUUID();
    const text = await (await ask(upstream, { trace })).text();
    const chunks = requireWhole(text, "Tide rises – 3 m ☂.");
    assert.equal(chunks.length, 5);
    assert.equal(
      chunks.some(({ usage }) => usage),
      false,
    );
    const row = await waitForLog(gateway, trace);
    assert.equal(row.status, 200);
    assert.deepEqual([row.usage?.input_tokens, row.usage?.output_tokens, row.usage?.total_tokens], [21, 9, 30]);
    assert.match(JSON.stringify(row.response.body), /Tide rises – 3 m ☂\./);
  });
});

test("recorded tool calls are forwarded", async () => {
  await using(sending([fixture("stream-tools.sse")]), async (upstream) => {
    const text = await (await ask(upstream)).text();
    assert.equal(text, fixture("stream-tools.sse"));
  });
});

test("S7: the recorded error event is forwarded once and ends the stream without [DONE]", async () => {
  await using(sending([fixture("stream-error.sse")]), async (upstream) => {
    const trace = crypto.randomUUID();
    const text = await (await ask(upstream, { trace })).text();
    assert.match(requireBroken(text, "Half a sen").message, /^fixture: /);
    assert.equal((await waitForLog(gateway, trace)).status, 502);
  });
});

test("S4: a stream is forwarded completely wherever its bytes are cut", async () => {
  const bytes = new TextEncoder().encode(piece("Größe ☂") + finish + usageTrailer + done);
  const wanted = new TextDecoder().decode(bytes);
  // one upstream serves every cut: the position is in a header
  const server = streaming(async (response, request) => {
    const cut = Number(request.headers["x-cut"]);
    await new Promise<void>((resolve) => response.write(bytes.subarray(0, cut), () => resolve()));
    await new Promise((resolve) => setImmediate(resolve));
    response.end(bytes.subarray(cut));
  });
  await using(server, async (upstream) => {
    for (let cut = 1; cut < bytes.length; cut++) {
      const headers = { "x-cut": String(cut), "x-gateway-forward-headers": "x-cut" };
      const text = await (await ask(upstream, { usage: true, headers })).text();
      assert.equal(text, wanted, `cut at ${cut}`);
    }
  });
});

for (const size of [1, 2, 3, 7, 64]) {
  test(`S4: a stream is forwarded completely in chunks of ${size} bytes`, async () => {
    const bytes = new TextEncoder().encode(piece("Tide – ☂") + piece("!") + finish + done);
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    await using(sending(pieces), async (upstream) => {
      requireWhole(await (await ask(upstream)).text(), "Tide – ☂!");
    });
  });
}

for (const [name, lineEnd] of [
  ["CRLF", "\r\n"],
  ["CR", "\r"],
] as const) {
  test(`S4: a stream with ${name} line ends is forwarded`, async () => {
    const text = (piece("Tide") + piece(" rises") + finish + usageTrailer + done).replaceAll("\n", lineEnd);
    await using(sending([text.slice(0, 50), text.slice(50)]), async (upstream) => {
      requireWhole(await (await ask(upstream)).text(), "Tide rises");
    });
  });
}

test("S4: comments, unknown fields, a byte order mark and data over several lines are forwarded", async () => {
  const lines = `\ufeff: ping\n\nid: 7\nretry: 10\nunknown\n${piece("Tide")}: ping\n\ndata: {"choices":\ndata: []}\n\n`;
  await using(sending([lines, finish + done]), async (upstream) => {
    requireWhole(await (await ask(upstream)).text(), "Tide");
  });
});

for (const [name, ending] of [
  ["is missing", ""],
  ["comes once", done],
  ["comes twice", done + done],
  ["is written without a space", "data:[DONE]\n\n"],
  ["is followed by a chunk", done + piece("behind")],
] as const) {
  test(`S7: [DONE] is sent once and last when the upstream's ${name} after a finish_reason`, async () => {
    await using(sending([piece("Tide"), finish + ending]), async (upstream) => {
      const trace = crypto.randomUUID();
      requireWhole(await (await ask(upstream, { trace })).text(), "Tide");
      assert.equal((await waitForLog(gateway, trace)).status, 200);
    });
  });
}

test("S7: [DONE] alone is a normal end", async () => {
  await using(sending([piece("Tide"), done]), async (upstream) => {
    requireWhole(await (await ask(upstream)).text(), "Tide");
  });
});

test("S7: content that mentions errors, usage and [DONE] is no error, no usage and no end", async () => {
  const talk = '{"error": {"message": "x"}} "usage": {"a":1} "finish_reason": "stop" [DONE]';
  await using(sending([piece(talk), finish + done]), async (upstream) => {
    requireWhole(await (await ask(upstream)).text(), talk);
  });
});

test("S7: a clean close without finish_reason is one error event and no [DONE]", async () => {
  await using(sending([piece("Half a"), piece(" sen")]), async (upstream) => {
    const trace = crypto.randomUUID();
    const error = requireBroken(await (await ask(upstream, { trace })).text(), "Half a sen");
    assert.equal(error.code, "upstream_incomplete_stream");
    assert.match(error.message, /openai closed it before its end/);
    const row = await waitForLog(gateway, trace);
    assert.deepEqual([row.status, row.error?.code], [502, "upstream_incomplete_stream"]);
    assert.match(JSON.stringify(row.response.body), /Half a sen/);
  });
});

test("S7: a reset inside a stream is one error event and no [DONE]", async () => {
  let reset = () => {};
  const server = streaming((response) => {
    reset = () => void response.socket?.resetAndDestroy();
    response.write(piece("Half"));
  });
  await using(server, async (upstream) => {
    const trace = crypto.randomUUID();
    // the gateway has the first event when it responds: a reset discards what was not read yet
    const response = await ask(upstream, { trace });
    reset();
    requireBroken(await response.text(), "Half");
    assert.equal((await waitForLog(gateway, trace)).status, 502);
  });
});

test("S7: a reset before the first event is a 502 response", async () => {
  const server = streaming((response) => {
    response.write(": ping\n\n", () => setTimeout(() => response.socket?.resetAndDestroy(), 20));
  });
  await using(server, async (upstream) => {
    const response = await ask(upstream);
    assert.equal(response.status, 502, await response.text());
  });
});

for (const [name, text, status, code] of [
  ["broken JSON", "data: {broken\n\n", 502, "upstream_bad_answer"],
  ["a JSON text", 'data: "hello"\n\n', 502, "upstream_bad_answer"],
  ["a JSON list", "data: []\n\n", 502, "upstream_bad_answer"],
  ["nothing", "", 502, "upstream_empty_stream"],
  ["comments alone", ": ping\n\n: ping\n\n", 502, "upstream_empty_stream"],
  ["an overload", event({ error: { type: "overloaded_error", message: "busy" } }), 529, null],
  [
    "an overload with event name",
    `event: error\n${event({ error: { type: "overloaded_error", message: "busy" } })}`,
    529,
    null,
  ],
  ["a rate limit", event({ error: { type: "rate_limit_error", message: "slow" } }), 429, null],
  ["an error with a status", event({ error: { code: 503, message: "later" } }), 503, "503"],
  ["an error of no known kind", event({ error: { message: "hm" } }), 502, null],
  ["an error that is a text", event({ error: "hm" }), 502, null],
] as const) {
  test(`16.4: a stream whose first event is ${name} is a ${status} response`, async () => {
    await using(sending([text]), async (upstream) => {
      const trace = crypto.randomUUID();
      const response = await ask(upstream, { trace });
      const body = await readJson<{ error: { code: string | null; message: string }; provider: string }>(response);
      assert.deepEqual([response.status, body.error.code, body.provider], [status, code, "openai"]);
      assert.equal(response.headers.get("content-type"), "application/json");
      assert.equal((await waitForLog(gateway, trace)).status, status);
    });
  });
}

test("16.4: an error status for a streaming request is a JSON response", async () => {
  const server = startServer((request, response) => {
    request.resume();
    response.writeHead(429, { "content-type": "application/json", "retry-after": "2" });
    response.end(fixture("error-429.json"));
  });
  await using(server, async (upstream) => {
    const response = await ask(upstream);
    const { error } = await readJson<{ error: { code: string; message: string; type: string } }>(response);
    assert.equal(response.status, 429);
    assert.equal(response.headers.get("retry-after"), "2");
    assert.equal(error.code, "rate_limit_exceeded");
    assert.equal(error.message, "openai error: fixture: request rate too high, retry in 2 s");
  });
});

test("a JSON response to a streaming request becomes a stream of it", async () => {
  const server = startServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(fixture("chat.json"));
  });
  await using(server, async (upstream) => {
    const response = await ask(upstream);
    assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
    const text = await response.text();
    assert.ok(text.endsWith(done));
    const { choices } = JSON.parse(fixture("chat.json"));
    assert.ok(text.includes(JSON.stringify(choices[0].message.content)));
  });
});

test("broken JSON after the first event is forwarded unchanged", async () => {
  await using(sending([piece("a"), "data: {broken\n\n", finish + done]), async (upstream) => {
    const text = await (await ask(upstream)).text();
    assert.ok(text.includes("data: {broken\n\n"));
    assert.ok(text.endsWith(done));
  });
});

test("S7: an error event inside a stream is forwarded, and [DONE] after it is not", async () => {
  const error = event({ error: { message: "overloaded", type: "overloaded_error" } });
  await using(sending([piece("a") + error + done]), async (upstream) => {
    const trace = crypto.randomUUID();
    const text = await (await ask(upstream, { trace })).text();
    assert.equal(requireBroken(text, "a").message, "overloaded");
    assert.equal((await waitForLog(gateway, trace)).status, 502);
  });
});

test("S4: an event longer than 4 MiB ends the stream with an error event", async () => {
  const server = streaming(async (response) => {
    response.write(piece("a"));
    const block = Buffer.alloc(256 * 1024, "x");
    response.write("data: ");
    for (let count = 0; count < 18 && !response.destroyed; count++) {
      await new Promise<void>((resolve) => response.write(block, () => resolve()));
    }
  });
  await using(server, async (upstream) => {
    const error = requireBroken(await (await ask(upstream)).text(), "a");
    assert.equal(error.code, "upstream_event_too_long");
    await eventually(() => upstream.sockets.size === 0, "the upstream's socket is closed");
  });
});

test("S8: a silent first event is 408 at the timeout the request sent", async () => {
  await using(
    streaming((response) => void response.write(": ping\n\n")),
    async (upstream) => {
      const response = await ask(upstream, { headers: { "x-gateway-request-timeout": "80" } });
      assert.equal(response.status, 408, await response.text());
      await eventually(() => upstream.sockets.size === 0, "the upstream's socket is closed");
    },
  );
});

test("S8: the request timeout ends with the first event", async () => {
  const server = streaming(async (response) => {
    response.write(piece("a"));
    await new Promise((resolve) => setTimeout(resolve, 2_300));
    response.end(finish + done);
  });
  await using(server, async (upstream) => {
    // generous, so that a busy machine has its first event in time
    const response = await ask(upstream, { headers: { "x-gateway-request-timeout": "2000" } });
    requireWhole(await response.text(), "a");
  });
});

/** A gateway whose clock the test moves; its streams check it about once a second. */
async function withClock(
  limits: { streamIdleTimeoutMs?: number; streamTotalTimeoutMs?: number },
  run: (parts: { own: typeof gateway; advance(ms: number): void }) => Promise<void>,
): Promise<void> {
  const clock = createTestClock();
  const own = await createTestGateway({ clock, limits });
  try {
    await run({ own, advance: clock.advance });
  } finally {
    await own.close();
  }
}

/** Reads the first chunk of a stream. */
async function readFirst(response: Response) {
  assert.ok(response.body);
  const reader = response.body.getReader();
  const { value } = await reader.read();
  return { reader, first: new TextDecoder().decode(value) };
}

async function readRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done: ended, value } = await reader.read();
    if (ended) return text;
    text += decoder.decode(value, { stream: true });
  }
}

for (const [name, limits, code] of [
  ["that goes silent", { streamIdleTimeoutMs: 5_000 }, "upstream_idle"],
  ["that takes too long", { streamTotalTimeoutMs: 5_000 }, "upstream_idle"],
] as const) {
  test(`S8: a stream ${name} ends with an error event and closes the upstream`, async () => {
    await using(
      streaming((response) => void response.write(piece("a"))),
      async (upstream) => {
        await withClock(limits, async ({ own, advance }) => {
          const body = { ...helloBody, stream: true };
          const response = await chat(own, body, upstreamHeaders(upstream));
          const { reader, first } = await readFirst(response);
          const rest = readRest(reader);
          advance(5_001);
          const error = requireBroken(first + (await rest), "a");
          assert.equal(error.code, code);
          await eventually(() => upstream.sockets.size === 0, "the upstream's socket is closed");
        });
      },
    );
  });
}

test("S10: an idle stream gets comments that clients skip", async () => {
  let end = () => {};
  const server = streaming((response) => {
    response.write(piece("a"));
    end = () => response.end(finish + done);
  });
  await using(server, async (upstream) => {
    await withClock({}, async ({ own, advance }) => {
      const response = await chat(own, { ...helloBody, stream: true }, upstreamHeaders(upstream));
      const { reader, first } = await readFirst(response);
      const next = reader.read();
      advance(15_001);
      const comment = new TextDecoder().decode((await next).value);
      assert.match(comment, /^:.*\n\n$/);
      end();
      requireWhole(first + comment + (await readRest(reader)), "a");
    });
  });
});

test("S3: a client that reads nothing for a minute is disconnected and logged as 499", async () => {
  await using(
    streaming((response) => void response.write(piece("a"))),
    async (upstream) => {
      await withClock({}, async ({ own, advance }) => {
        const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": "stalled" };
        const response = await chat(own, { ...helloBody, stream: true }, headers);
        const { reader } = await readFirst(response);
        advance(60_001);
        assert.equal((await waitForLog(own, "stalled")).status, 499);
        await eventually(() => upstream.sockets.size === 0, "the upstream's socket is closed");
        await reader.cancel().catch(() => {});
      });
    },
  );
});

for (const [name, leave] of [
  ["cancels the body", async (reader: ReadableStreamDefaultReader<Uint8Array>) => reader.cancel()],
  ["aborts the request", async (_: unknown, leaving: AbortController) => leaving.abort()],
] as const) {
  test(`S2: a client that ${name} closes the upstream and leaves a row with 499 and the text so far`, async () => {
    await using(
      streaming((response) => void response.write(piece("Half a sen") + usageTrailer)),
      async (upstream) => {
        const trace = crypto.randomUUID();
        const leaving = new AbortController();
        const response = await ask(upstream, { trace, signal: leaving.signal });
        const { reader } = await readFirst(response);
        // the next read waits for the upstream, as a client's would
        const next = reader.read().catch(() => {});
        await leave(reader, leaving);
        await next;
        await eventually(() => upstream.sockets.size === 0, "the upstream's socket is closed");
        const row = await waitForLog(gateway, trace);
        assert.deepEqual([row.status, row.error?.code, row.stream], [499, "client_closed", true]);
        assert.match(JSON.stringify(row.response.body), /Half a sen/);
        assert.equal(row.usage?.total_tokens, 7);
      },
    );
  });
}

test("S3: an upstream is not read faster than the client reads", async () => {
  let written = 0;
  const server = streaming(async (response) => {
    const block = piece("x".repeat(64 * 1024));
    while (!response.destroyed && written < 100_000_000) {
      written += block.length;
      if (!response.write(block)) await new Promise((resolve) => response.once("drain", resolve));
    }
  });
  await using(server, async (upstream) => {
    const response = await ask(upstream);
    const { reader } = await readFirst(response);
    let before = -1;
    // until the upstream's socket accepts no more
    while (written !== before) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.ok(written < 50_000_000, `${written} bytes were taken from the upstream`);
    await reader.cancel();
  });
});

test("X3: drain() ends running streams with one error event", async () => {
  await using(
    streaming((response) => void response.write(piece("a"))),
    async (upstream) => {
      const own = await createTestGateway();
      const response = await chat(own, { ...helloBody, stream: true }, upstreamHeaders(upstream));
      const { reader, first } = await readFirst(response);
      const rest = readRest(reader);
      await own.gateway.drain(50);
      assert.equal(requireBroken(first + (await rest), "a").code, "upstream_shutdown");
      await own.close();
    },
  );
});

test("usage inside a chunk with choices stays, requested or not", async () => {
  const last = event({
    choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });
  await using(sending([piece("a") + last + done]), async (upstream) => {
    const chunks = requireWhole(await (await ask(upstream)).text(), "a");
    assert.ok(chunks.at(-1)?.usage);
  });
});

test("a stream's usage is requested upstream, without appearing in the caller's request", async () => {
  const bodies: string[] = [];
  const server = streaming((response, _request, body) => {
    bodies.push(body);
    response.end(piece("a") + finish + usageTrailer + done);
  });
  await using(server, async (upstream) => {
    const chunks = requireWhole(await (await ask(upstream)).text(), "a");
    assert.equal(chunks.length, 2);
  });
  assert.deepEqual(JSON.parse(bodies[0] ?? "").stream_options, { include_usage: true });
});

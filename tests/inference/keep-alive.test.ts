import assert from "node:assert/strict";
import { after, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { readSettings } from "../../src/settings.ts";
import { createTestClock, createTestGateway, requestHeaders, waitForLog } from "../support/gateway.ts";
import { createPacedStream, PieceReader } from "../support/paced-stream.ts";
import { startServer } from "../support/upstream.ts";
import { createWire } from "../support/wire.ts";

const clock = createTestClock();
const wire = createWire();
const gateway = await createTestGateway({ clock, transport: wire.transport, checksAnswers: false });
after(() => gateway.close());

const events = (...list: readonly object[]) => list.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
const typed = (...list: readonly { type: string }[]) =>
  list.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("");

const piece = (content: string) =>
  events({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  });
const finish = `${events({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`;
const usage = { input_tokens: 3, output_tokens: 2 };
const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
const claude = {
  begin: typed(
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    } as { type: string },
    block,
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Tide" } } as { type: string },
  ),
  end: typed(
    { type: "content_block_stop", index: 0 } as { type: string },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage } as { type: string },
    { type: "message_stop" },
  ),
};
const item = {
  type: "message",
  id: "i",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Tide", annotations: [] }],
};
const response = {
  id: "r",
  object: "response",
  created_at: 1,
  model: "m",
  status: "in_progress",
  output: [] as object[],
  usage: null as object | null,
};
const responses = {
  begin: typed(
    { type: "response.created", sequence_number: 0, response } as { type: string },
    {
      type: "response.output_item.added",
      sequence_number: 1,
      output_index: 0,
      item: { ...item, content: [], status: "in_progress" },
    } as { type: string },
  ),
  end: typed({
    type: "response.completed",
    sequence_number: 2,
    response: {
      ...response,
      status: "completed",
      output: [item],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    },
  } as { type: string }),
};
const gemini = {
  begin: events({ candidates: [{ content: { role: "model", parts: [{ text: "Tide" }] } }] }),
  end: events({
    candidates: [{ content: { role: "model", parts: [{ text: "s" }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  }),
};

const comment = ": keep-alive\n\n";
const ping = 'event: ping\ndata: {"type": "ping"}\n\n';
const chat = {
  path: "/v1/chat/completions",
  body: { model: "m", messages: [{ role: "user", content: "x" }], stream: true },
};
const message = { path: "/v1/messages", body: { ...chat.body, max_tokens: 9 } };
const asked = { path: "/v1/responses", body: { model: "m", input: "x", stream: true } };
const generate = {
  path: "/v1beta/models/m:streamGenerateContent?alt=sse",
  body: { contents: [{ role: "user", parts: [{ text: "x" }] }] },
};
const eventStream = { "content-type": "text/event-stream" };

interface Ask {
  path: string;
  body: object;
}

function send({ path, body }: Ask, provider: string, more: Record<string, string> = {}): Promise<Response> {
  const headers = requestHeaders({ "x-gateway-provider": provider, authorization: "Bearer fake", ...more });
  return gateway.gateway.fetch(
    new Request(`http://gateway.test${path}`, { method: "POST", headers, body: JSON.stringify(body) }),
  );
}

for (const [name, ask, provider, stream, wanted] of [
  ["a chat", chat, "openai", { begin: piece("Tide"), end: finish }, comment],
  ["a converted chat", chat, "anthropic", claude, comment],
  ["a native message", message, "anthropic", claude, ping],
  ["a converted message", message, "openai", { begin: piece("Tide"), end: finish }, ping],
  ["a response", asked, "openai", responses, comment],
  ["contents of Gemini", generate, "google", gemini, comment],
] as const) {
  test(`${name} that is silent for minutes gets a comment or ping, which its row does not hold`, async () => {
    const upstream = createPacedStream();
    wire.answer = () => new Response(upstream.body, { headers: eventStream });
    upstream.send(stream.begin);
    const trace = crypto.randomUUID();
    const answer = await send(ask, provider, { "x-gateway-trace-id": trace });
    assert.equal(answer.status, 200);
    const reader = new PieceReader(answer);
    await reader.next();
    for (const silent of [15_000, 240_000]) {
      const next = reader.next();
      clock.advance(silent);
      assert.equal(await next, wanted);
    }
    upstream.send(stream.end);
    upstream.end();
    const text = await reader.rest();
    assert.doesNotMatch(text, /upstream_idle/);
    const row = await waitForLog(gateway, trace);
    assert.equal(row.status, 200);
    assert.doesNotMatch(JSON.stringify(row.response.body), /keep-alive|ping/);
  });
}

/** What a client of a paced stream gets: some of its events, what keeps it alive, and the rest. */
async function streamOf(ask: Ask, provider: string, stream: { begin: string; end: string }): Promise<Response> {
  const upstream = createPacedStream();
  wire.answer = () => new Response(upstream.body, { headers: eventStream });
  upstream.send(stream.begin);
  const answer = await send(ask, provider);
  const reader = new PieceReader(answer);
  await reader.next();
  const next = reader.next();
  clock.advance(15_000);
  await next;
  upstream.send(stream.end);
  upstream.end();
  return new Response(await reader.rest(), { headers: eventStream });
}

test("clients of OpenAI, Anthropic and Google skip what keeps a stream alive", async () => {
  const serving = (ask: Ask, provider: string, stream: { begin: string; end: string }) => ({
    apiKey: "fake",
    maxRetries: 0,
    fetch: () => streamOf(ask, provider, stream),
  });
  const openai = new OpenAI(serving(chat, "openai", { begin: piece("Tide"), end: finish }));
  const parts: unknown[] = [];
  for await (const chunk of await openai.chat.completions.create({ model: "m", messages: [], stream: true })) {
    parts.push(chunk.choices[0]?.delta.content ?? chunk.choices[0]?.finish_reason);
  }
  assert.deepEqual(parts, ["Tide", "stop"]);
  const types: string[] = [];
  const other = new OpenAI(serving(asked, "openai", responses));
  for await (const { type } of await other.responses.create({ model: "m", input: "x", stream: true })) types.push(type);
  assert.deepEqual(types, ["response.created", "response.output_item.added", "response.completed"]);
  for (const [provider, stream] of [
    ["anthropic", claude],
    ["openai", { begin: piece("Tide"), end: finish }],
  ] as const) {
    const anthropic = new Anthropic(serving(message, provider, stream));
    const stream2 = anthropic.messages.stream({
      model: "m",
      max_tokens: 9,
      messages: [{ role: "user", content: "x" }],
    });
    const { content } = await stream2.finalMessage();
    assert.deepEqual(
      content.map((one) => one.type === "text" && one.text),
      ["Tide"],
    );
  }
  const text = await (await streamOf(generate, "google", gemini)).text();
  const server = await startServer((_, out) => void out.writeHead(200, eventStream).end(text));
  try {
    const google = new GoogleGenAI({ apiKey: "fake", httpOptions: { baseUrl: server.url } });
    let said = "";
    for await (const one of await google.models.generateContentStream({ model: "m", contents: "x" })) said += one.text;
    assert.equal(said, "Tides");
  } finally {
    await server.close();
  }
});

test("a forwarded stream of events gets comments between its events, wherever its bytes are cut", async () => {
  const upstream = createPacedStream();
  wire.answer = () => new Response(upstream.body, { headers: eventStream });
  const trace = crypto.randomUUID();
  const answer = await send({ path: "/v1/proxy/things", body: {} }, "openai", { "x-gateway-trace-id": trace });
  const reader = new PieceReader(answer);
  /** What the client gets while 20 seconds pass after a piece, which is followed by another. */
  const after = async (sent: string, following: string) => {
    upstream.send(sent);
    assert.equal(await reader.next(), sent);
    const next = reader.next();
    clock.advance(20_000);
    // streams are looked at once a second
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    upstream.send(following);
    return next;
  };
  assert.equal(await after("data: a", "b\n"), "b\n");
  assert.equal(await after("event: x\r\n", "data: c\r"), "data: c\r");
  assert.equal(await after("\n\r", "\n"), "\n");
  assert.equal(await after("data: d\n\n", "data: e\r\n\r\n"), comment);
  assert.equal(await reader.next(), "data: e\r\n\r\n");
  assert.equal(await after("data: f\r\n\r\n", "data: g\n\n"), comment);
  upstream.end();
  await reader.rest();
  assert.doesNotMatch(JSON.stringify((await waitForLog(gateway, trace)).response.body), /keep-alive/);
});

for (const [name, headers, body] of [
  ["JSON lines", { "content-type": "application/x-ndjson" }, '{"a":1}\n\n'],
  ["an event stream of AWS", { "content-type": "application/vnd.amazon.eventstream" }, "\n\n"],
  ["binary data", { "content-type": "application/octet-stream" }, "\n\n"],
  ["compressed events", { ...eventStream, "content-encoding": "br" }, "\n\n"],
  ["events of a known length", { ...eventStream, "content-length": "600000" }, "\n\n"],
] as const) {
  test(`a forwarded response of ${name} gets nothing between its bytes`, async () => {
    const upstream = createPacedStream();
    wire.answer = () => new Response(upstream.body, { headers });
    const answer = await send({ path: "/v1/proxy/things", body: {} }, "openai");
    const reader = new PieceReader(answer);
    upstream.send(body);
    await reader.next();
    const next = reader.next();
    clock.advance(20_000);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    upstream.send("more");
    assert.equal(await next, "more");
    upstream.end();
    await reader.rest();
  });
}

test("a stream that is held back for a guardrail has no comments in it", async () => {
  const upstream = createPacedStream();
  wire.answer = () => new Response(upstream.body, { headers: eventStream });
  upstream.send(piece("Tide"));
  const checks = [{ id: "default.wordCount", parameters: { minWords: 1, maxWords: 99 } }];
  const config = JSON.stringify({ output_guardrails: [{ checks, deny: true }] });
  const answer = send(chat, "openai", { "x-gateway-config": config });
  await new Promise((resolve) => setTimeout(resolve, 300));
  clock.advance(20_000);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  upstream.send(finish);
  upstream.end();
  const held = await answer;
  assert.ok(held.headers.get("x-gateway-stream-held"));
  assert.doesNotMatch(await held.text(), /keep-alive/);
});

test("STREAM_KEEP_ALIVE_MS sets the time, and 0 switches comments off", async () => {
  const read = (value: string) => readSettings({ STREAM_KEEP_ALIVE_MS: value }).gateway.limits?.streamKeepAliveMs;
  assert.deepEqual([read("20"), read("0")], [20, 0]);
  assert.throws(() => read("-1"), /STREAM_KEEP_ALIVE_MS/);
  const quiet = await createTestGateway({ clock, transport: wire.transport, limits: { streamKeepAliveMs: 0 } });
  const upstream = createPacedStream();
  wire.answer = () => new Response(upstream.body, { headers: eventStream });
  upstream.send(piece("Tide"));
  const headers = requestHeaders({ "x-gateway-provider": "openai", authorization: "Bearer fake" });
  const init = { method: "POST", headers, body: JSON.stringify(chat.body) };
  const reader = new PieceReader(await quiet.gateway.fetch(new Request(`http://gateway.test${chat.path}`, init)));
  await reader.next();
  const next = reader.next();
  clock.advance(20_000);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  upstream.send(finish);
  assert.match(await next, /finish_reason/);
  upstream.end();
  await reader.rest();
  await quiet.close();
});

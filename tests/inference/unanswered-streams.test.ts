import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestClock, createTestGateway, requestHeaders, waitForLog } from "../support/gateway.ts";
import { createPacedStream, PieceReader } from "../support/paced-stream.ts";
import { createWire } from "../support/wire.ts";

const clock = createTestClock();
const wire = createWire();
const gateway = await createTestGateway({ clock, transport: wire.transport, checksAnswers: false });
after(() => gateway.close());

const eventStream = { "content-type": "text/event-stream" };
type Event = Readonly<Record<string, unknown>>;
const data = (...list: readonly Event[]) => list.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
const typed = (...list: readonly Event[]) =>
  list.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("");

const shared = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
const chunk = (delta: Event, finish_reason: string | null = null) =>
  data({ ...shared, choices: [{ index: 0, delta, finish_reason }] });
const role = chunk({ role: "assistant", content: "" });
const tokens = data({ ...shared, choices: [], usage: { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 } });
const done = "data: [DONE]\n\n";
const usage = { input_tokens: 3, output_tokens: 0 };
const start = {
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
};
const response = { id: "r", object: "response", created_at: 1, model: "m", status: "in_progress", output: [] };
const counts = { usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 }, modelVersion: "m" };

const message = "the tide turns";
const asks = {
  chat: {
    path: "/v1/chat/completions",
    body: { model: "m", messages: [{ role: "user", content: "x" }], stream: true },
  },
  messages: {
    path: "/v1/messages",
    body: { model: "m", max_tokens: 9, messages: [{ role: "user", content: "x" }], stream: true },
  },
  responses: { path: "/v1/responses", body: { model: "m", input: "x", stream: true } },
  gemini: {
    path: "/v1beta/models/m:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: "x" }] }] },
  },
};
type Ask = (typeof asks)[keyof typeof asks];

/** An answer of OpenAI's, of Anthropic's and of Google's chat. */
const answers: Readonly<Record<string, string>> = {
  openai: role + chunk({ content: message }) + chunk({}, "stop") + done,
  anthropic: typed(
    start,
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: message } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "message_stop" },
  ),
  google: data({ candidates: [{ content: { parts: [{ text: message }] }, finishReason: "STOP" }], ...counts }),
};

async function send({ path, body }: Ask, config: object, trace = crypto.randomUUID()) {
  const headers = requestHeaders({
    "x-gateway-provider": null,
    "x-gateway-config": JSON.stringify(config),
    "x-gateway-trace-id": trace,
  });
  const request = new Request(`http://gateway.test${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return { answer: await gateway.gateway.fetch(request), trace };
}

/** Streams that say nothing, by their provider. */
const silent: readonly (readonly [name: string, provider: string, stream: string])[] = [
  ["[DONE] alone", "openai", done],
  ["a role and [DONE]", "openai", role + done],
  ["a role, its usage and [DONE]", "openai", role + tokens + done],
  ["a role and its end", "openai", role],
  ["a role and an error", "openai", role + data({ error: { message: "overloaded", code: 503 } })],
  ["an end without content", "anthropic", typed(start, { type: "ping" }, { type: "message_stop" })],
  [
    "an error after its start",
    "anthropic",
    typed(start, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  ],
  ["a start", "anthropic", typed(start, { type: "ping" })],
  ["counts alone", "google", data(counts, counts)],
];

const target = (provider: string, route = "") => ({
  // chats of a provider that has no Responses API
  provider: provider === "openai" && route === "responses" ? "cerebras" : provider,
  api_key: "fake",
});

for (const [name, provider, stream] of silent) {
  for (const [route, ask] of Object.entries(asks)) {
    test(`a stream of ${provider} with ${name} is no answer to ${route}: the next target is called`, async () => {
      for (const pieces of [[stream], stream.split(/(?<=\n\n)/)]) {
        const bodies = [pieces, [answers[provider] ?? ""]];
        let calls = 0;
        wire.answer = () => {
          const upstream = createPacedStream();
          for (const piece of bodies[calls++] ?? []) upstream.send(piece);
          upstream.end();
          return new Response(upstream.body, { headers: eventStream });
        };
        const config = { strategy: { mode: "fallback" }, targets: [target(provider, route), target(provider, route)] };
        const { answer } = await send(ask, config);
        const text = await answer.text();
        assert.deepEqual([answer.status, calls], [200, 2], text);
        assert.equal(text.split(message).length > 1, true, text);
      }
    });
  }
}

for (const [name, events] of [
  [
    "a response that was only created",
    typed({ type: "response.created", response }, { type: "response.in_progress", response }),
  ],
  [
    "a response that fails at once",
    typed(
      { type: "response.created", response },
      {
        type: "response.failed",
        response: { ...response, status: "failed", error: { code: "server_error", message: "x" } },
      },
    ),
  ],
] as const) {
  test(`a native stream of ${name} is no answer: the call is repeated`, async () => {
    let calls = 0;
    const item = { type: "message", role: "assistant", id: "i", content: [{ type: "output_text", text: message }] };
    const whole = typed(
      { type: "response.created", response },
      { type: "response.completed", response: { ...response, status: "completed", output: [item] } },
    );
    wire.answer = () => new Response(calls++ === 0 ? events : whole, { headers: eventStream });
    const { answer } = await send(asks.responses, {
      ...target("openai"),
      retry: { attempts: 1, on_status_codes: [500, 502] },
    });
    assert.deepEqual([answer.status, await answer.text(), calls], [200, whole, 2]);
  });
}

for (const [name, provider, stream] of silent) {
  test(`a stream of the only target, ${provider}, with ${name} is an error with a status`, async () => {
    wire.answer = () => new Response(stream, { headers: eventStream });
    for (const [route, ask] of Object.entries(asks)) {
      const { answer } = await send(ask, target(provider, route));
      const text = await answer.text();
      assert.ok(answer.status >= 500, `${answer.status} ${text}`);
      assert.match(text, /without an answer|verloaded/);
    }
  });
}

/** Streams without text that say something, and a part of them that the client must get. */
const meant: readonly (readonly [name: string, provider: string, stream: string, part: RegExp])[] = [
  ["the end by length", "openai", role + chunk({}, "length") + done, /"length"/],
  ["a filter", "openai", role + chunk({}, "content_filter") + done, /"content_filter"/],
  ["a refusal", "openai", role + chunk({ refusal: "No" }) + chunk({}, "stop") + done, /"No"/],
  ["a normal end", "openai", role + chunk({}, "stop") + done, /"stop"/],
  [
    "a call",
    "openai",
    role +
      chunk({ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } }] }) +
      chunk({}, "tool_calls") +
      done,
    /tool_calls/,
  ],
  [
    "the end of a turn",
    "anthropic",
    typed(start, { type: "message_delta", delta: { stop_reason: "refusal" }, usage }, { type: "message_stop" }),
    /content_filter/,
  ],
  [
    "a blocked prompt",
    "google",
    data({ promptFeedback: { blockReason: "SAFETY" }, ...counts }),
    /content_filter|SAFETY/,
  ],
  ["a finish reason", "google", data({ candidates: [{ finishReason: "MAX_TOKENS" }], ...counts }), /length/],
];

for (const [name, provider, stream, part] of meant) {
  test(`a stream of ${provider} whose meaning is ${name} is an answer`, async () => {
    let calls = 0;
    wire.answer = () => {
      calls++;
      return new Response(stream, { headers: eventStream });
    };
    const config = { strategy: { mode: "fallback" }, targets: [target(provider), target(provider)] };
    const { answer } = await send(asks.chat, config);
    const text = await answer.text();
    assert.deepEqual([answer.status, calls], [200, 1], text);
    assert.match(text, part);
  });
}

test("what was held is forwarded unchanged with the first event that says something, which is not held", async () => {
  const upstream = createPacedStream();
  wire.answer = () => new Response(upstream.body, { headers: eventStream });
  upstream.send(role);
  const asked = send(asks.chat, target("openai"));
  await new Promise((resolve) => setTimeout(resolve, 50));
  upstream.send(chunk({ content: message }));
  const { answer } = await asked;
  const reader = new PieceReader(answer);
  assert.equal(await reader.next(), role + chunk({ content: message }));
  upstream.send(chunk({}, "stop"));
  assert.equal(await reader.next(), chunk({}, "stop"));
  upstream.send(done);
  upstream.end();
  await reader.rest();
  assert.equal(reader.text, role + chunk({ content: message }) + chunk({}, "stop") + done);
});

test("a stream that says nothing for 15 seconds is begun, and ends with an error if nothing follows", async () => {
  for (const ending of ["", done]) {
    const upstream = createPacedStream();
    wire.answer = () => new Response(upstream.body, { headers: eventStream });
    upstream.send(role);
    const asked = send(asks.chat, target("openai"));
    let isSettled = false;
    void asked.then(() => {
      isSettled = true;
    });
    while (!isSettled) {
      clock.advance(5_000);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    const { answer, trace } = await asked;
    const reader = new PieceReader(answer);
    assert.equal(await reader.next(), role);
    upstream.send(ending);
    upstream.end();
    const text = await reader.rest();
    assert.match(text, /upstream_empty_stream/);
    assert.doesNotMatch(text, /\[DONE\]/);
    assert.equal((await waitForLog(gateway, trace)).status, 502);
  }
});

test("tokens that an unanswered stream reports are part of the cost of the request", async () => {
  let calls = 0;
  const model = "gpt-4o";
  const counted = data({
    ...shared,
    model,
    choices: [],
    usage: { prompt_tokens: 1_000_000, completion_tokens: 0, total_tokens: 1_000_000 },
  });
  wire.answer = () => new Response(calls++ === 0 ? role + counted + done : answers.openai, { headers: eventStream });
  const config = { strategy: { mode: "fallback" }, targets: [target("openai"), target("openai")] };
  const { answer, trace } = await send({ ...asks.chat, body: { ...asks.chat.body, model } }, config);
  await answer.text();
  const row = await waitForLog(gateway, trace);
  assert.ok((row.discarded_cost ?? 0) > 0, JSON.stringify(row));
});

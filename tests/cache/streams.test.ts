import assert from "node:assert/strict";
import { test } from "node:test";
import { isObject, objectsIn } from "../../src/lib/json.ts";
import { readEvents } from "../../src/lib/sse.ts";
import { assembleStream } from "../../src/logs/assemble.ts";
import {
  ask,
  askChat,
  type Came,
  cachedHeaders,
  question,
  type Respond,
  toJsonResponse,
  withCache,
} from "../support/cache.ts";
import { waitForLogs, workspaceKey } from "../support/gateway.ts";
import {
  chatStream,
  chatWhole,
  completionStream,
  contentStream,
  endlessStream,
  messageStream,
  responseStream,
  spoken,
} from "../support/stored-streams.ts";

/** Parts of a response that differ from one to the other of the same content: times of making. */
function stripped(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { hook_results: _, provider: __, ...rest } = value;
  return rest;
}

const wholeOf = (came: Came): unknown => stripped(assembleStream(came.text));

/** The text a response says, wherever its API has it. */
function saidBy(answer: unknown): string {
  if (!isObject(answer)) return "";
  const [choice] = objectsIn(answer.choices);
  if (choice) return String(isObject(choice.message) ? choice.message.content : choice.text);
  const [candidate] = objectsIn(answer.candidates);
  const blocks = isObject(candidate?.content)
    ? candidate.content.parts
    : (answer.content ?? objectsIn(answer.output).find(({ type }) => type === "message")?.content);
  return objectsIn(blocks)
    .map(({ text }) => text ?? "")
    .join("");
}

const messages = { model: "claude-sonnet-4-5", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
const contents = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };

interface Dialect {
  what: string;
  path: string;
  body: object;
  provider: string;
  respond: () => Response;
  /** What ends a stream of the API. */
  end: RegExp;
}

const dialects: readonly Dialect[] = [
  {
    what: "chat",
    path: "/v1/chat/completions",
    body: question,
    provider: "openai",
    respond: chatStream,
    end: /"finish_reason":"tool_calls"[^\n]*\n\ndata: \[DONE\]\n\n$/,
  },
  {
    what: "completions",
    path: "/v1/completions",
    body: { model: "m", prompt: "Hi" },
    provider: "openai",
    respond: completionStream,
    end: /data: \[DONE\]\n\n$/,
  },
  {
    what: "messages",
    path: "/v1/messages",
    body: messages,
    provider: "anthropic",
    respond: messageStream,
    end: /event: message_stop\ndata: [^\n]*\n\n$/,
  },
  {
    what: "messages over chat",
    path: "/v1/messages",
    body: { ...messages, model: "gpt-4o" },
    provider: "openai",
    respond: chatStream,
    end: /event: message_stop\ndata: [^\n]*\n\n$/,
  },
  {
    what: "chat of another API",
    path: "/v1/chat/completions",
    body: { ...question, model: "claude-sonnet-4-5" },
    provider: "anthropic",
    respond: messageStream,
    end: /data: \[DONE\]\n\n$/,
  },
  {
    what: "responses",
    path: "/v1/responses",
    body: { model: "gpt-4o", input: "Hi" },
    provider: "openai",
    respond: responseStream,
    end: /event: response.completed\ndata: [^\n]*\n\n$/,
  },
  {
    what: "responses over chat",
    path: "/v1/responses",
    body: { model: "m", input: "Hi" },
    provider: "deepinfra",
    respond: chatStream,
    end: /event: response.completed\ndata: [^\n]*\n\n$/,
  },
];

for (const { what, path, body, provider, respond, end } of dialects) {
  test(`a stream of 100 events is replayed as a stream: ${what}`, () =>
    withCache(
      async (stage) => {
        const headers = cachedHeaders(undefined, { "x-gateway-provider": provider });
        const asked = (stream: boolean) => ask(stage, path, { ...body, ...(stream && { stream }) }, headers);
        const first = await asked(true);
        assert.deepEqual([first.status, first.cache], [200, "MISS"]);
        assert.ok(readEvents(first.text).length > 95);
        const second = await asked(true);
        assert.deepEqual([second.status, second.cache], [200, "HIT"]);
        assert.equal(second.headers.get("content-type"), "text/event-stream; charset=utf-8");
        assert.deepEqual(wholeOf(second), wholeOf(first));
        assert.equal(saidBy(wholeOf(second)), spoken);
        assert.match(second.text, end);
        // the same entry serves requests without a stream
        const third = await asked(false);
        assert.deepEqual([third.cache, saidBy(JSON.parse(third.text))], ["HIT", spoken]);
        assert.equal(stage.sent.length, 1);
      },
      { respond: () => respond() },
    ));
}

for (const [what, provider, model, respond] of [
  ["natively", "google", "gemini-2.5-flash", contentStream],
  ["over chat", "openai", "gpt-4o", chatStream],
] as const) {
  test(`a stream of the Gemini API is replayed as a stream: ${what}`, () =>
    withCache(
      async (stage) => {
        const headers = cachedHeaders(undefined, { "x-gateway-provider": provider });
        const asked = (action: string) => ask(stage, `/v1beta/models/${model}:${action}`, contents, headers);
        const first = await asked("streamGenerateContent?alt=sse");
        assert.deepEqual([first.status, first.cache], [200, "MISS"]);
        const second = await asked("streamGenerateContent?alt=sse");
        assert.deepEqual([second.cache, saidBy(wholeOf(second)), saidBy(wholeOf(first))], ["HIT", spoken, spoken]);
        const listed = await asked("streamGenerateContent");
        assert.deepEqual([listed.cache, saidBy(JSON.parse(listed.text)[0])], ["HIT", spoken]);
        const whole = await asked("generateContent");
        assert.deepEqual([whole.cache, saidBy(JSON.parse(whole.text))], ["HIT", spoken]);
        assert.equal(stage.sent.length, 1);
      },
      { respond: () => respond() },
    ));
}

test("the JSON made of a stream is the provider's own", () =>
  withCache(
    async (stage) => {
      await askChat(stage, undefined, { ...question, stream: true });
      const { cache, text } = await askChat(stage);
      assert.deepEqual([cache, JSON.parse(text)], ["HIT", chatWhole]);
    },
    { respond: () => chatStream() },
  ));

/** The blocks of the first choice of a stream's chunks: pieces with the same index belong together. */
function blocksIn({ text }: Came): Record<string, unknown>[] {
  const blocks: Record<string, unknown>[] = [];
  for (const { data } of readEvents(text)) {
    const pieces: unknown = data === "[DONE]" ? [] : JSON.parse(data).choices[0]?.delta.content_blocks;
    for (const { index, delta } of Array.isArray(pieces) ? pieces : []) {
      const block = blocks[index] ?? {};
      for (const [name, value] of Object.entries<string>(delta)) {
        block[name] = name === "type" ? value : `${block[name] ?? ""}${value}`;
      }
      blocks[index] = block;
    }
  }
  return blocks;
}

const thinkingBlock = { type: "thinking", thinking: "Let me see", signature: "c2lnbmVk" };

test("blocks of a chat stream of another API are stored, and replayed as JSON and as a stream", () =>
  withCache(
    async (stage) => {
      const headers = cachedHeaders(undefined, {
        "x-gateway-provider": "anthropic",
        "x-gateway-strict-open-ai-compliance": "false",
      });
      const asked = (stream: boolean) =>
        askChat(stage, headers, { ...question, model: "claude-sonnet-4-5", ...(stream && { stream }) });
      const first = await asked(true);
      const blocks = [thinkingBlock, { type: "text", text: spoken }];
      // a stream cannot say that nothing follows a call: it has the place of every call
      assert.deepEqual([first.cache, blocksIn(first)], ["MISS", [...blocks, { type: "tool_use", id: "toolu_1" }]]);
      const second = await asked(true);
      assert.deepEqual([second.cache, blocksIn(second)], ["HIT", blocks]);
      const whole = await asked(false);
      assert.deepEqual([whole.cache, JSON.parse(whole.text).choices[0].message.content_blocks], ["HIT", blocks]);
      assert.equal(stage.sent.length, 1);
    },
    { respond: () => messageStream() },
  ));

test("blocks whose stream does not name their type get it where it is clear", () =>
  withCache(
    async (stage) => {
      const headers = cachedHeaders(undefined, {
        "x-gateway-provider": "google",
        "x-gateway-strict-open-ai-compliance": "false",
      });
      const asked = (stream: boolean) =>
        askChat(stage, headers, { ...question, model: "gemini-2.5-flash", ...(stream && { stream }) });
      const first = await asked(true);
      assert.deepEqual([first.cache, (await asked(true)).cache], ["MISS", "HIT"]);
      const { content_blocks: blocks } = JSON.parse((await asked(false)).text).choices[0].message;
      assert.deepEqual(
        blocks.map(({ type }: { type: string }) => type),
        blocksIn(first).map((block) => ("thinking" in block ? "thinking" : "text")),
      );
      assert.equal(stage.sent.length, 1);
    },
    { respond: () => contentStream() },
  ));

for (const path of ["/v1/proxy/v1/chat/completions", "/v1/proxy/v1/things"]) {
  test(`a forwarded request is not cached, and its response says so: ${path}`, () =>
    withCache(async (stage) => {
      for (const expected of [1, 2]) {
        const { status, cache } = await ask(stage, path, question);
        assert.deepEqual([status, cache, stage.sent.length], [200, "DISABLED", expected]);
      }
    }));
}

test("a stored JSON response is replayed as a stream, with its usage where that is asked for", () =>
  withCache(
    async (stage) => {
      await askChat(stage);
      const plain = await askChat(stage, undefined, { ...question, stream: true });
      assert.deepEqual([plain.cache, saidBy(wholeOf(plain)), plain.text.includes('"usage"')], ["HIT", spoken, false]);
      const body = { ...question, stream: true, stream_options: { include_usage: true } };
      const counted = await askChat(stage, undefined, body);
      const { usage } = chatWhole;
      assert.deepEqual([counted.cache, Reflect.get(Object(wholeOf(counted)), "usage")], ["HIT", usage]);
      assert.equal(stage.sent.length, 1);
    },
    { respond: () => toJsonResponse(chatWhole) },
  ));

test("numbers that JavaScript cannot represent survive in a stored stream", () => {
  const id = "12345678901234567890";
  const stream = (number: string) =>
    `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","big":${number},"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
  return withCache(
    async (stage) => {
      await askChat(stage, undefined, { ...question, stream: true });
      const { cache, text } = await askChat(stage);
      assert.equal(cache, "HIT");
      assert.ok(text.includes(`"big":${id}`), text);
    },
    { respond: () => new Response(stream(id), { headers: { "content-type": "text/event-stream" } }) },
  );
});

const unusable: readonly (readonly [what: string, respond: Respond])[] = [
  ["is cut off", () => chatStream(true)],
  [
    "reports an error",
    () =>
      new Response('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: {"error":{"message":"no"}}\n\n', {
        headers: { "content-type": "text/event-stream" },
      }),
  ],
  [
    "has members nobody can put together",
    () =>
      new Response(
        'data: {"id":"c","choices":[{"index":0,"delta":{"odd":"a"}}]}\n\ndata: {"id":"c","choices":[{"index":0,"delta":{"odd":"b"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
        { headers: { "content-type": "text/event-stream" } },
      ),
  ],
];

for (const [what, respond] of unusable) {
  test(`a stream that ${what} is not stored`, () =>
    withCache(
      async (stage) => {
        const body = { ...question, stream: true };
        await askChat(stage, undefined, body);
        assert.equal((await askChat(stage, undefined, body)).cache, "MISS");
        assert.equal(stage.sent.length, 2);
      },
      { respond },
    ));
}

test("a stream whose client leaves is not stored", () =>
  withCache(
    async (stage) => {
      const leaving = new AbortController();
      const headers = new Headers({
        "content-type": "application/json",
        "x-gateway-api-key": workspaceKey,
      });
      for (const [name, value] of Object.entries(cachedHeaders())) if (value !== null) headers.set(name, value);
      const response = await stage.gateway.fetch("/v1/chat/completions", {
        method: "POST",
        headers,
        body: JSON.stringify({ ...question, stream: true }),
        signal: leaving.signal,
      });
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
      leaving.abort();
      await waitForLogs(stage.gateway, "limit=1");
      assert.equal((await askChat(stage, undefined, { ...question, stream: true })).cache, "MISS");
    },
    { respond: (_, number) => (number === 1 ? endlessStream() : chatStream()) },
  ));

test("a stream of images is not cached", () =>
  withCache(
    async (stage) => {
      const body = { prompt: "A cat", model: "gpt-image-1" };
      await ask(stage, "/v1/images/generations", body);
      const streamed = await ask(stage, "/v1/images/generations", { ...body, stream: true });
      assert.equal(streamed.cache, "DISABLED");
    },
    { respond: () => toJsonResponse({ created: 1, data: [{ b64_json: "AAAA" }] }) },
  ));

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { chatChunk, dataEvents, typedEvents } from "../support/cost-rows.ts";
import { createTestGateway, requestHeaders, type ShownLog, type TestGateway, waitForLog } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const half = "Half a sentence";
/** "Hello there" has two tokens, its message four around them, the prompt three; "Half a sentence" has three. */
const [textTokens, messageTokens, halfTokens] = [2, 9, 3];

/** What the upstream answers next: an object as JSON, a text as events. */
let answer: object | string = {};
let gateway: TestGateway;
let upstream: RecordingUpstream;

before(async () => {
  upstream = await startRecordingUpstream((_, response) => {
    const isEvents = typeof answer === "string";
    response.writeHead(200, { "content-type": isEvents ? "text/event-stream" : "application/json" });
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  });
  gateway = await createTestGateway({ checksAnswers: false });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Ask {
  path: string;
  provider?: string;
  body: object;
  answer: object | string;
}

async function rowOf({ path, provider = "openai", body, answer: next }: Ask): Promise<ShownLog> {
  answer = next;
  const trace = crypto.randomUUID();
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: requestHeaders({
      "x-gateway-provider": provider,
      "x-gateway-custom-host": `${upstream.url}/${provider === "google" ? "v1beta" : "v1"}`,
      "x-gateway-trace-id": trace,
      authorization: "Bearer upstream-key",
    }),
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, await response.clone().text());
  await response.text();
  return waitForLog(gateway, trace);
}

const messages = [{ role: "user", content: "Hello there" }];
const chat = { model: "gpt-4o", messages };
const completion = { model: "gpt-3.5-turbo-instruct", prompt: "Hello there" };
const claude = { model: "claude-sonnet-4-5", max_tokens: 10, messages };
const asked = { model: "gpt-4o", input: "Hello there" };
const contents = { contents: [{ role: "user", parts: [{ text: "Hello there" }] }] };
const embedding = { model: "text-embedding-3-small", input: "Hello there" };
const stream = { stream: true };

const chatAnswer = (usage?: unknown, content = half) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  ...(usage !== undefined && { usage }),
});
const chatEvents = `${dataEvents(chatChunk("Half a "), chatChunk("sentence"), chatChunk("", "stop"))}data: [DONE]\n\n`;
const textAnswer = {
  id: "cmpl-1",
  object: "text_completion",
  created: 1,
  model: "gpt-3.5-turbo-instruct",
  choices: [{ index: 0, text: half, finish_reason: "stop", logprobs: null }],
};
const textEvents = `${dataEvents(textAnswer)}data: [DONE]\n\n`;
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [{ type: "text", text: half }],
  stop_reason: "end_turn",
  stop_sequence: null,
};
const messageEvents = typedEvents(
  { type: "message_start", message: { ...message, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: half } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null } },
  { type: "message_stop" },
);
const output = [
  {
    id: "msg_1",
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: half, annotations: [] }],
  },
];
const modelResponse = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-4o",
  output,
};
const responseEvents = typedEvents(
  { type: "response.created", sequence_number: 0, response: { ...modelResponse, status: "in_progress", output: [] } },
  { type: "response.output_item.added", sequence_number: 1, output_index: 0, item: { ...output[0], content: [] } },
  {
    type: "response.output_text.delta",
    sequence_number: 2,
    output_index: 0,
    content_index: 0,
    item_id: "msg_1",
    delta: half,
  },
  { type: "response.output_item.done", sequence_number: 3, output_index: 0, item: output[0] },
  { type: "response.completed", sequence_number: 4, response: modelResponse },
);
const candidates = {
  candidates: [{ index: 0, content: { role: "model", parts: [{ text: half }] }, finishReason: "STOP" }],
  modelVersion: "gemini-2.5-flash",
};
const embeddings = {
  object: "list",
  model: "text-embedding-3-small",
  data: [{ object: "embedding", index: 0, embedding: [0.1, 0.2] }],
};
const gemini = "/v1beta/models/gemini-2.5-flash";

type Case = readonly [name: string, ask: Ask, input: number, output?: number];

const cases: readonly Case[] = [
  ["a chat", { path: "/v1/chat/completions", body: chat, answer: chatAnswer() }, messageTokens],
  [
    "a streamed chat",
    { path: "/v1/chat/completions", body: { ...chat, ...stream }, answer: chatEvents },
    messageTokens,
  ],
  ["a completion", { path: "/v1/completions", body: completion, answer: textAnswer }, textTokens],
  [
    "a streamed completion",
    { path: "/v1/completions", body: { ...completion, ...stream }, answer: textEvents },
    textTokens,
  ],
  ["a message", { path: "/v1/messages", provider: "anthropic", body: claude, answer: message }, messageTokens],
  [
    "a streamed message",
    { path: "/v1/messages", provider: "anthropic", body: { ...claude, ...stream }, answer: messageEvents },
    messageTokens,
  ],
  ["a message by way of a chat", { path: "/v1/messages", body: claude, answer: chatAnswer() }, messageTokens],
  [
    "a streamed message by way of a chat",
    { path: "/v1/messages", body: { ...claude, ...stream }, answer: chatEvents },
    messageTokens,
  ],
  [
    "a chat by way of a message",
    { path: "/v1/chat/completions", provider: "anthropic", body: claude, answer: message },
    messageTokens,
  ],
  ["a response", { path: "/v1/responses", body: asked, answer: modelResponse }, textTokens],
  ["a streamed response", { path: "/v1/responses", body: { ...asked, ...stream }, answer: responseEvents }, textTokens],
  [
    "a response by way of a chat",
    { path: "/v1/responses", provider: "deepseek", body: asked, answer: chatAnswer() },
    messageTokens,
  ],
  [
    "contents of Gemini",
    { path: `${gemini}:generateContent`, provider: "google", body: contents, answer: candidates },
    messageTokens,
  ],
  [
    "streamed contents of Gemini",
    {
      path: `${gemini}:streamGenerateContent?alt=sse`,
      provider: "google",
      body: contents,
      answer: dataEvents(candidates),
    },
    messageTokens,
  ],
  [
    "contents by way of a chat",
    { path: "/v1beta/models/gpt-4o:generateContent", body: contents, answer: chatAnswer() },
    messageTokens,
  ],
  ["embeddings", { path: "/v1/embeddings", body: embedding, answer: embeddings }, textTokens, 0],
  ["a moderation", { path: "/v1/moderations", body: { input: "Hello there" }, answer: { results: [] } }, textTokens, 0],
  ["a forwarded chat", { path: "/v1/proxy/chat/completions", body: chat, answer: chatAnswer() }, messageTokens],
  [
    "a forwarded streamed chat",
    { path: "/v1/proxy/chat/completions", body: { ...chat, ...stream }, answer: chatEvents },
    messageTokens,
  ],
  ["a forwarded completion", { path: "/v1/proxy/completions", body: completion, answer: textAnswer }, textTokens],
  ["a forwarded response", { path: "/v1/proxy/responses", body: asked, answer: modelResponse }, textTokens],
  ["forwarded embeddings", { path: "/v1/proxy/embeddings", body: embedding, answer: embeddings }, textTokens, 0],
  [
    "a forwarded message",
    { path: "/v1/proxy/messages", provider: "anthropic", body: claude, answer: message },
    messageTokens,
  ],
];

const counts = ({ usage }: ShownLog) => [usage?.input_tokens, usage?.output_tokens, usage?.total_tokens];
const estimated = (row: ShownLog): unknown => Reflect.get(row, "estimated");

for (const [name, ask, input, written = halfTokens] of cases) {
  test(`${name} without usage has an estimate of its tokens`, async () => {
    const row = await rowOf(ask);
    assert.deepEqual(counts(row), [input, written, input + written]);
    assert.equal(estimated(row), true);
    assert.ok(row.cost === null || row.cost > 0 || name === "a moderation", `it costs ${row.cost}`);
  });
}

const estimate = (messageTokens * 2_500 + halfTokens * 10_000) / 1e7;

for (const [name, usage] of [
  ["null", null],
  ["nothing", {}],
  ["a text", "12"],
  ["negative counts and words", { prompt_tokens: -5, completion_tokens: "many" }],
  ["counts with fractions", { prompt_tokens: 1.5, completion_tokens: 0.25, total_tokens: 1.75 }],
  ["counts in texts", { prompt_tokens: "9", completion_tokens: "3", total_tokens: "12" }],
  ["counts no model reaches", { prompt_tokens: 1e15, completion_tokens: 9e9, total_tokens: 1e15 }],
  ["zeros beside an output", { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
  ["nothing but a price", { cost: "free" }],
] as const) {
  for (const path of ["/v1/chat/completions", "/v1/proxy/chat/completions"]) {
    test(`a chat at ${path} whose usage is ${name} costs an estimate`, async () => {
      const row = await rowOf({ path, body: chat, answer: chatAnswer(usage) });
      assert.deepEqual(counts(row), [messageTokens, halfTokens, messageTokens + halfTokens]);
      assert.deepEqual([estimated(row), row.cost, row.priced], [true, estimate, true]);
    });
  }
}

test("a count that was reported stays where the other one is nonsense", async () => {
  const usage = { prompt_tokens: 50, completion_tokens: -1 };
  const row = await rowOf({ path: "/v1/chat/completions", body: chat, answer: chatAnswer(usage) });
  assert.deepEqual([...counts(row), estimated(row)], [50, halfTokens, 50 + halfTokens, true]);
});

test("a chat that reports no tokens and has no output costs nothing", async () => {
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const row = await rowOf({ path: "/v1/chat/completions", body: chat, answer: chatAnswer(usage, "") });
  assert.deepEqual([...counts(row), estimated(row), row.cost, row.priced], [0, 0, 0, undefined, 0, true]);
});

test("reported counts are not estimated", async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101 };
  const row = await rowOf({ path: "/v1/chat/completions", body: chat, answer: chatAnswer(usage) });
  assert.deepEqual([...counts(row), estimated(row)], [100, 1, 101, undefined]);
});

test("a limit on tokens counts responses without usage", async () => {
  const long = "word ".repeat(900);
  const key = `uncounted-${crypto.randomUUID()}`;
  const { id } = await done(
    call<{ id: string }>(gateway, "POST /policies/usage-limits", {
      body: {
        workspace_id: "default",
        type: "tokens",
        credit_limit: 5_000,
        conditions: [{ key: "metadata.group", value: key }],
        group_by: [{ key: "metadata.group" }],
      },
    }),
  );
  assert.ok(id);
  answer = chatAnswer(undefined, long);
  const statuses: number[] = [];
  for (let count = 0; count < 12; count++) {
    const response = await gateway.fetch("/v1/chat/completions", {
      method: "POST",
      headers: requestHeaders({
        "x-gateway-provider": "openai",
        "x-gateway-custom-host": `${upstream.url}/v1`,
        "x-gateway-metadata": JSON.stringify({ group: key }),
        authorization: "Bearer upstream-key",
      }),
      body: JSON.stringify({ ...chat, max_tokens: 10 }),
    });
    await response.text();
    statuses.push(response.status);
    // the estimate may end after the response
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const passed = statuses.filter((status) => status === 200).length;
  assert.ok(passed >= 5 && passed <= 8, statuses.join(" "));
});

const denies = { "default.contains": { operator: "none", words: ["sentence"] }, deny: true };

test("a response without usage that a guardrail denies costs an estimate", async () => {
  answer = chatAnswer();
  const trace = crypto.randomUUID();
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: requestHeaders({
      "x-gateway-provider": null,
      "x-gateway-trace-id": trace,
      "x-gateway-config": JSON.stringify({
        provider: "openai",
        api_key: "upstream-key",
        custom_host: `${upstream.url}/v1`,
        output_guardrails: [denies],
      }),
    }),
    body: JSON.stringify(chat),
  });
  await response.text();
  const row = await waitForLog(gateway, trace);
  assert.equal(row.status, 446);
  assert.deepEqual([estimated(row), row.cost], [true, estimate]);
});

test("decisions made of chats without usage cost an estimate", async () => {
  const questions = { wet: { type: "noul", instructions: "Is it wet?" } };
  const said = JSON.stringify({ q1: { A: 0.9, B: 0.1 } });
  const row = await rowOf({
    path: "/v1/decisions",
    provider: "deepseek",
    body: { model: "deepseek-chat", state: "It rains", questions },
    answer: chatAnswer("no usage", said),
  });
  assert.equal(estimated(row), true);
  const { input_tokens: input = 0, output_tokens: written = 0 } = row.usage ?? {};
  assert.ok(input > 20 && written > 5, `${input} and ${written}`);
});

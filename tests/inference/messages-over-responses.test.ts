import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestGateway, type HeaderChanges, type TestGateway, upstreamHeaders } from "../support/gateway.ts";
import type { Members } from "../support/response-events.ts";
import { parseEvents } from "../support/response-events.ts";
import { callResponses, nativeEvents, nativeResponse, sendEvents, toSse } from "../support/responses.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let gateway: TestGateway;
let upstream: RecordingUpstream;
let events: readonly Members[] = nativeEvents;
let whole: object = nativeResponse;
before(async () => {
  gateway = await createTestGateway();
  upstream = await startRecordingUpstream(({ text }, response) => {
    if (JSON.parse(text).stream === true) return sendEvents(response, toSse(events));
    return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole));
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const beta = { "x-gateway-beta": "something-else, use-responses-api-2026-07-30" };
const asked = {
  model: "gpt-5.1",
  max_tokens: 99,
  system: "Be short.",
  messages: [{ role: "user", content: "When does it open?" }] as object[],
  tools: [{ name: "tide_table", input_schema: { type: "object" } }],
  tool_choice: { type: "tool", name: "tide_table" },
  thinking: { type: "enabled", budget_tokens: 8_000 },
};
const post = (body: object, headers: HeaderChanges = beta) =>
  callResponses(gateway, "POST /messages", { body, headers: { ...upstreamHeaders(upstream), ...headers } });
const lastSent = (): Members => JSON.parse(upstream.requests.at(-1)?.text ?? "{}");

test("POST /v1/messages with x-gateway-beta is sent as a response and returned as a message", async () => {
  const { status, body, text } = await post(asked);
  assert.equal(status, 200, text);
  assert.equal(upstream.requests.at(-1)?.path, "/v1/responses");
  assert.deepEqual(lastSent(), {
    model: "gpt-5.1",
    instructions: "Be short.",
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "When does it open?" }] }],
    max_output_tokens: 99,
    tools: [{ type: "function", name: "tide_table", parameters: { type: "object" }, strict: false }],
    tool_choice: { type: "function", name: "tide_table" },
    reasoning: { effort: "medium", summary: "auto" },
    store: false,
    include: ["reasoning.encrypted_content"],
  });
  const { id: _, usage, ...message } = body;
  assert.deepEqual(message, {
    type: "message",
    role: "assistant",
    model: "gpt-5.1",
    stop_reason: "tool_use",
    stop_sequence: null,
    content: [
      { type: "thinking", thinking: "Hm.", signature: "rs:rs_1:opaque" },
      { type: "text", text: "The harbour opens at six." },
      { type: "tool_use", id: "call_1", name: "tide_table", input: { port: "Brest" } },
    ],
    provider: "openai",
  });
  const counts = { input_tokens: 15, output_tokens: 9, cache_creation_input_tokens: 0, cache_read_input_tokens: 5 };
  assert.deepEqual({ ...(usage as Members), ...counts }, usage);
});

test("reasoning and tool calls are sent back to the provider that made them", async () => {
  const { body } = await post(asked);
  const result = { type: "tool_result", tool_use_id: "call_1", content: "3 m" };
  const messages = [
    ...asked.messages,
    { role: "assistant", content: body.content },
    { role: "user", content: [result] },
  ];
  await post({ ...asked, messages });
  const [, ...rest] = lastSent().input as Members[];
  assert.deepEqual(rest, [
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }], encrypted_content: "opaque" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "The harbour opens at six." }] },
    { type: "function_call", call_id: "call_1", name: "tide_table", arguments: '{"port":"Brest"}' },
    { type: "function_call_output", call_id: "call_1", output: "3 m" },
  ]);
});

test("a stream of responses is converted to one of messages", async () => {
  const { text } = await post({ ...asked, stream: true });
  const reported = parseEvents(text).filter(({ type }) => type !== "ping");
  const shown = reported.map(({ type, content_block: block, delta }) => {
    const said = (block ?? delta ?? {}) as Members;
    return [type, said.type ?? said.stop_reason, said.thinking ?? said.text ?? said.partial_json ?? said.signature]
      .filter((one) => one !== undefined && one !== "")
      .join(" ");
  });
  assert.deepEqual(shown, [
    "message_start",
    "content_block_start thinking",
    "content_block_delta thinking_delta Hm.",
    "content_block_delta signature_delta rs:rs_1:opaque",
    "content_block_stop",
    "content_block_start text",
    "content_block_delta text_delta The harbour ",
    "content_block_delta text_delta opens at six.",
    "content_block_stop",
    "content_block_start tool_use",
    'content_block_delta input_json_delta {"port":"Brest"}',
    "content_block_stop",
    "message_delta tool_use",
    "message_stop",
  ]);
});

test("a response that was cut, or failed, is converted to such a message", async () => {
  const [, said] = nativeResponse.output;
  const cut = {
    ...nativeResponse,
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
    output: [said],
  };
  whole = cut;
  assert.equal((await post(asked)).body.stop_reason, "max_tokens");
  whole = { ...nativeResponse, output: "none" };
  assert.equal((await post(asked)).status, 502);
  whole = nativeResponse;
  const error = { type: "error", code: "rate_limit_exceeded", message: "Slow down" };
  events = [...nativeEvents.slice(0, 9), error];
  const { text } = await post({ ...asked, stream: true });
  events = nativeEvents;
  const last = parseEvents(text).at(-1);
  assert.deepEqual(last, { type: "error", error: { type: "rate_limit_error", message: "openai error: Slow down" } });
});

test("a message is sent as a chat without the header, and to a provider without the Responses API", async () => {
  await post(asked, {});
  assert.equal(upstream.requests.at(-1)?.path, "/v1/chat/completions");
  await post(asked, { ...beta, "x-gateway-provider": "deepinfra" });
  assert.equal(upstream.requests.at(-1)?.path, "/v1/chat/completions");
});

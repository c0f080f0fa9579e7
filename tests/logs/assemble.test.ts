import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { assembleStream } from "../../src/logs/assemble.ts";

const fixture = (name: string) => readFileSync(new URL(`../fixtures/openai/${name}`, import.meta.url), "utf8");

interface Assembled {
  object?: string;
  model?: string;
  choices?: {
    message?: { content: unknown; tool_calls?: { id: string; function: object }[] };
    finish_reason: unknown;
  }[];
  usage?: { total_tokens: number };
  error?: { message: string };
}

// the shape of completions, which the assertions check
const assemble = (text: string) => assembleStream(text) as Assembled | undefined;

const chunk = (delta: object, finish: string | null = null, index = 0) =>
  `data: ${JSON.stringify({ id: "x", model: "m", choices: [{ index, delta, finish_reason: finish }] })}\n\n`;

test("assembleStream() puts the recorded stream together", () => {
  const answer = assemble(fixture("stream.sse"));
  assert.equal(answer?.object, "chat.completion");
  assert.equal(answer?.model, "gpt-5.1-2025-11-13");
  assert.equal(answer?.choices?.[0]?.message?.content, "Tide rises – 3 m ☂.");
  assert.equal(answer?.choices?.[0]?.finish_reason, "stop");
  assert.equal(answer?.usage?.total_tokens, 30);
});

test("assembleStream() puts recorded tool calls together", () => {
  const message = assemble(fixture("stream-tools.sse"))?.choices?.[0]?.message;
  assert.equal(message?.content, null);
  assert.deepEqual(
    message?.tool_calls?.map((call) => [call.id, call.function]),
    [
      ["call_fxA1", { name: "tide_table", arguments: '{"port":"Brest"}' }],
      ["call_fxA2", { name: "wind_speed", arguments: "{}" }],
    ],
  );
});

test("assembleStream() keeps partial text and the error that ended it", () => {
  const answer = assemble(fixture("stream-error.sse"));
  assert.equal(answer?.choices?.[0]?.message?.content, "Half a sen");
  assert.match(answer?.error?.message ?? "", /^fixture: /);
});

test("assembleStream() keeps choices apart, whatever order they come in", () => {
  const text =
    chunk({ content: "b" }, null, 1) +
    chunk({ content: "a" }) +
    chunk({ content: "B" }, "stop", 1) +
    chunk({}, "length");
  const choices = assemble(text)?.choices;
  assert.deepEqual(
    choices?.map((choice) => [choice.message?.content, choice.finish_reason]),
    [
      ["bB", "stop"],
      ["a", "length"],
    ],
  );
});

test("assembleStream() reads text completions", () => {
  const text = ["Hel", "lo"]
    .map((piece) => `data: {"object":"text_completion","choices":[{"index":0,"text":"${piece}"}]}\n\n`)
    .join("");
  const answer = assembleStream(text);
  assert.deepEqual(Reflect.get(answer ?? {}, "choices"), [{ index: 0, text: "Hello", finish_reason: null }]);
});

for (const text of ["", "{}", '{"data":1}', "hello", "[]"]) {
  test(`assembleStream() leaves ${JSON.stringify(text)} to others`, () =>
    assert.equal(assembleStream(text), undefined));
}

for (const [name, text] of [
  ["a comment alone", ": ping\n\n"],
  ["broken JSON", "data: {\n\n"],
  ["[DONE] alone", "data: [DONE]\n\n"],
  ["null as a chunk", "data: null\n\n"],
] as const) {
  test(`assembleStream() makes nothing of ${name}`, () => assert.equal(assembleStream(text), undefined));
}

for (const choice of ["null", "5", "{}", '{"delta":null}', '{"delta":{"tool_calls":[null,5,{}]}}', '{"index":"x"}']) {
  test(`assembleStream() bears the choice ${choice}`, () => {
    const answer = assembleStream(`data: {"choices":[${choice}]}\n\n${chunk({ content: "text" }, "stop")}`);
    assert.match(JSON.stringify(answer), /"text"/);
  });
}

test("assembleStream() returns the response a stream of responses ends with", () => {
  const begun = { id: "resp_1", status: "in_progress", output: [] };
  const ended = { ...begun, status: "completed", output: [{ type: "message" }] };
  const events = [
    { type: "response.created", response: begun },
    { type: "response.output_text.delta", delta: "Six." },
    { type: "response.completed", response: ended },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  assert.deepEqual(assembleStream(text), ended);
});

const event = (payload: object) => `event: x\ndata: ${JSON.stringify(payload)}\n\n`;

test("assembleStream() puts the blocks of a message together", () => {
  const text = [
    { type: "message_start", message: { id: "msg_1", role: "assistant", content: [], usage: { input_tokens: 3 } } },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "s" } },
    { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hel" } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "lo" } },
    { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "t", name: "f", input: {} } },
    { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"a"' } },
    { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: ":1}" } },
    { type: "content_block_start", index: 3, content_block: { type: "tool_use", id: "u", name: "g", input: {} } },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
  assert.deepEqual(assembleStream(text.map(event).join("")), {
    id: "msg_1",
    role: "assistant",
    usage: { input_tokens: 3, output_tokens: 5 },
    stop_reason: "tool_use",
    content: [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: "Hello" },
      { type: "tool_use", id: "t", name: "f", input: { a: 1 } },
      { type: "tool_use", id: "u", name: "g", input: {} },
    ],
  });
});

test("assembleStream() puts slices of the Gemini API together", () => {
  const slice = (parts: object[], rest: object = {}) =>
    `data: ${JSON.stringify({ candidates: [{ content: { parts, role: "model" }, ...rest }], modelVersion: "g" })}\n\n`;
  const call = { functionCall: { name: "f", args: {} } };
  const text = slice([{ text: "Hel" }]) + slice([{ text: "lo" }, call], { finishReason: "STOP" });
  assert.deepEqual(assembleStream(text), {
    modelVersion: "g",
    candidates: [{ finishReason: "STOP", content: { role: "model", parts: [{ text: "Hello" }, call] } }],
  });
});

test("assembleStream() keeps what came of a stream of responses that was cut", () => {
  const item = { type: "message", content: [{ type: "output_text", text: "one" }] };
  const text = [
    { type: "response.created", response: { id: "r", output: [] } },
    { type: "response.output_text.delta", delta: "one" },
    { type: "response.output_item.done", item },
    { type: "response.output_text.delta", delta: "tw" },
  ];
  const begun = { type: "message", role: "assistant", content: [{ type: "output_text", text: "tw" }] };
  assert.deepEqual(assembleStream(text.map(event).join("")), { id: "r", output: [item, begun] });
});

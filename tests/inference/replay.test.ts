import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { replay } from "../../src/inference/stream/replay.ts";
import { isObject } from "../../src/lib/json.ts";
import { assembleStream } from "../../src/logs/assemble.ts";
import { createTestGateway, type TestGateway, upstreamHeaders, workspaceKey } from "../support/gateway.ts";
import { askGuarded, words } from "../support/guarded.ts";
import { targetOf } from "../support/routed.ts";
import { startServer, type Upstream } from "../support/upstream.ts";

let gateway: TestGateway;
let upstream: Upstream;
const tool = { id: "t-1", type: "function", function: { name: "look", arguments: '{"a":1}' } };
const answer = {
  id: "c-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [
    { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" },
    { index: 1, message: { role: "assistant", content: null, tool_calls: [tool] }, finish_reason: "tool_calls" },
  ],
  usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 },
};
before(async () => {
  gateway = await createTestGateway();
  // a host that does not stream
  upstream = await startServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

test("a client that requests a stream gets one where the provider's response is non-streaming", async () => {
  const client = new OpenAI({
    apiKey: "upstream-credential",
    baseURL: "http://gateway.test/v1",
    defaultHeaders: { ...upstreamHeaders(upstream), "x-gateway-api-key": workspaceKey },
    fetch: (url, init) => gateway.gateway.fetch(new Request(url, init)),
  });
  const stream = await client.chat.completions.create({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = await Array.fromAsync(stream);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  assert.deepEqual(
    choices.map(({ index, finish_reason }) => [index, finish_reason]),
    [
      [0, null],
      [1, null],
      [0, "stop"],
      [1, "tool_calls"],
    ],
  );
  assert.equal(choices[0]?.delta.content, "Hello");
  assert.deepEqual(choices[1]?.delta.tool_calls, [{ index: 0, ...tool }]);
  assert.deepEqual(chunks.at(-1)?.usage, answer.usage);
});

test("guardrails check a non-streaming response as a stream, and report there", async () => {
  const body = { stream: true };
  const config = (deny: boolean) => ({
    ...targetOf(upstream),
    output_guardrails: [{ ...words("none", ["Hello"]), deny }],
  });
  assert.equal((await askGuarded(gateway, config(true), { body })).status, 446);
  const headers = { "x-gateway-strict-open-ai-compliance": "false" };
  const flagged = await askGuarded(gateway, config(false), { body, headers });
  assert.equal(flagged.status, 246);
  const last = flagged.events.at(-1)?.data;
  assert.ok(isObject(last) && isObject(last.hook_results));
  assert.equal(flagged.events.at(-2)?.data, "[DONE]");
});

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  stop_reason: "tool_use",
  stop_sequence: null,
  content: [
    { type: "thinking", thinking: "hm", signature: "s" },
    { type: "text", text: "Hello" },
    { type: "tool_use", id: "t", name: "look", input: { a: 1 } },
    { type: "tool_use", id: "u", name: "rest", input: {} },
  ],
  usage: { input_tokens: 2, output_tokens: 1 },
};
for (const [requestType, whole] of [
  ["chatComplete", answer],
  ["messages", message],
  [
    "complete",
    {
      id: "x",
      object: "text_completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, text: "Hello", finish_reason: "stop" }],
    },
  ],
  [
    "generateContent",
    { candidates: [{ content: { role: "model", parts: [{ text: "Hello" }] }, finishReason: "STOP" }] },
  ],
] as const) {
  test(`replay() of ${requestType} adds up to the response it was made of`, () => {
    assert.deepEqual(assembleStream(replay(requestType, whole, { includeUsage: true })), whole);
  });
}

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createProviderRegistry } from "../../src/providers/registry.ts";
import { type ConformanceCase, testConformance } from "../conformance/suite.ts";
import { chat, createTestGateway, helloBody, readJson } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

const registry = createProviderRegistry();
const conforms = (slug: string, ...cases: readonly ConformanceCase[]): void =>
  testConformance(registry.get(slug) ?? assert.fail(slug), cases);

const head = { id: "fx-1", object: "chat.completion", created: 1_790_000_000, model: "m" };
const request = { model: "m", messages: [{ role: "user", content: "When does it open?" }] };
const streamed = { ...request, stream: true };

const chunkOf = (delta: object, finish: string | null = null, rest: object = {}) => ({
  ...head,
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: finish, ...rest }],
});
const toStream = (chunks: readonly object[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");

const call = (rest: object) => ({ tool_calls: [{ index: 0, ...rest }] });
const thinking = (index: number, text: string) => ({ content_blocks: [{ index, delta: { thinking: text } }] });

// one provider whose streams are mapped, one whose streams are corrected
for (const slug of ["deepseek", "nebius"]) {
  const first = { role: "assistant", content: null };
  conforms(
    slug,
    {
      name: "reasoning after a tool call is a separate block, and text follows in order",
      request: streamed,
      strict: false,
      stream: toStream([
        chunkOf({ ...first, reasoning_content: "One" }),
        chunkOf({ reasoning_content: " two." }),
        chunkOf(call({ id: "call_1", type: "function", function: { name: "tide", arguments: "{}" } })),
        chunkOf({ reasoning_content: "Three." }),
        chunkOf({ reasoning_content: "Four.", content: "At" }),
        chunkOf({ content: " six." }),
        chunkOf({}, "tool_calls"),
      ]),
      chunks: [
        chunkOf({ ...first, reasoning_content: "One", ...thinking(0, "One") }),
        chunkOf({ reasoning_content: " two.", ...thinking(0, " two.") }),
        chunkOf(call({ id: "call_1", type: "function", function: { name: "tide", arguments: "{}" } })),
        chunkOf({ reasoning_content: "Three.", ...thinking(1, "Three.") }),
        chunkOf({
          reasoning_content: "Four.",
          content: "At",
          content_blocks: [
            { index: 1, delta: { thinking: "Four." } },
            { index: 2, delta: { text: "At" } },
          ],
        }),
        chunkOf({ content: " six.", content_blocks: [{ index: 2, delta: { text: " six." } }] }),
        chunkOf({}, "tool_calls"),
      ],
    },
    {
      name: "the first chunk names the role, even when the upstream does not",
      request: streamed,
      stream: toStream([chunkOf({ content: "At" }), chunkOf({ content: " six." }), chunkOf({}, "stop")]),
      chunks: [chunkOf({ role: "assistant", content: "At" }), chunkOf({ content: " six." }), chunkOf({}, "stop")],
    },
    {
      name: "a finish reason that OpenAI does not have",
      request: streamed,
      stream: toStream([chunkOf({ ...first, content: "a" }), chunkOf({}, "eos_token")]),
      chunks: [chunkOf({ ...first, content: "a" }), chunkOf({}, "stop")],
    },
    {
      name: "a finish reason that stays unchanged in lax responses",
      request: streamed,
      strict: false,
      stream: toStream([chunkOf({ ...first, content: "a" }), chunkOf({}, "eos_token")]),
      chunks: [chunkOf({ ...first, content: "a" }), chunkOf({}, "eos_token")],
    },
    {
      name: "blocks from the upstream",
      request,
      strict: false,
      answer: {
        ...head,
        choices: [
          { index: 0, message: { content: "a", reasoning: "b", content_blocks: ["own"] }, finish_reason: "stop" },
        ],
      },
      wanted: {
        ...head,
        choices: [
          {
            index: 0,
            message: { content: "a", reasoning_content: "b", content_blocks: ["own"] },
            finish_reason: "stop",
          },
        ],
      },
    },
  );
}

const textOf = (rest: object) => ({ ...head, object: "text_completion", ...rest });
conforms(
  "lambda",
  {
    name: "strict completions contain no fields of the server",
    operation: "complete",
    request: { model: "m", prompt: "a" },
    answer: textOf({
      kv_transfer_params: null,
      choices: [
        { index: 0, text: "b", logprobs: null, finish_reason: "stop", stop_reason: null, prompt_logprobs: null },
      ],
    }),
    wanted: textOf({ choices: [{ index: 0, text: "b", logprobs: null, finish_reason: "stop" }] }),
  },
  {
    name: "strict streams of completions contain no extra fields",
    operation: "complete",
    request: { model: "m", prompt: "a", stream: true },
    stream: toStream([
      textOf({ choices: [{ index: 0, text: "b", logprobs: null, finish_reason: null, stop_reason: null }] }),
      textOf({ choices: [{ index: 0, text: "", logprobs: null, finish_reason: "stop", stop_reason: 2 }] }),
    ]),
    chunks: [
      textOf({ choices: [{ index: 0, text: "b", logprobs: null, finish_reason: null }] }),
      textOf({ choices: [{ index: 0, text: "", logprobs: null, finish_reason: "stop" }] }),
    ],
  },
);

const ask = (body: object = helloBody) =>
  chat(gateway, body, { "x-gateway-provider": "nebius", authorization: "Bearer key" });

test("openaiCompatible() returns a response that needs no change byte for byte", async () => {
  const choices = [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }];
  const text = JSON.stringify({ ...head, choices, usage: null }, null, 3);
  wire.answer = () => new Response(text);
  assert.equal(await (await ask()).text(), text);
});

for (const [name, body] of [
  ["without choices", { id: "fx-1" }],
  ["whose choices are not a list", { choices: {} }],
  ["whose choice is not an object", { choices: ["a"] }],
  ["whose finish reason is a number", { choices: [{ finish_reason: 3 }] }],
] as const) {
  test(`nebius responses ${name} are upstream failures`, async () => {
    wire.answer = () => Response.json(body);
    const response = await ask();
    const { error } = await readJson<{ error: { code: string } }>(response);
    assert.deepEqual([response.status, error.code], [502, "upstream_bad_answer"]);
  });
}

test("openaiCompatible() forwards malformed chunks of a corrected stream unchanged", async () => {
  const odd = [
    '{"choices":"a","x":1}',
    '{"choices":[3,null],"x":1}',
    '{"choices":[{"delta":"a","index":"b"}],"x":1}',
    "{",
  ];
  const [first, last] = [chunkOf({ role: "assistant", content: "a" }), chunkOf({}, "stop")];
  const text = [JSON.stringify(first), ...odd, JSON.stringify(last), "[DONE]"]
    .map((data) => `data: ${data}\n\n`)
    .join("");
  wire.answer = () => new Response(text, { headers: { "content-type": "text/event-stream" } });
  const response = await ask({ ...helloBody, stream: true });
  const events = (await response.text()).trim().split("\n\n");
  assert.equal(events.length, odd.length + 3);
  assert.deepEqual(
    [events[0], ...events.slice(-2)],
    [`data: ${JSON.stringify(first)}`, `data: ${JSON.stringify(last)}`, "data: [DONE]"],
  );
  assert.doesNotMatch(events.slice(1, 4).join(""), /"x"/);
});

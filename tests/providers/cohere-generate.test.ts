import assert from "node:assert/strict";
import { after, test } from "node:test";
import { cohere } from "../../src/providers/cohere/mod.ts";
import { testConformance } from "../conformance/suite.ts";
import { createTestGateway, requestHeaders } from "../support/gateway.ts";
import { testCalls } from "../support/provider-calls.ts";
import { createWire } from "../support/wire.ts";

const request = { model: "command", prompt: "The harbour" };
const choice = (index: number, text: string, finish_reason: string | null) => ({
  index,
  text,
  logprobs: null,
  finish_reason,
});
const chunk = (...choices: object[]) => ({
  id: "chatcmpl-cohere",
  created: 0,
  object: "text_completion",
  model: "command",
  choices,
});
const lines = (...events: object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join("");
const streamed = lines(
  { text: " opens", is_finished: false, event_type: "text-generation" },
  { text: " at six é.", is_finished: false },
  {
    is_finished: true,
    finish_reason: "COMPLETE",
    response: {
      id: "g-1",
      generations: [{ id: "g-2", text: " opens at six é.", finish_reason: "COMPLETE" }],
      meta: { billed_units: { input_tokens: 3, output_tokens: 5 } },
    },
  },
);
const chunks = [chunk(choice(0, " opens", null)), chunk(choice(0, " at six é.", null)), chunk(choice(0, "", "stop"))];
const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };

testConformance(cohere, [
  {
    name: "text completions",
    operation: "complete",
    request: {
      ...request,
      prompt: ["The harbour"],
      n: 2,
      max_tokens: 9,
      temperature: 0.5,
      top_p: 1,
      stop: "END",
      frequency_penalty: -1,
      presence_penalty: 2,
      seed: 7,
      user: "u",
      echo: false,
      suffix: null,
      best_of: 3,
    },
    sent: {
      path: "/v1/generate",
      body: {
        ...request,
        num_generations: 2,
        max_tokens: 9,
        temperature: 0.5,
        p: 0.99,
        stop_sequences: ["END"],
        frequency_penalty: 0,
        presence_penalty: 1,
        seed: 7,
      },
    },
    dropped: ["best_of", "user"],
    answer: {
      id: "g-1",
      prompt: "The harbour",
      meta: { billed_units: { input_tokens: 3, output_tokens: 5 } },
      generations: [
        { id: "a", text: " opens.", finish_reason: "COMPLETE" },
        { id: "b", text: " closes", finish_reason: "MAX_TOKENS" },
        { id: "c", text: "", finish_reason: "ERROR_TOXIC" },
      ],
    },
    wanted: {
      id: "g-1",
      object: "text_completion",
      created: 0,
      model: "command",
      usage,
      choices: [choice(0, " opens.", "stop"), choice(1, " closes", "length"), choice(2, "", "content_filter")],
    },
  },
  {
    name: "a stream of lines",
    operation: "complete",
    request: { ...request, stream: true, stream_options: { include_usage: true } },
    sent: { body: { ...request, stream: true } },
    stream: streamed,
    chunks,
    usage,
  },
  {
    name: "a stream of lines without its last line feed",
    operation: "complete",
    request: { ...request, stream: true },
    stream: streamed.trimEnd(),
    chunks,
    usage,
  },
  {
    name: "a stream of server-sent events",
    operation: "complete",
    request: { ...request, stream: true },
    stream: streamed.replace(/^(.*)$/gm, (line) => (line === "" ? "" : `event: x\ndata: ${line}\n`)),
    chunks,
    usage,
  },
  {
    name: "a stream of several completions",
    operation: "complete",
    request: { ...request, stream: true, n: 2 },
    stream: lines(
      { text: "a", index: 0, is_finished: false },
      { text: "b", index: 1, is_finished: false },
      {
        is_finished: true,
        finish_reason: "COMPLETE",
        response: {
          generations: [
            { text: "a", index: 0, finish_reason: "COMPLETE" },
            { text: "b", index: 1, finish_reason: "MAX_TOKENS" },
          ],
        },
      },
    ),
    chunks: [
      chunk(choice(0, "a", null)),
      chunk(choice(1, "b", null)),
      chunk(choice(0, "", "stop")),
      chunk(choice(1, "", "length")),
    ],
  },
  ...(
    [
      ["several prompts", { prompt: ["a", "b"] }, /single string/],
      ["tokens", { prompt: [1, 2] }, /single string/],
      ["too many completions", { n: 6 }, /at most 5 completions/],
    ] as const
  ).map(([name, changes, refused]) => ({
    name,
    operation: "complete" as const,
    request: { ...request, ...changes },
    refused,
  })),
]);

await testCalls("cohere", [
  {
    name: "has its own path for completions",
    path: "/completions",
    body: request,
    url: "https://api.cohere.ai/v1/generate",
  },
]);

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

async function complete(text: string, type = "application/stream+json") {
  wire.answer = () => new Response(text, { headers: { "content-type": type } });
  const headers = requestHeaders({ "x-gateway-provider": "cohere", authorization: "Bearer key" });
  const body = JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true } });
  const response = await gateway.fetch("/v1/completions", { method: "POST", headers, body });
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

for (const type of ["application/stream+json", "application/x-ndjson", "text/plain; charset=utf-8"]) {
  test(`cohere text streams of type ${type} become events that end with usage and [DONE]`, async () => {
    const { status, type: answered, text } = await complete(streamed, type);
    assert.deepEqual([status, answered], [200, "text/event-stream; charset=utf-8"]);
    const events = text.split("\n\n").filter((event) => event !== "");
    assert.equal(events.at(-1), "data: [DONE]");
    assert.deepEqual(JSON.parse(events.at(-2)?.slice("data: ".length) ?? "").usage, usage);
    assert.equal(events.length, 5);
  });
}

test("cohere text streams that break off are reported as failures", async () => {
  const { text } = await complete(lines({ text: "a", is_finished: false }));
  assert.match(text, /upstream_incomplete_stream/);
  assert.doesNotMatch(text, /\[DONE\]/);
});

test("cohere text streams that end with an error are reported as failures", async () => {
  const { status, text } = await complete(lines({ is_finished: true, finish_reason: "ERROR" }));
  assert.match(text, /cohere error/);
  assert.equal(status === 200 ? text.includes("[DONE]") : false, false);
});

test("cohere text responses of another shape are upstream failures", async () => {
  wire.answer = () => Response.json({ text: "no generations" });
  const headers = requestHeaders({ "x-gateway-provider": "cohere" });
  const response = await gateway.fetch("/v1/completions", { method: "POST", headers, body: JSON.stringify(request) });
  assert.equal(response.status, 502);
  assert.match(await response.text(), /upstream_bad_answer/);
});

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { cortex } from "../../src/providers/cortex/mod.ts";
import { fixture, testConformance } from "../conformance/suite.ts";
import { chat, createTestGateway, type HeaderChanges, helloBody } from "../support/gateway.ts";

const request = { model: "claude-sonnet", messages: [{ role: "user", content: "When?" }] };
const tool = { name: "tide_table", description: "Tides", parameters: { type: "object", properties: {} } };
const answer = {
  id: "cx-0",
  model: "claude-sonnet",
  choices: [{ message: { content: "At six.", content_list: [{ type: "text", text: "At six." }] } }],
  usage: { prompt_tokens: 17, completion_tokens: 7, guard_tokens: 0, total_tokens: 24 },
};
const usage = { prompt_tokens: 17, completion_tokens: 7, total_tokens: 24 };
const wantedOf = (message: object, reason = "stop") => ({
  id: "cx-0",
  object: "chat.completion",
  created: 0,
  model: "claude-sonnet",
  usage,
  choices: [{ index: 0, message: { role: "assistant", ...message }, logprobs: null, finish_reason: reason }],
});
const chunk = (id: string, delta: object, reason: string | null = null) => ({
  id,
  object: "chat.completion.chunk",
  created: 0,
  model: "claude-sonnet",
  choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
});
const callDelta = (index: number, args: string, start?: { id: string; name: string }) => ({
  tool_calls: [
    {
      index,
      ...(start && { id: start.id, type: "function" }),
      function: { ...(start && { name: start.name }), arguments: args },
    },
  ],
});

testConformance(cortex, [
  {
    name: "text",
    request: { ...request, max_completion_tokens: 9, max_tokens: 3, temperature: 0.5, seed: 7, user: "u", n: 1 },
    sent: {
      path: "/cortex/inference:complete",
      body: { ...request, stream: false, max_tokens: 9, temperature: 0.5 },
    },
    dropped: ["seed", "user"],
    answer,
    wanted: wantedOf({ content: "At six." }),
  },
  {
    name: "a conversation with tools",
    request: {
      ...request,
      messages: [
        { role: "developer", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
          ],
        },
        {
          role: "assistant",
          content: "Look.",
          tool_calls: [
            { id: "c1", type: "function", function: { name: "tide_table", arguments: '{"port":"Brest"}' } },
            { id: "c2", type: "function", function: { name: "clock", arguments: "" } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "6.1 m" },
        { role: "tool", tool_call_id: "c2", content: [{ type: "text", text: "noon" }] },
      ],
      tools: [{ type: "function", function: tool }],
      tool_choice: { type: "function", function: { name: "tide_table" } },
      response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "object" } } },
      guardrails: { enabled: true },
    },
    sent: {
      body: {
        model: "claude-sonnet",
        messages: [
          { role: "system", content: "Be brief." },
          {
            role: "user",
            content_list: [
              { type: "text", text: "What?" },
              { type: "image", details: { type: "base64", content: "iVBORw0KGgo=", content_type: "image/png" } },
            ],
          },
          {
            role: "assistant",
            content_list: [
              { type: "text", text: "Look." },
              { type: "tool_use", tool_use: { tool_use_id: "c1", name: "tide_table", input: { port: "Brest" } } },
              { type: "tool_use", tool_use: { tool_use_id: "c2", name: "clock", input: {} } },
            ],
          },
          {
            role: "user",
            content_list: [
              {
                type: "tool_results",
                tool_results: { tool_use_id: "c1", name: "tide_table", content: [{ type: "text", text: "6.1 m" }] },
              },
              {
                type: "tool_results",
                tool_results: { tool_use_id: "c2", name: "clock", content: [{ type: "text", text: "noon" }] },
              },
            ],
          },
        ],
        stream: false,
        tools: [
          { tool_spec: { type: "generic", name: "tide_table", description: "Tides", input_schema: tool.parameters } },
        ],
        tool_choice: { type: "tool", name: ["tide_table"] },
        response_format: { type: "json", schema: { type: "object" } },
        guardrails: { enabled: true },
      },
    },
    answer: {
      ...answer,
      choices: [
        {
          message: {
            content: "",
            content_list: [
              { type: "tool_use", tool_use: { tool_use_id: "c3", name: "tide_table", input: { port: "Roscoff" } } },
              { type: "tool_use", tool_use: { tool_use_id: "c4", name: "clock", input: {} } },
            ],
          },
        },
      ],
    },
    wanted: wantedOf(
      {
        content: null,
        tool_calls: [
          { id: "c3", type: "function", function: { name: "tide_table", arguments: '{"port":"Roscoff"}' } },
          { id: "c4", type: "function", function: { name: "clock", arguments: "{}" } },
        ],
      },
      "tool_calls",
    ),
  },
  {
    name: "streamed text",
    request: { ...request, stream: true, stream_options: { include_usage: true } },
    sent: { body: { ...request, stream: true } },
    stream: fixture("cortex", "stream.sse"),
    chunks: [
      chunk("cx-1", { role: "assistant", content: "Tide" }),
      chunk("cx-1", { content: " rises – 3 m ☂." }),
      chunk("cx-1", {}, "stop"),
    ],
    usage: { prompt_tokens: 21, completion_tokens: 9, total_tokens: 30 },
  },
  {
    name: "streamed tools",
    request: { ...request, stream: true },
    stream: fixture("cortex", "stream-tools.sse"),
    chunks: [
      chunk("cx-2", { role: "assistant", content: "Let me look." }),
      chunk("cx-2", callDelta(0, "", { id: "tooluse_1", name: "tide_table" })),
      chunk("cx-2", callDelta(0, '{"port":')),
      chunk("cx-2", callDelta(0, '"Brest"}')),
      chunk("cx-2", callDelta(1, "", { id: "tooluse_2", name: "clock" })),
      chunk("cx-2", callDelta(1, "{}")),
      chunk("cx-2", {}, "tool_calls"),
    ],
    usage: { prompt_tokens: 82, completion_tokens: 21, total_tokens: 103 },
  },
  { name: "several choices", request: { ...request, n: 2 }, refused: /returns one choice/ },
  { name: "other tools", request: { ...request, tools: [{ type: "web_search" }] }, refused: /accepts only functions/ },
  {
    name: "images by URL",
    request: {
      ...request,
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://a.example/x.png" } }] }],
    },
    refused: /data URLs/,
  },
  {
    name: "embeddings",
    operation: "embed",
    request: { model: "e5-base-v2", input: ["a", "b"], dimensions: 2, encoding_format: "float" },
    sent: { path: "/cortex/inference:embed", body: { model: "e5-base-v2", text: ["a", "b"] } },
    dropped: ["dimensions"],
    answer: { data: [{ embedding: [[1, 2]], index: 0 }, { embedding: [3, 4] }], usage: { total_tokens: 5 } },
    wanted: {
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: [1, 2] },
        { object: "embedding", index: 1, embedding: [3, 4] },
      ],
      model: "e5-base-v2",
      usage: { prompt_tokens: 5, total_tokens: 5 },
    },
  },
  {
    name: "tokens to embed",
    operation: "embed",
    request: { model: "e", input: [1, 2] },
    refused: /not lists of tokens/,
  },
]);

test("cortex throws an error inside a stream", () => {
  const adapter = cortex.bind(() => null).operations.chat;
  const mapper = adapter?.streamMapper?.(request, { strict: true, drop() {} });
  const event = { event: "", data: '{"code":"390400","message":"overloaded","request_id":"r"}' };
  assert.throws(
    () => mapper?.map(event),
    (error) => error instanceof UpstreamError && /overloaded/.test(error.message),
  );
  assert.equal(mapper?.isComplete(), false);
});

const sent: { url: string; init: TransportInit }[] = [];
const transport: Transport = {
  async send(url, init) {
    sent.push({ url, init });
    return Response.json(answer);
  },
};
const gateway = await createTestGateway({ transport });
after(() => gateway.close());
const ask = (headers: HeaderChanges) =>
  chat(gateway, helloBody, { "x-gateway-provider": "cortex", authorization: "Bearer jwt-1", ...headers });

test("cortex is called at its account, with the kind of its token", async () => {
  const response = await ask({ "x-gateway-snowflake-account": "My_Org-acc.eu-west-1" });
  assert.equal(response.status, 200, await response.text());
  assert.equal(sent[0]?.url, "https://my-org-acc.eu-west-1.snowflakecomputing.com/api/v2/cortex/inference:complete");
  assert.equal(sent[0]?.init.headers.authorization, "Bearer jwt-1");
  assert.equal(sent[0]?.init.headers["x-snowflake-authorization-token-type"], "KEYPAIR_JWT");
  const token = { "x-gateway-snowflake-account": "a", "x-gateway-snowflake-token-type": "PROGRAMMATIC_ACCESS_TOKEN" };
  await ask(token);
  assert.equal(sent[1]?.init.headers["x-snowflake-authorization-token-type"], "PROGRAMMATIC_ACCESS_TOKEN");
});

for (const account of [null, "a/b", "a..b", "evil.example/", "a.b.c.d.e"]) {
  test(`cortex rejects the account ${account}`, async () => {
    const response = await ask({ "x-gateway-snowflake-account": account });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /x-gateway-snowflake-account/);
  });
}

const textWanted = (text: string) => ({
  id: "*",
  object: "text_completion",
  created: "*",
  model: "*",
  usage: "*",
  choices: [{ index: 0, text, logprobs: null, finish_reason: "stop" }],
});
testConformance(cortex, [
  {
    name: "a text completion",
    operation: "complete",
    request: { model: request.model, prompt: "When does it open?", max_tokens: 5, echo: true, own: 1 },
    sent: {
      path: "/cortex/inference:complete",
      body: {
        model: request.model,
        own: 1,
        max_tokens: 5,
        stream: false,
        messages: [{ role: "user", content: "When does it open?" }],
      },
    },
    dropped: ["echo"],
    answer,
    wanted: textWanted("At six."),
  },
  {
    name: "a text completion of two prompts",
    operation: "complete",
    refused: /single string/,
    request: { model: request.model, prompt: ["a", "b"] },
  },
]);

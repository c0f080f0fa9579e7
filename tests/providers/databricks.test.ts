import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { databricks } from "../../src/providers/databricks/mod.ts";
import { fixture, testConformance } from "../conformance/suite.ts";
import { chat, createTestGateway, type HeaderChanges, helloBody } from "../support/gateway.ts";

const request = { model: "databricks-claude", messages: [{ role: "user", content: "When?" }] };
const usage = { prompt_tokens: 21, completion_tokens: 9, total_tokens: 30 };
const shared = { object: "chat.completion.chunk", created: 1_790_000_000, model: "databricks-claude" };
const answerOf = (message: object, reason = "stop") => ({
  id: "msg_db0",
  object: "chat.completion",
  created: 1_790_000_000,
  model: "databricks-claude",
  usage,
  choices: [{ index: 0, message, finish_reason: reason }],
});
const thought = {
  role: "assistant",
  content: [
    { type: "reasoning", summary: [{ type: "summary_text", text: "Six is usual.", signature: "sig-0" }] },
    { type: "text", text: "At six." },
  ],
};
const thinking = { type: "thinking", thinking: "Six is usual.", signature: "sig-0" };
const chunk = (delta: object, reason: string | null = null, id = "msg_db1") => ({
  id,
  ...shared,
  choices: [{ index: 0, delta, finish_reason: reason }],
});

testConformance(databricks, [
  {
    name: "text, with what the provider adds to requests",
    request: { ...request, thinking: { type: "enabled", budget_tokens: 10 }, reasoning_effort: "low" },
    sent: {
      path: "/ai-gateway/mlflow/v1/chat/completions",
      body: { ...request, thinking: { type: "enabled", budget_tokens: 10 }, reasoning_effort: "low" },
    },
    answer: answerOf({ role: "assistant", content: "At six." }),
    wanted: answerOf({ role: "assistant", content: "At six." }),
  },
  {
    name: "reasoning, strict",
    settings: { "databricks-serving-endpoint-name": "my-endpoint" },
    request,
    sent: { path: "/serving-endpoints/my-endpoint/invocations" },
    answer: answerOf(thought),
    wanted: answerOf({ role: "assistant", content: "At six." }),
  },
  {
    name: "reasoning, not strict",
    strict: false,
    request,
    answer: answerOf(thought),
    wanted: answerOf({
      role: "assistant",
      content: "At six.",
      reasoning_content: "Six is usual.",
      content_blocks: [thinking],
    }),
  },
  {
    name: "reasoning that is replayed",
    request: {
      ...request,
      messages: [
        { role: "assistant", content: "At six.", content_blocks: [thinking, { type: "text", text: "At six." }] },
        { role: "assistant", content: "x", content_blocks: [] },
      ],
    },
    sent: { body: { ...request, messages: [thought, { role: "assistant", content: "x" }] } },
    answer: answerOf({ role: "assistant", content: null }, "length"),
    wanted: answerOf({ role: "assistant", content: null }, "length"),
  },
  {
    name: "streamed reasoning, strict",
    request: { ...request, stream: true },
    sent: { body: { ...request, stream: true, stream_options: { include_usage: true } } },
    stream: fixture("databricks", "stream-reasoning.sse"),
    chunks: [
      chunk({ role: "assistant", content: null }),
      chunk({ content: null }),
      chunk({ content: "Tide rises – 3 m ☂." }),
      chunk({ content: "" }, "stop"),
    ],
    usage,
  },
  {
    name: "streamed reasoning, not strict",
    strict: false,
    request: { ...request, stream: true },
    stream: fixture("databricks", "stream-reasoning.sse"),
    chunks: [
      chunk({
        role: "assistant",
        content: null,
        reasoning_content: "Six is ",
        content_blocks: [{ type: "thinking", thinking: "Six is " }],
      }),
      chunk({
        content: null,
        reasoning_content: "",
        content_blocks: [{ type: "thinking", thinking: "", signature: "sig-1" }],
      }),
      chunk({ content: "Tide rises – 3 m ☂." }),
      chunk({ content: "" }, "stop"),
    ],
    usage,
  },
  {
    name: "streamed tools",
    request: { ...request, stream: true },
    stream: fixture("databricks", "stream-tools.sse"),
    chunks: [
      chunk(
        {
          role: "assistant",
          tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "tide_table", arguments: "" } }],
        },
        null,
        "msg_db2",
      ),
      chunk({ tool_calls: [{ index: 0, function: { arguments: "{}" } }] }, "tool_calls", "msg_db2"),
    ],
    usage,
  },
  {
    name: "embeddings",
    operation: "embed",
    request: { model: "e", input: "a" },
    sent: { path: "/ai-gateway/mlflow/v1/embeddings", body: { model: "e", input: "a" } },
    answer: { data: [{ embedding: [1], index: 0 }] },
    wanted: { data: [{ embedding: [1], index: 0 }] },
  },
]);

const sent: { url: string; init: TransportInit }[] = [];
const transport: Transport = {
  async send(url, init) {
    sent.push({ url, init });
    if (url.endsWith("/oidc/v1/token")) return Response.json({ access_token: "m2m-token", expires_in: 3600 });
    return Response.json(answerOf({ role: "assistant", content: "At six." }));
  },
};
const gateway = await createTestGateway({ transport });
after(() => gateway.close());
const ask = (headers: HeaderChanges) => {
  sent.length = 0;
  return chat(gateway, helloBody, { "x-gateway-provider": "databricks", authorization: "Bearer dapi-1", ...headers });
};

for (const [workspace, host] of [
  ["dbc-1a2b", "dbc-1a2b.cloud.databricks.com"],
  ["adb-123.11.azuredatabricks.net", "adb-123.11.azuredatabricks.net"],
  ["1234.5.gcp.databricks.com", "1234.5.gcp.databricks.com"],
] as const) {
  test(`databricks calls the workspace ${workspace} with a personal token`, async () => {
    const response = await ask({ "x-gateway-databricks-workspace": workspace });
    assert.equal(response.status, 200, await response.text());
    assert.equal(sent[0]?.url, `https://${host}/ai-gateway/mlflow/v1/chat/completions`);
    assert.equal(sent[0]?.init.headers.authorization, "Bearer dapi-1");
  });
}

for (const workspace of ["evil.example", "a/b", "a.azuredatabricks.net.evil", "azuredatabricks.net@x", null]) {
  test(`databricks rejects the workspace ${workspace}`, async () => {
    const response = await ask({ "x-gateway-databricks-workspace": workspace });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /x-gateway-databricks-workspace/);
    assert.equal(sent.length, 0);
  });
}

test("databricks gets a machine-to-machine token and caches it", async () => {
  const headers = {
    "x-gateway-databricks-workspace": "dbc-1",
    "x-gateway-databricks-client-id": "client",
    "x-gateway-databricks-client-secret": "secret",
  };
  await ask(headers);
  const [token, call] = sent;
  assert.equal(token?.url, "https://dbc-1.cloud.databricks.com/oidc/v1/token");
  assert.equal(token?.init.headers.authorization, `Basic ${btoa("client:secret")}`);
  assert.equal(token?.init.body, "grant_type=client_credentials&scope=all-apis");
  assert.equal(call?.init.headers.authorization, "Bearer m2m-token");
  await ask(headers);
  assert.equal(sent.length, 1);
});

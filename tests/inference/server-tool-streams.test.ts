import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { createMcpGateway, mcpServer, serversOf } from "../mcp/support.ts";
import { type TestGateway, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

// Requests whose tools are MCP servers of the workspace, streamed: events come while the model and the tools work.

type Members = Record<string, unknown>;
type Round = (response: ServerResponse, body: Members) => Promise<void> | void;

let upstream: RecordingUpstream;
let gateway: TestGateway;
let rounds: Round[] = [];

before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const body = JSON.parse(request.text);
    if (request.path !== "/mcp") return void (rounds.shift() ?? assert.fail())(response, body);
    const { id, method, params } = body;
    const tools = [{ name: "forecast", inputSchema: { type: "object" } }];
    const content = [{ type: "text", text: `Sun in ${params.arguments?.place}` }];
    const result = method === "tools/list" ? { tools } : { content };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } }));
  });
  gateway = await createMcpGateway(serversOf(mcpServer(`${upstream.url}/mcp`, { slug: "weather" })), { inFile: true });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  rounds = [];
});

/** Sends events of a stream, and ends it. */
function stream(response: ServerResponse, events: readonly Members[], isOver = true): void {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) {
    const name = event.type === undefined ? "" : `event: ${event.type}\n`;
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  const isChat = events.some(({ object }) => object === "chat.completion.chunk");
  if (isOver) response.end(isChat ? "data: [DONE]\n\n" : "");
}

async function ask(path: string, provider: string, body: object, more: { signal?: AbortSignal; trace?: string } = {}) {
  const { signal, trace } = more;
  return gateway.fetch(path, {
    method: "POST",
    headers: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": provider,
      "x-gateway-custom-host": `${upstream.url}/v1`,
      "x-gateway-beta": "server-side-mcp-2026-06-01",
      authorization: "Bearer upstream-credential",
      "content-type": "application/json",
      ...(trace !== undefined && { "x-gateway-trace-id": trace }),
    },
    body: JSON.stringify({ model: "m", stream: true, ...body }),
    ...(signal && { signal }),
  });
}

const eventsIn = (text: string): Members[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data));

/** Reads a stream up to an event of a type; what came until then. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, type: string): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  while (!text.includes(`event: ${type}\n`)) {
    const { done, value } = await reader.read();
    assert.ok(!done, `The stream ended before ${type}: ${text}`);
    text += decoder.decode(value);
  }
  return text;
}

const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const head = {
  id: "resp_up",
  object: "response",
  created_at: 1,
  model: "m",
  status: "in_progress",
  output: [],
  error: null,
  incomplete_details: null,
};
const call = {
  type: "function_call",
  id: "fc_1",
  call_id: "c1",
  name: "weather__forecast",
  arguments: '{"place":"Oslo"}',
  status: "completed",
};
const said = (text: string) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});
const begun = [{ type: "response.created", response: head }];
const over = (output: object[]) => ({
  type: "response.completed",
  response: { ...head, status: "completed", output, usage },
});
const itemEvents = (item: Members, output_index: number, deltas: Members[] = []) => [
  { type: "response.output_item.added", output_index, item: { ...item, status: "in_progress" } },
  ...deltas.map((delta) => ({ ...delta, output_index, item_id: item.id })),
  { type: "response.output_item.done", output_index, item },
];
const delta = (text: string) => [{ type: "response.output_text.delta", content_index: 0, delta: text }];
const argumentDeltas = [{ type: "response.function_call_arguments.delta", delta: call.arguments }];
const weather = { type: "mcp", server_label: "@gateway-mcp/weather" };
const request = { input: "Weather?", tools: [weather] };

test("events of /responses come as the model sends them, in one response with the calls of tools", async () => {
  let release = () => {};
  rounds = [
    async (response, body) => {
      assert.equal(body.stream, true);
      stream(response, [...begun, ...itemEvents(said("Let me see"), 0, delta("Let me see"))], false);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      stream(response, [...itemEvents(call, 1, argumentDeltas), over([said("Let me see"), call])]);
    },
    (response) => stream(response, [...begun, ...itemEvents(said("Sunny"), 0, delta("Sunny")), over([said("Sunny")])]),
  ];
  const { body, status, headers } = await ask("/v1/responses", "openai", request, { trace: "tool-stream" });
  assert.equal(status, 200);
  assert.match(headers.get("content-type") ?? "", /event-stream/);
  const reader = body?.getReader() ?? assert.fail();
  // the model waits: what it said is there
  let text = await readUntil(reader, "response.output_text.delta");
  assert.equal(upstream.requests.filter(({ text: sent }) => sent.includes("tools/call")).length, 0);
  release();
  text += await readUntil(reader, "response.completed");
  const events = eventsIn(text);
  assert.deepEqual(
    events.map(({ type, output_index }) => [String(type).replace("response.", ""), output_index]),
    [
      ["created", undefined],
      ["in_progress", undefined],
      ["output_item.added", 0],
      ["mcp_list_tools.in_progress", 0],
      ["mcp_list_tools.completed", 0],
      ["output_item.done", 0],
      ["output_item.added", 1],
      ["output_text.delta", 1],
      ["output_item.done", 1],
      ["output_item.added", 2],
      ["mcp_call.in_progress", 2],
      ["mcp_call_arguments.delta", 2],
      ["mcp_call_arguments.done", 2],
      ["mcp_call.completed", 2],
      ["output_item.done", 2],
      ["output_item.added", 3],
      ["output_text.delta", 3],
      ["output_item.done", 3],
      ["completed", undefined],
    ],
  );
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  );
  assert.ok(!text.includes("weather__forecast"));
  const last = events.at(-1);
  const response = last?.response as Members & { output: Members[] };
  assert.deepEqual(
    response.output.map(({ type, output }) => [type, output]),
    [
      ["mcp_list_tools", undefined],
      ["message", undefined],
      ["mcp_call", "Sun in Oslo"],
      ["message", undefined],
    ],
  );
  assert.deepEqual(response.usage, { input_tokens: 20, output_tokens: 10, total_tokens: 30 });
  const ids = new Set(events.flatMap((one) => (one.response ? [(one.response as Members).id] : [])));
  assert.deepEqual([...ids], [response.id]);
  assert.notEqual(response.id, head.id);
  // it is stored like others
  assert.ok((await reader.read()).done);
  const stored = await gateway.fetch(`/v1/responses/${response.id}`, {
    headers: { "x-gateway-api-key": workspaceKey },
  });
  assert.equal(stored.status, 200, await stored.text());
  const rows = await waitForLogs(gateway, "trace_id=tool-stream", 5);
  assert.deepEqual(rows.map(({ operation }) => operation).sort(), [
    "mcp",
    "mcp",
    "responses",
    "responses",
    "responses",
  ]);
});

const block = (index: number, content_block: Members, deltas: Members[]) => [
  { type: "content_block_start", index, content_block },
  ...deltas.map((one) => ({ type: "content_block_delta", index, delta: one })),
  { type: "content_block_stop", index },
];
const textBlock = (index: number, text: string) =>
  block(index, { type: "text", text: "" }, [{ type: "text_delta", text }]);
const messageHead = {
  type: "message_start",
  message: {
    id: "msg_up",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  },
};
const messageEnd = (stop_reason: string) => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
];
const ofMessages = {
  max_tokens: 9,
  messages: [{ role: "user", content: "Weather?" }],
  mcp_servers: [{ type: "url", name: "@gateway-mcp/weather" }],
  tools: [{ type: "mcp_toolset", mcp_server_name: "@gateway-mcp/weather" }],
};

test("events of /messages come as the model sends them, in one message with the calls of tools", async () => {
  let release = () => {};
  const asked: Members[] = [];
  rounds = [
    async (response, body) => {
      asked.push(body);
      stream(response, [messageHead, ...textBlock(0, "Let me see")], false);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      const use = { type: "tool_use", id: "toolu_1", name: "weather__forecast", input: {} };
      const parts = ['{"place":', '"Oslo"}'].map((partial_json) => ({ type: "input_json_delta", partial_json }));
      stream(response, [...block(1, use, parts), ...messageEnd("tool_use")]);
    },
    (response, body) => {
      asked.push(body);
      stream(response, [messageHead, ...textBlock(0, "Sunny"), ...messageEnd("end_turn")]);
    },
  ];
  const { body } = await ask("/v1/messages", "anthropic", ofMessages);
  const reader = body?.getReader() ?? assert.fail();
  let text = await readUntil(reader, "content_block_delta");
  release();
  text += await readUntil(reader, "message_stop");
  const events = eventsIn(text);
  const kindOf = ({ content_block: shown }: Members) => Object(shown).type;
  const shapes = events.map((event) => [event.type, event.index, kindOf(event)]);
  assert.deepEqual(shapes, [
    ["message_start", undefined, undefined],
    ["content_block_start", 0, "text"],
    ["content_block_delta", 0, undefined],
    ["content_block_stop", 0, undefined],
    ["content_block_start", 1, "mcp_tool_use"],
    ["content_block_delta", 1, undefined],
    ["content_block_stop", 1, undefined],
    ["content_block_start", 2, "mcp_tool_result"],
    ["content_block_stop", 2, undefined],
    ["content_block_start", 3, "text"],
    ["content_block_delta", 3, undefined],
    ["content_block_stop", 3, undefined],
    ["message_delta", undefined, undefined],
    ["message_stop", undefined, undefined],
  ]);
  const { delta: end, usage: counts } = events.at(-2) ?? {};
  assert.deepEqual(
    [end, counts],
    [
      { stop_reason: "end_turn", stop_sequence: null },
      { input_tokens: 20, output_tokens: 10 },
    ],
  );
  const messages = asked[1]?.messages as Members[] | undefined;
  assert.deepEqual(messages?.slice(1), [
    {
      role: "assistant",
      content: [
        { type: "text", text: "Let me see" },
        { type: "tool_use", id: "toolu_1", name: "weather__forecast", input: { place: "Oslo" } },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "Sun in Oslo" }] },
  ]);
});

test("a model that only knows chat streams through /responses", async () => {
  const chunk = (choice: Members) => ({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, ...choice }],
  });
  const tool = { index: 0, id: "c1", type: "function", function: { name: call.name, arguments: call.arguments } };
  rounds = [
    (response) =>
      stream(response, [
        chunk({ delta: { role: "assistant", tool_calls: [tool] }, finish_reason: null }),
        chunk({ delta: {}, finish_reason: "tool_calls" }),
      ]),
    (response) =>
      stream(response, [
        chunk({ delta: { role: "assistant", content: "Sunny" }, finish_reason: null }),
        chunk({ delta: {}, finish_reason: "stop" }),
      ]),
  ];
  const events = eventsIn(await (await ask("/v1/responses", "deepseek", request)).text());
  const { type, response } = events.at(-1) ?? {};
  assert.equal(type, "response.completed");
  assert.deepEqual(
    (response as { output: Members[] }).output.map((one) => one.type),
    ["mcp_list_tools", "mcp_call", "message"],
  );
  assert.ok(events.some((one) => one.type === "response.output_text.delta" && one.delta === "Sunny"));
});

test("a first round that fails answers with its status, a later one with an event", async () => {
  const refuse: Round = (response) => {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "no such model", type: "invalid_request_error" } }));
  };
  rounds = [refuse];
  assert.equal((await ask("/v1/responses", "openai", request)).status, 400);
  rounds = [(response) => stream(response, [...begun, ...itemEvents(call, 0, argumentDeltas), over([call])]), refuse];
  const answer = await ask("/v1/responses", "openai", request, { trace: "tool-stream-fails" });
  const [before, last] = eventsIn(await answer.text()).slice(-2);
  assert.deepEqual([before?.type, last?.type], ["error", "response.failed"]);
  assert.match(String(before?.message), /no such model/);
  const { status, error, output } = Object(last?.response);
  assert.deepEqual([status, error], ["failed", { code: "invalid_prompt", message: before?.message }]);
  assert.ok(JSON.stringify(output).includes("mcp_call"));
  const rows = await waitForLogs(gateway, "trace_id=tool-stream-fails", 5);
  assert.ok(rows.some(({ status, operation }) => operation === "responses" && status === 400));
});

test("a model that breaks off ends the stream with an error event, and calls no tool", async () => {
  const before = upstream.requests.filter(({ text }) => text.includes("tools/call")).length;
  const open: Parameters<Round>[0][] = [];
  rounds = [
    (response) => {
      stream(response, [...begun, ...itemEvents(call, 0, argumentDeltas)], false);
      open.push(response);
    },
  ];
  const answer = await ask("/v1/responses", "openai", request);
  // only now: a stream that breaks off before its first event is a failed attempt
  for (const response of open) response.destroy();
  const events = eventsIn(await answer.text());
  assert.ok(!events.some(({ type }) => type === "response.completed"));
  assert.ok(events.some(({ type }) => type === "error" || type === "response.failed"));
  assert.equal(upstream.requests.filter(({ text }) => text.includes("tools/call")).length, before);
});

test("when the caller leaves, the model's stream ends", async () => {
  const closed = Promise.withResolvers<void>();
  rounds = [
    (response) => {
      response.on("close", () => closed.resolve());
      stream(response, [...begun, ...itemEvents(said("Let me see"), 0, delta("Let me see"))], false);
    },
  ];
  const { body } = await ask("/v1/responses", "openai", request, { trace: "tool-stream-left" });
  const reader = body?.getReader() ?? assert.fail();
  await readUntil(reader, "response.output_text.delta");
  await reader.cancel();
  await closed.promise;
  const rows = await waitForLogs(gateway, "trace_id=tool-stream-left", 3);
  assert.ok(rows.filter(({ operation }) => operation === "responses").every(({ status }) => status === 499));
});

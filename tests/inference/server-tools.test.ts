import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createMcpGateway, mcpServer, serversOf } from "../mcp/support.ts";
import { readJson, type TestGateway, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

type Members = Record<string, unknown>;

const listOf = (value: unknown): Members[] => (Array.isArray(value) ? value : assert.fail("it is not a list"));

let upstream: RecordingUpstream;
let gateway: TestGateway;
/** Answers of the model, one for each round. */
let rounds: ((body: Members) => Members)[] = [];
/** Requests that the model received. */
let asked: Members[] = [];

const tools = [
  {
    name: "forecast",
    description: "Weather",
    inputSchema: { type: "object", properties: { place: { type: "string" } } },
  },
  { name: "odd name.v2", inputSchema: { type: "object" } },
  { name: "broken", inputSchema: { type: "object" } },
];

/** Tools that the server has in place of the others. */
let others: Members[] | undefined;

function answerMcp({ text }: ReceivedRequest): Members {
  const { id, method, params } = JSON.parse(text);
  if (method === "tools/list" && others)
    return { jsonrpc: "2.0", id, result: { resultType: "complete", tools: others } };
  if (method === "tools/list") {
    // two pages, and then the same cursor again and again
    const page = params.cursor === undefined ? tools.slice(0, 2) : tools.slice(2);
    return { jsonrpc: "2.0", id, result: { resultType: "complete", tools: page, nextCursor: "again" } };
  }
  const said = `${params.name}: ${JSON.stringify(params.arguments)}`;
  const result = { content: [{ type: "text", text: said }], isError: params.name === "broken" };
  return { jsonrpc: "2.0", id, result: { resultType: "complete", ...result } };
}

before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.path === "/mcp") return void response.end(JSON.stringify(answerMcp(request)));
    const body = JSON.parse(request.text);
    asked.push(body);
    response.end(JSON.stringify((rounds.shift() ?? assert.fail())(body)));
  });
  gateway = await createMcpGateway(serversOf(mcpServer(`${upstream.url}/mcp`, { slug: "weather" })), { inFile: true });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  others = undefined;
  rounds = [];
  asked = [];
});

const beta = { "x-gateway-beta": "server-side-mcp-2026-06-01" };

async function ask(path: string, provider: string, body: object, headers: Record<string, string> = beta) {
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": provider,
      "x-gateway-custom-host": `${upstream.url}/v1`,
      authorization: "Bearer upstream-credential",
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ model: "m", ...body }),
  });
  return { status: response.status, response };
}

const responseOf = (output: object[]): Members => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status: "completed",
  error: null,
  incomplete_details: null,
  output,
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15, input_tokens_details: { cached_tokens: 1 } },
});
const call = (name: string, given: object, call_id = "c1") => ({
  type: "function_call",
  id: `fc_${call_id}`,
  call_id,
  name,
  arguments: JSON.stringify(given),
});
const message = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  content: [{ type: "output_text", text: "Sunny", annotations: [] }],
};
const weather = { type: "mcp", server_label: "@gateway-mcp/weather" };

test("a model of /responses calls tools of an MCP server of the workspace, until it answers", async () => {
  rounds = [
    () => responseOf([call("weather__forecast", { place: "Oslo" }), call("weather__broken", {}, "c2")]),
    () => responseOf([message]),
  ];
  const headers = { ...beta, "x-gateway-trace-id": "server-tools" };
  const { status, response } = await ask(
    "/v1/responses",
    "openai",
    { input: "Weather?", tools: [weather], tool_choice: "required" },
    headers,
  );
  const body = await readJson<Members & { output: Members[]; usage: Members }>(response);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(
    body.output.map(({ type, name, output, error }) => [type, name, output, error]),
    [
      ["mcp_list_tools", undefined, undefined, null],
      ["mcp_call", "forecast", 'forecast: {"place":"Oslo"}', null],
      ["mcp_call", "broken", null, "broken: {}"],
      ["message", undefined, undefined, undefined],
    ],
  );
  assert.deepEqual(
    listOf(body.output[0]?.tools).map(({ name }) => name),
    ["forecast", "odd name.v2", "broken"],
  );
  assert.deepEqual(body.usage, {
    input_tokens: 20,
    output_tokens: 10,
    total_tokens: 30,
    input_tokens_details: { cached_tokens: 2 },
  });
  const [first, second] = asked;
  const empty = { type: "object", properties: {} };
  assert.deepEqual(first?.tools, [
    {
      type: "function",
      name: "weather__forecast",
      description: "Weather",
      parameters: tools[0]?.inputSchema,
      strict: false,
    },
    { type: "function", name: "weather__odd_name_v2", parameters: empty, strict: false },
    { type: "function", name: "weather__broken", parameters: empty, strict: false },
  ]);
  assert.deepEqual([first?.tool_choice, second?.tool_choice], ["required", "auto"]);
  const outputs = listOf(second?.input).filter(({ type }) => type === "function_call_output");
  assert.deepEqual(
    outputs.map(({ call_id, output }) => [call_id, output]),
    [
      ["c1", 'forecast: {"place":"Oslo"}'],
      ["c2", "broken: {}"],
    ],
  );
  // the request, two rounds, two pages of the list, two calls
  const rows = await waitForLogs(gateway, "trace_id=server-tools", 7);
  assert.equal(new Set(rows.map(({ api_key_id }) => api_key_id)).size, 1);
  const operations = rows.map(({ operation }) => operation).sort();
  assert.deepEqual(operations, ["mcp", "mcp", "mcp", "mcp", "responses", "responses", "responses"]);
  assert.ok(
    upstream.requests
      .filter(({ path }) => path === "/mcp")
      .every(({ headers: sent }) => sent.authorization === undefined),
  );
});

test("later requests continue from calls of tools, with and without the servers", async () => {
  rounds = [() => responseOf([call("weather__forecast", { place: "Oslo" })]), () => responseOf([message])];
  const { response } = await ask("/v1/responses", "openai", { input: "Weather?", tools: [weather] });
  const { id } = await readJson<{ id: string }>(response);
  rounds = [() => responseOf([message])];
  await ask("/v1/responses", "openai", { input: "And?", previous_response_id: id }, {});
  const types = listOf(asked.at(-1)?.input).map(({ type = "message" }) => type);
  assert.deepEqual(types, ["message", "function_call", "function_call_output", "message", "message"]);
});

test("calls of the client's own functions end the rounds, and allowed_tools narrows the list", async () => {
  rounds = [() => responseOf([call("weather__forecast", {}), call("mine", {}, "c2")])];
  const own = { type: "function", name: "mine", parameters: { type: "object" } };
  const { response } = await ask("/v1/responses", "openai", {
    input: "x",
    tools: [{ ...weather, allowed_tools: ["forecast"] }, own],
  });
  const { output } = await readJson<{ output: Members[] }>(response);
  assert.deepEqual(
    output.map(({ type }) => type),
    ["mcp_list_tools", "function_call", "mcp_call"],
  );
  assert.deepEqual(
    listOf(asked[0]?.tools).map(({ name }) => name),
    ["mine", "weather__forecast"],
  );
});

test("rounds end after ten", async () => {
  rounds = Array.from({ length: 10 }, () => () => responseOf([call("weather__forecast", {})]));
  const { response } = await ask("/v1/responses", "openai", { input: "x", tools: [weather] });
  const body = await readJson<Members & { output: Members[] }>(response);
  assert.deepEqual([body.status, body.incomplete_details], ["incomplete", { reason: "max_tool_calls" }]);
  assert.equal(body.output.filter(({ type }) => type === "mcp_call").length, 10);
});

test("a streaming request gets the events of the whole response", async () => {
  rounds = [() => responseOf([call("weather__forecast", {})]), () => responseOf([message])];
  const { response } = await ask("/v1/responses", "openai", { input: "x", tools: [weather], stream: true });
  const text = await response.text();
  assert.match(response.headers.get("content-type") ?? "", /event-stream/);
  assert.match(text, /"type":"mcp_call"/);
  assert.match(text, /event: response\.completed/);
});

for (const [what, path, provider, body, headers, status] of [
  ["without the beta", "/v1/responses", "openai", { input: "x", tools: [weather] }, {}, 400],
  [
    "with an unknown server",
    "/v1/responses",
    "openai",
    { input: "x", tools: [{ ...weather, server_label: "@gateway-mcp/none" }] },
    beta,
    404,
  ],
  [
    "without the beta",
    "/v1/messages",
    "anthropic",
    {
      max_tokens: 9,
      messages: [{ role: "user", content: "x" }],
      mcp_servers: [{ type: "url", name: "@gateway-mcp/weather" }],
    },
    {},
    400,
  ],
  [
    "with a tool set of no server",
    "/v1/messages",
    "anthropic",
    {
      max_tokens: 9,
      messages: [{ role: "user", content: "x" }],
      tools: [{ type: "mcp_toolset", mcp_server_name: "@gateway-mcp/weather" }],
    },
    beta,
    400,
  ],
] as const) {
  test(`a request to ${path} ${what} answers ${status}, and reaches no model`, async () => {
    const answer = await ask(path, provider, body, headers);
    assert.equal(answer.status, status, await answer.response.text());
    assert.equal(asked.length, 0);
  });
}

const claude = (content: object[], stop_reason: string): Members => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
});

test("a model of /messages calls tools of an MCP server of the workspace, and the conversation goes on", async () => {
  const use = { type: "tool_use", id: "toolu_1", name: "weather__forecast", input: { place: "Oslo" } };
  rounds = [
    () => claude([{ type: "text", text: "Let me see" }, use], "tool_use"),
    () => claude([{ type: "text", text: "Sunny" }], "end_turn"),
  ];
  const servers = {
    max_tokens: 9,
    mcp_servers: [{ type: "url", name: "@gateway-mcp/weather" }],
    tools: [
      {
        type: "mcp_toolset",
        mcp_server_name: "@gateway-mcp/weather",
        default_config: { enabled: false },
        configs: { forecast: { enabled: true } },
      },
    ],
  };
  const messages = [{ role: "user", content: "Weather?" }];
  const { response } = await ask("/v1/messages", "anthropic", { ...servers, messages });
  const body = await readJson<Members & { content: Members[] }>(response);
  assert.deepEqual(
    body.content.map(({ type }) => type),
    ["text", "mcp_tool_use", "mcp_tool_result", "text"],
  );
  const [, used, result] = body.content;
  assert.deepEqual([used?.name, used?.server_name], ["forecast", "@gateway-mcp/weather"]);
  assert.deepEqual(result?.content, [{ type: "text", text: 'forecast: {"place":"Oslo"}' }]);
  assert.deepEqual([body.stop_reason, body.usage], ["end_turn", { input_tokens: 20, output_tokens: 10 }]);
  assert.deepEqual(
    listOf(asked[0]?.tools).map(({ name }) => name),
    ["weather__forecast"],
  );
  rounds = [() => claude([{ type: "text", text: "Bye" }], "end_turn")];
  const next = [...messages, { role: "assistant", content: body.content }, { role: "user", content: "Thanks" }];
  await ask("/v1/messages", "anthropic", { max_tokens: 9, messages: next }, {});
  const shapes = listOf(asked.at(-1)?.messages).map(({ role, content }) =>
    typeof content === "string" ? [role] : [role, ...(content as Members[]).map(({ type }) => type)],
  );
  assert.deepEqual(shapes, [
    ["user"],
    ["assistant", "text", "tool_use"],
    ["user", "tool_result"],
    ["assistant", "text"],
    ["user"],
  ]);
});

/** Calls of one tool in a round of each API. */
const manyCalls = {
  "/v1/responses": (count: number) =>
    responseOf(Array.from({ length: count }, (_, index) => call("weather__forecast", { index }, `c${index}`))),
  "/v1/messages": (count: number) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: Array.from({ length: count }, (_, index) => ({
      type: "tool_use",
      id: `t${index}`,
      name: "weather__forecast",
      input: { index },
    })),
    stop_reason: "tool_use",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }),
};
const lastAnswers = {
  "/v1/responses": () => responseOf([message]),
  "/v1/messages": () => ({
    ...manyCalls["/v1/messages"](0),
    content: [{ type: "text", text: "Sunny" }],
    stop_reason: "end_turn",
  }),
};
const manyRequests = {
  "/v1/responses": { input: "Weather?", tools: [weather] },
  "/v1/messages": {
    max_tokens: 9,
    messages: [{ role: "user", content: "Weather?" }],
    mcp_servers: [{ type: "url", name: "@gateway-mcp/weather" }],
    tools: [{ type: "mcp_toolset", mcp_server_name: "@gateway-mcp/weather" }],
  },
};

for (const path of ["/v1/responses", "/v1/messages"] as const) {
  for (const stream of [false, true]) {
    test(`${path}${stream ? ", streamed," : ""} makes at most 128 calls in a round and 256 in a request`, async () => {
      const before = upstream.requests.filter(({ text }) => text.includes('"tools/call"')).length;
      const many = () => manyCalls[path](300);
      rounds = [many, many, many, lastAnswers[path]];
      const provider = path === "/v1/messages" ? "anthropic" : "openai";
      const { status, response } = await ask(path, provider, { ...manyRequests[path], stream });
      const said = await response.text();
      assert.equal(status, 200, said);
      const made = upstream.requests.filter(({ text }) => text.includes('"tools/call"')).length - before;
      assert.equal(made, 256);
      const [, second, , fourth] = asked.map((body) => JSON.stringify(body));
      const refusals = (text: string | undefined, of: string) => text?.split(`a ${of} at most`).length ?? 0;
      assert.equal(refusals(second, "round of calls has") - 1, 300 - 128);
      assert.equal(refusals(fourth, "request has") - 1, 300);
    });
  }
}

test("a request cannot use more than 64 MCP servers", async () => {
  const { status, response } = await ask("/v1/responses", "openai", {
    input: "Weather?",
    tools: Array.from({ length: 65 }, () => weather),
  });
  assert.equal(status, 400);
  assert.match(await response.text(), /more than 64 MCP servers/);
});

const properties = { place: { type: "string" } };
const list = { type: "array", items: {} };
for (const [name, given, wanted] of [
  ["nothing", {}, { type: "object", properties: {} }],
  ["only properties", { properties }, { type: "object", properties }],
  ["null allowed", { type: ["object", "null"], properties }, { type: "object", properties }],
  ["a list", { type: "object", properties: { a: { type: "array" } } }, { type: "object", properties: { a: list } }],
  [
    "a list among types",
    { type: "object", properties: { a: { type: ["string", "array", "null"] } } },
    { type: "object", properties: { a: { type: ["string", "array", "null"], items: {} } } },
  ],
  [
    "lists within others",
    {
      type: "object",
      properties: { a: { type: "array", items: { anyOf: [{ type: "array" }, { $ref: "#/$defs/l" }] } } },
      $defs: { l: { type: "array", items: [{ type: "string" }] } },
    },
    {
      type: "object",
      properties: { a: { type: "array", items: { anyOf: [list, { $ref: "#/$defs/l" }] } } },
      $defs: { l: list },
    },
  ],
  [
    "a composed object",
    { type: "object", anyOf: [{ properties, required: ["place"] }, { properties: { id: { type: "array" } } }] },
    { type: "object", properties: { ...properties, id: list } },
  ],
  ["names of keywords", { properties: { items: { type: "array" } } }, { type: "object", properties: { items: list } }],
] as const) {
  for (const path of ["/v1/responses", "/v1/messages"]) {
    test(`models of ${path} get a schema that providers take: ${name}`, async () => {
      others = [
        { name: "good", inputSchema: given },
        { name: "text", inputSchema: { type: "string" } },
        { name: "lists", inputSchema: { type: ["array", "null"] } },
      ];
      const isResponses = path === "/v1/responses";
      const last = { id: "m", type: "message", role: "assistant", model: "m", content: [], stop_reason: "end_turn" };
      rounds = [
        () => (isResponses ? responseOf([message]) : { ...last, usage: { input_tokens: 1, output_tokens: 1 } }),
      ];
      const toolset = {
        max_tokens: 10,
        messages: [{ role: "user", content: "Weather?" }],
        mcp_servers: [{ type: "url", name: "@gateway-mcp/weather", url: "https://unused.example.com" }],
        tools: [{ type: "mcp_toolset", mcp_server_name: "@gateway-mcp/weather" }],
      };
      const request = isResponses ? { input: "Weather?", tools: [weather] } : toolset;
      const { status, response } = await ask(path, isResponses ? "openai" : "anthropic", request);
      const body = await readJson<Members & { output: Members[] }>(response);
      assert.equal(status, 200, JSON.stringify(body));
      const sent = listOf(asked[0]?.tools);
      assert.deepEqual(
        sent.map(({ parameters, input_schema }) => parameters ?? input_schema),
        [wanted],
      );
      if (!isResponses) return;
      const [listed] = body.output;
      assert.deepEqual(
        [listed?.error, listOf(listed?.tools).map((tool) => tool.input_schema)],
        ["Left out, because their arguments are no object: text, lists", [given]],
      );
    });
  }
}

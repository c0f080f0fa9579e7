import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestGateway, readJson, type TestGateway, workspaceKey } from "../../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../../support/upstream.ts";

let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream(({ path }, response) => {
    response.setHeader("content-type", "application/json");
    if (path.endsWith("/messages")) {
      const content = [{ type: "text", text: "Hello" }];
      const usage = { input_tokens: 1, output_tokens: 1 };
      const message = { id: "m", type: "message", role: "assistant", model: "m", content, stop_reason: "end_turn" };
      return void response.end(JSON.stringify({ ...message, usage }));
    }
    const choices = [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }];
    response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices }));
  });
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const messages = [{ role: "user", content: "Hello" }];
const contents = [{ parts: [{ text: "Hello" }] }];

/** Requests with a tool that runs at its provider, and how the gateway names the tool. */
const requests: readonly (readonly [param: string, path: string, body: object])[] = [
  ...["web_search", "web_search_preview", "web_search_2025_08_26", "file_search", "code_interpreter"].map(
    (type) => [`tools.${type}`, "/v1/responses", { model: "m", input: "Hello", tools: [{ type }] }] as const,
  ),
  ...["web_search_20250305", "web_search_20260209", "web_fetch_20250910", "code_execution_20250825"].map(
    (type) =>
      [`tools.${type}`, "/v1/messages", { model: "m", max_tokens: 9, messages, tools: [{ type, name: "t" }] }] as const,
  ),
  ...["googleSearch", "urlContext", "codeExecution", "fileSearch"].map(
    (name) => [`tools.${name}`, "/v1beta/models/m:generateContent", { contents, tools: [{ [name]: {} }] }] as const,
  ),
  ["web_search_options", "/v1/chat/completions", { model: "m", messages, web_search_options: {} }],
];

async function ask(path: string, body: object, dropped: readonly string[] = []) {
  // chats of other hosts are forwarded with the field
  const provider = path.startsWith("/v1/chat") ? "anthropic" : "deepseek";
  const config = { provider, api_key: "k", custom_host: `${upstream.url}/v1`, drop_params: dropped };
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-config": JSON.stringify(config),
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
  });
  const shown = response.headers.get("x-gateway-dropped-params");
  return { status: response.status, shown, body: await readJson<{ error: Record<string, unknown> }>(response) };
}

for (const [param, path, body] of requests) {
  test(`${path} refuses ${param} where nobody runs it, and leaves it out where drop_params says so`, async () => {
    const before = upstream.requests.length;
    const refused = await ask(path, body);
    assert.equal(refused.status, 400, JSON.stringify(refused.body));
    assert.match(String(refused.body.error.message), new RegExp(`Cannot use ${param.replace("tools.", "")}:`));
    assert.equal(upstream.requests.length, before);
    const passed = await ask(path, body, [param]);
    assert.equal(passed.status, 200, JSON.stringify(passed.body));
  });
}

/** Requests of agents: a function beside a search of the web. */
const search = { type: "web_search" };
const read = { type: "function", name: "read", parameters: { type: "object" } };
const added = { type: "additional_tools", tools: [{ type: "namespace", name: "files", tools: [read] }] };
const question = { type: "message", role: "user", content: "Hello" };
const claudeSearch = { type: "web_search_20250305", name: "web_search" };
const claudeRead = { name: "read", input_schema: { type: "object" } };
const agents: readonly (readonly [param: string, path: string, body: object, forced: object])[] = [
  ["tools.web_search", "/v1/responses", { model: "m", input: "Hello", tools: [read, search] }, { tool_choice: search }],
  [
    "tools.web_search",
    "/v1/responses",
    { model: "m", input: [added, question], tools: [search] },
    { tool_choice: search },
  ],
  [
    "tools.web_search_20250305",
    "/v1/messages",
    { model: "m", max_tokens: 9, messages, tools: [claudeRead, claudeSearch] },
    { tool_choice: { type: "tool", name: "web_search" } },
  ],
  [
    "web_search_options",
    "/v1/chat/completions",
    { model: "m", messages, web_search_options: {}, tools: [{ type: "function", function: { name: "read" } }] },
    { tools: [] },
  ],
];
for (const [index, [param, path, body, forced]] of agents.entries()) {
  test(`${path} goes on without ${param} beside functions and reports it, unless the request demands it (form ${index + 1})`, async () => {
    const { status, shown, body: answer } = await ask(path, body);
    assert.equal(status, 200, JSON.stringify(answer));
    assert.ok(shown?.split(",").includes(param), `reported: ${shown}`);
    assert.equal((await ask(path, { ...body, ...forced })).status, 400);
  });
}

test("a search of stored pages, which Codex offers, is left out and reported", async () => {
  const tools = [{ type: "web_search", external_web_access: false }];
  const { status, shown } = await ask("/v1/responses", { model: "m", input: "Hello", tools });
  assert.deepEqual([status, shown], [200, "tools.web_search.cached"]);
});

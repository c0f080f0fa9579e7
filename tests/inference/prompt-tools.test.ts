import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

type Members = Record<string, unknown>;

let upstream: RecordingUpstream;
let gateway: TestGateway;
/** Answers of the model that is asked, one for each round. */
let rounds: Members[][] = [];
/** Requests that the upstream received, by their paths. */
let asked: { path: string; body: Members }[] = [];
/** What a prompt is answered, where it goes to the upstream. */
let said: Members = {};

const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
before(async () => {
  upstream = await startRecordingUpstream(({ path, text }, response) => {
    response.setHeader("content-type", "application/json");
    asked.push({ path, body: JSON.parse(text) });
    const message = { role: "assistant", content: "A short one", ...said };
    const chat = { id: "c", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message }] };
    const none = { error: null, incomplete_details: null };
    const shared = { id: "resp_1", object: "response", created_at: 1, model: "m", status: "completed", usage, ...none };
    if (path.endsWith("/chat/completions")) return void response.end(JSON.stringify(chat));
    response.end(JSON.stringify({ ...shared, output: rounds.shift() ?? assert.fail() }));
  });
  gateway = await createTestGateway({ inFile: true });
  const own = (route: string, body: object) => done<Members>(call(gateway, route, { key: workspaceKey, body }));
  await own("POST /integrations", {
    name: "Echo",
    slug: "echo-of-prompts",
    ai_provider_id: "echo",
    create_default_provider: true,
    default_provider_slug: "echo-of-prompts",
  });
  const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /collections", { key: workspaceKey }));
  for (const [slug, virtual_key] of [
    ["summary", "echo-of-prompts"],
    ["anywhere", ""],
  ]) {
    const string = JSON.stringify([{ role: "user", content: "Shorten: {{story}}" }]);
    const parameters = { tools: [{ type: "mcp", server_label: "@gateway-prompts/summary" }] };
    const body = {
      name: `Prompt ${slug}`,
      string,
      parameters: slug === "anywhere" ? parameters : {},
      virtual_key,
    };
    const made = await own("POST /prompts", { ...body, model: "echo-1", collection_id: data[0]?.id });
    slugs.set(String(slug), String(made.slug));
  }
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  rounds = [];
  asked = [];
  said = {};
});

const slugs = new Map<string, string>();
const promptTool = (name: string, version = "") => ({
  type: "mcp",
  server_label: `@gateway-prompts/${slugs.get(name) ?? name}${version}`,
});
const functionOf = (name: string) => `prompt__${slugs.get(name)}`.slice(0, 64);
const toCall = (name: string, given: object, call_id = "c1") => ({
  type: "function_call",
  id: `fc_${call_id}`,
  call_id,
  name: functionOf(name),
  arguments: JSON.stringify(given),
});
const message = {
  type: "message",
  id: "m",
  role: "assistant",
  content: [{ type: "output_text", text: "Done", annotations: [] }],
};

const beta = { "x-gateway-beta": "server-side-mcp-2026-06-01" };

async function ask(body: object, headers: Record<string, string> = beta) {
  const response = await gateway.fetch("/v1/responses", {
    method: "POST",
    headers: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${upstream.url}/v1`,
      authorization: "Bearer upstream-credential",
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ model: "m", input: "Shorten this", ...body }),
  });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as Members & { output: Members[]; error?: Members } };
}

const outputs = (output: readonly Members[]) => output.map((item) => [item.type, item.name, item.output, item.error]);

test("a saved prompt is a tool: the gateway asks its own model, counts and logs the call, and the model goes on", async () => {
  rounds = [[toCall("summary", { story: "Once upon a time" })], [message]];
  const { status, body } = await ask(
    { tools: [promptTool("summary", "@1")] },
    { ...beta, "x-gateway-trace-id": "prompt-tools" },
  );
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(outputs(body.output), [
    ["mcp_list_tools", undefined, undefined, null],
    ["mcp_call", slugs.get("summary"), "Shorten: Once upon a time", null],
    ["message", undefined, undefined, undefined],
  ]);
  const [first, second] = asked;
  assert.deepEqual(first?.body.tools, [
    {
      type: "function",
      name: functionOf("summary"),
      description: "Prompt summary",
      parameters: { type: "object", properties: { story: { type: "string" } }, required: ["story"] },
      strict: false,
    },
  ]);
  const input = second?.body.input as Members[] | undefined;
  assert.deepEqual(input?.at(-1), {
    type: "function_call_output",
    call_id: "c1",
    output: "Shorten: Once upon a time",
  });
  assert.equal(asked.length, 2, "the prompt went to its own provider");
  const own = await waitForLogs(gateway, "trace_id=prompt-tools", 4);
  assert.deepEqual(own.map((row) => `${row.operation} ${Reflect.get(row, "prompt_slug") ?? ""}`).toSorted(), [
    `completePrompt ${slugs.get("summary")}`,
    ...Array(3).fill("responses "),
  ]);
});

test("a prompt without a provider goes where the request goes, and has no tools of the gateway itself", async () => {
  rounds = [[toCall("anywhere", { story: "x" })], [message]];
  const { body } = await ask({ tools: [promptTool("anywhere")] });
  assert.deepEqual(outputs(body.output)[1], ["mcp_call", slugs.get("anywhere"), "A short one", null]);
  const chat = asked.find(({ path }) => path.endsWith("/chat/completions"));
  assert.deepEqual(chat?.body.messages, [{ role: "user", content: "Shorten: x" }]);
  assert.equal(asked.length, 3, "the prompt's own tools call no prompts");
});

test("what fails becomes text for the model: no text, and arguments that are not an object", async () => {
  said = { content: null, tool_calls: [{ id: "t", type: "function", function: { name: "other", arguments: "{}" } }] };
  const broken = { ...toCall("summary", {}, "c2"), arguments: "no JSON" };
  rounds = [[toCall("anywhere", { story: "x" }), broken], [message]];
  const { status, body } = await ask({ tools: [promptTool("anywhere"), promptTool("summary")] });
  assert.equal(status, 200, JSON.stringify(body));
  const errors = body.output
    .filter(({ type }) => type === "mcp_call")
    .map(({ error, status: state }) => [state, error]);
  assert.deepEqual(errors, [
    ["failed", "The prompt gave no text: it may ask for tools, which nobody runs here"],
    ["failed", "Cannot call the prompt: its arguments are no object"],
  ]);
});

test("rounds and calls are bounded", async () => {
  rounds = Array.from({ length: 10 }, (_, round) =>
    Array.from({ length: 4 }, (__, index) => toCall("summary", { story: "x" }, `c${round}-${index}`)),
  );
  const { body } = await ask({ tools: [promptTool("summary")] });
  assert.equal(body.status, "incomplete");
  const calls = body.output.filter(({ type }) => type === "mcp_call");
  assert.deepEqual([calls.length, calls.filter(({ status }) => status === "completed").length], [40, 32]);
});

test("a conversation goes on after calls of prompts, also where the request has none", async () => {
  rounds = [[toCall("summary", { story: "x" })], [message], [message]];
  const first = await ask({ tools: [promptTool("summary")] });
  asked = [];
  const items = [...first.body.output, { role: "user", content: "And now?" }];
  assert.equal((await ask({ input: items }, {})).status, 200);
  const input = asked[0]?.body.input as Members[];
  assert.deepEqual(
    input.map(({ type, role }) => type ?? role),
    ["function_call", "function_call_output", "message", "user"],
  );
  assert.ok(!JSON.stringify(input).includes("gateway-prompts"));
});

test("unknown prompts, one that is named twice, too many and a missing beta are refused", async () => {
  for (const [tools, code, headers] of [
    [[promptTool("nobody")], "prompt_not_found"],
    [[promptTool("summary", "@77")], "prompt_not_found"],
    [[promptTool("summary"), promptTool("summary", "@1")], "invalid_tools"],
    [Array(17).fill(promptTool("summary")), "invalid_tools"],
    [[promptTool("summary")], "beta_required", {}],
  ] as const) {
    const { status, body } = await ask({ tools }, headers ?? beta);
    assert.deepEqual([status, body.error?.code], [code === "prompt_not_found" ? 404 : 400, code]);
  }
  assert.deepEqual(asked, []);
});

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { McpServer } from "../../src/mcp/registry/mcp-server.ts";
import { call, done } from "../support/control.ts";
import { readJson, waitForLog, workspaceKey } from "../support/gateway.ts";
import {
  echoArguments,
  events,
  json,
  type Message,
  messagesOf,
  type RpcAnswer,
  type Scripted,
  startScripted,
} from "./scripted.ts";
import { mcpServer, postLegacy, postModern, rpc } from "./support.ts";

// Guardrails on what a server and its client say to each other beside the call and its result.

let parts: Scripted;
before(async () => {
  parts = await startScripted();
});
after(() => parts.close());
beforeEach(() => {
  parts.script = echoArguments;
});

let count = 0;

/** Puts a guardrail before the server. */
async function guardBy(
  check: object,
  {
    actions = { deny: true } as object,
    runsOn = ["input", "output"] as ("input" | "output")[],
    ids = [] as string[],
  } = {},
): Promise<string> {
  const body = { name: `messages ${++count}`, checks: [check], actions, target: "mcp_tools" };
  const { id } = await done(call<{ id: string }>(parts.gateway, "POST /guardrails", { key: workspaceKey, body }));
  const guardrails: McpServer["guardrails"] = [
    { guardrailId: id, runsOn: new Set(runsOn), capabilityIds: new Set(ids) },
  ];
  parts.servers.set(mcpServer(`${parts.upstream.url}/mcp`, { guardrails }));
  return id;
}

const noSecret = { id: "default.contains", parameters: { words: ["secret"], operator: "none" } };
const redact = { id: "default.regexReplace", parameters: { rule: "/4\\d{3}/g", redactText: "[hidden]" } };

/** The last message that the server got. */
const received = (): Message => JSON.parse(parts.upstream.requests.at(-1)?.text ?? "{}");

/** Answers a question of the server, as a client of the older revisions does. */
function answer(result: object, headers: Record<string, string> = {}): Promise<Response> {
  return postLegacy(parts.gateway, JSON.stringify({ jsonrpc: "2.0", id: 7, ...result }), headers);
}

for (const [what, given] of [
  ["elicitation", { result: { action: "accept", content: { note: "the secret" } } }],
  ["sampling", { result: { role: "assistant", model: "m", content: { type: "text", text: "the secret" } } }],
  ["the name of a member", { result: { action: "accept", content: { secret: 1 } } }],
  ["an error", { error: { code: -1, message: "the secret" } }],
] as const) {
  test(`an answer to a question of the server (${what}) is denied: the server gets an error, its sender 446`, async () => {
    const id = await guardBy(noSecret, { runsOn: ["input"] });
    parts.script = () => ({ status: 202 });
    const traceId = `answer-${count}`;
    const response = await answer(given, { "x-gateway-trace-id": traceId });
    const body = await readJson<RpcAnswer>(response);
    assert.deepEqual([response.status, body.error.code, body.error.data?.guardrail_id], [200, 446, id]);
    // the id is the server's
    assert.equal(body.id ?? null, null);
    const { id: answered, error, result } = received();
    assert.deepEqual([answered, (error as { code: number }).code, result], [7, 446, undefined]);
    assert.ok(!JSON.stringify(received()).includes("the secret"));
    const row = (await waitForLog(parts.gateway, traceId)) as unknown as { mcp: { rpc_code: number } };
    assert.equal(row.mcp.rpc_code, 446);
    assert.equal((await answer({ result: { action: "accept", content: { note: "fine" } } })).status, 202);
    assert.deepEqual(received().result, { action: "accept", content: { note: "fine" } });
  });
}

test("an answer is seen by guardrails of some capabilities and by defaults: it does not say which call asked", async () => {
  parts.script = () => ({ status: 202 });
  await guardBy(noSecret, { runsOn: ["input"], ids: ["a tool"] });
  const secret = { result: { action: "accept", content: { note: "secret" } } };
  assert.equal((await answer(secret)).status, 200);
  const id = await guardBy(noSecret, { runsOn: ["output"] });
  assert.equal((await answer(secret)).status, 202);
  const defaults = (list: string[]) =>
    done(call(parts.gateway, "PUT /admin/workspaces/default", { body: { defaults: { input_guardrails: list } } }));
  await defaults([id]);
  const denied = await answer(secret);
  await defaults([]);
  assert.equal(denied.status, 200);
});

test("a mutator changes strings of an answer, and nothing else", async () => {
  await guardBy(redact, { actions: {} });
  parts.script = () => ({ status: 202 });
  const content = { card: "4000", n: 4001, list: ["x4002"] };
  assert.equal((await answer({ result: { action: "accept", content } })).status, 202);
  assert.deepEqual(received().result, {
    action: "accept",
    content: { card: "[hidden]", n: 4001, list: ["x[hidden]"] },
  });
});

const progress = (message: string) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: "4004", progress: 1, message },
});
const entry = (data: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/message",
  params: { level: "info", logger: "l", data },
});
const question = (message: string) => ({
  jsonrpc: "2.0",
  id: 9,
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: {} } },
});
const sampling = (text: string) => ({
  jsonrpc: "2.0",
  id: 9,
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 4005 },
});

/** The messages of a call whose server sends others before its result. */
async function callWith(messages: object[], headers: Record<string, string> = {}): Promise<Message[]> {
  parts.script = ({ id }) => events(...messages, { jsonrpc: "2.0", id, result: { content: [] } });
  const response = await postLegacy(parts.gateway, rpc("tools/call", { name: "t", arguments: {} }), headers);
  return messagesOf(await response.text());
}

test("progress and log entries that a guardrail denies are withheld, others flow, and the row shows it", async () => {
  await guardBy(noSecret, { runsOn: ["output"] });
  const headers = { "x-gateway-trace-id": "withheld" };
  const sent = await callWith(
    [progress("fine"), progress("secret"), entry({ deep: ["secret"] }), entry({ secret: 1 }), entry("fine")],
    headers,
  );
  assert.deepEqual(sent.slice(0, -1), [progress("fine"), entry("fine")]);
  assert.deepEqual(sent.at(-1)?.result, { content: [] });
  const row = (await waitForLog(parts.gateway, "withheld")) as unknown as {
    status: number;
    hook_results: { after_request_hooks: { deny: boolean }[] };
  };
  assert.equal(row.status, 200);
  assert.deepEqual(
    row.hook_results.after_request_hooks.map(({ deny }) => deny),
    [true, true, true, false],
  );
});

for (const [what, asked] of [
  ["elicitation", question],
  ["sampling", sampling],
] as const) {
  test(`a question of the server (${what}) that a guardrail denies ends the call with 446`, async () => {
    const id = await guardBy(noSecret, { runsOn: ["output"] });
    const [only, ...more] = await callWith([asked("the secret")]);
    assert.deepEqual([only?.id, more], [1, []]);
    const { code, data } = (only?.error ?? {}) as RpcAnswer["error"];
    assert.deepEqual([code, data?.guardrail_id, data?.phase], [446, id, "afterRequestHook"]);
    const [first, last] = await callWith([asked("fine")]);
    assert.deepEqual([first, last?.result], [asked("fine"), { content: [] }]);
  });
}

test("a mutator changes strings of messages before the result, and neither tokens nor numbers", async () => {
  await guardBy(redact, { actions: {}, runsOn: ["output"] });
  const sent = await callWith([
    progress("is 4000"),
    entry({ a: ["4001"], n: 4002 }),
    question("4003?"),
    sampling("4006"),
  ]);
  assert.deepEqual(sent.slice(0, -1), [
    progress("is [hidden]"),
    entry({ a: ["[hidden]"], n: 4002 }),
    question("[hidden]?"),
    sampling("[hidden]"),
  ]);
});

test("answers and questions of the newest revision are seen in calls and results", async () => {
  await guardBy(noSecret);
  const code = async (params: object, result: object) => {
    parts.script = ({ id }) => json({ jsonrpc: "2.0", id, result });
    const response = await postModern(parts.gateway, "tools/call", { name: "t", arguments: {}, ...params });
    return (await readJson<RpcAnswer>(response)).error?.code;
  };
  const asks = (message: string) => ({
    resultType: "input_required",
    inputRequests: { a: { method: "elicitation/create", params: { message } } },
  });
  const says = (note: string) => ({ inputResponses: { a: { action: "accept", content: { note } } } });
  assert.equal(await code(says("secret"), asks("fine")), 446);
  assert.equal(await code(says("fine"), asks("secret")), 446);
  assert.equal(await code(says("fine"), asks("fine")), undefined);
});

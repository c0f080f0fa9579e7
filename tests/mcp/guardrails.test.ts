import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { McpCapability, McpGuardrail, McpServer } from "../../src/mcp/registry/mcp-server.ts";
import { call, done } from "../support/control.ts";
import { readJson, waitForLog, workspaceKey } from "../support/gateway.ts";
import { serveFetch } from "./conformance.ts";
import { createFixture } from "./fixture.ts";
import { echoArguments, events, json, messagesOf, type RpcAnswer, type Scripted, startScripted } from "./scripted.ts";
import { mcpServer, postLegacy, postModern, rpc } from "./support.ts";

let parts: Scripted;
before(async () => {
  parts = await startScripted();
});
after(() => parts.close());
beforeEach(() => {
  parts.script = echoArguments;
});

let count = 0;

/** Saves a guardrail for tool calls. */
async function save(checks: object[], actions: object = { deny: true }): Promise<{ id: string; slug: string }> {
  const name = `tools ${++count}`;
  const body = { name, checks, actions, target: "mcp_tools" };
  return done(call<{ id: string; slug: string }>(parts.gateway, "POST /guardrails", { key: workspaceKey, body }));
}

const both: ReadonlySet<"input" | "output"> = new Set(["input", "output"]);

/** A mapping of a guardrail to a server. */
function mapped(guardrailId: string, runsOn: Iterable<"input" | "output"> = both, ids: string[] = []): McpGuardrail {
  return { guardrailId, runsOn: new Set(runsOn), capabilityIds: new Set(ids) };
}

/** Puts guardrails before the server. */
function guardBy(guardrails: McpGuardrail[], changes: Partial<McpServer> = {}): void {
  parts.servers.set(mcpServer(`${parts.upstream.url}/mcp`, { guardrails, ...changes }));
}

async function callTool(given: object, { headers = {} as Record<string, string>, name = "t" } = {}) {
  const response = await postLegacy(parts.gateway, rpc("tools/call", { name, arguments: given }), headers);
  return { status: response.status, body: await readJson<RpcAnswer>(response) };
}

const noWord = (words: string[], parameters: object = {}) => [
  { id: "default.contains", parameters: { words, operator: "none", ...parameters } },
];
const redact = (rule: string) => [{ id: "default.regexReplace", parameters: { rule, redactText: "[hidden]" } }];

for (const [what, given] of [
  ["a value", { text: "the secret word" }],
  ["a value that JSON escapes", { text: 'a "secret"\nword' }],
  ["a nested value", { a: [{ b: ["secret"] }] }],
  ["the name of an argument", { secret: 1 }],
] as const) {
  test(`a guardrail finds ${what} in the arguments: status 200, code 446, guardrail and check`, async () => {
    const { id, slug } = await save(noWord(["secret"]));
    guardBy([mapped(id, ["input"])]);
    const before = parts.upstream.requests.length;
    const { status, body } = await callTool(given, { headers: { "x-gateway-trace-id": `denied-${count}` } });
    assert.equal(status, 200);
    assert.deepEqual([body.id, body.error.code], [1, 446]);
    const { checks, guardrail, ...data } = body.error.data ?? {};
    assert.deepEqual(data, {
      type: "guardrail_denied",
      phase: "beforeRequestHook",
      guardrail_id: id,
      check_id: "default.contains",
      server: "everything",
      tool: "t",
      trace_id: `denied-${count}`,
    });
    assert.equal((guardrail as { slug: string }).slug, slug);
    assert.equal((checks as { verdict: boolean }[])[0]?.verdict, false);
    assert.match(body.error.message, new RegExp(`denied by guardrail '${slug}' \\(check default\\.contains\\)`));
    assert.equal(parts.upstream.requests.length, before);
  });
}

test("a number beyond 2^53 is seen by its digits", async () => {
  const { id } = await save([{ id: "default.regexMatch", parameters: { rule: "4111111111111111111", not: true } }]);
  guardBy([mapped(id)]);
  const body =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"card":4111111111111111111}}}';
  const { error } = await readJson<RpcAnswer>(await postLegacy(parts.gateway, body));
  assert.equal(error.code, 446);
});

test("of a member that stands twice, guardrails and server see the same value", async () => {
  const { id } = await save(noWord(["secret"]));
  guardBy([mapped(id, ["input"])]);
  const twice = (first: string, second: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"${first}"},"arguments":{"a":"${second}"}}}`;
  const denied = await readJson<RpcAnswer>(await postLegacy(parts.gateway, twice("fine", "secret")));
  assert.equal(denied.error.code, 446);
  await postLegacy(parts.gateway, twice("secret", "fine"));
  assert.ok(!parts.upstream.requests.at(-1)?.text.includes("secret"));
});

test("a mutator changes strings of arguments and results at any depth, and nothing else", async () => {
  const { id } = await save(redact("/4\\d{3}/g"), {});
  guardBy([mapped(id)]);
  parts.script = ({ id: rpcId, params = {} }) =>
    json({
      jsonrpc: "2.0",
      id: rpcId,
      result: {
        content: [
          { type: "text", text: "4000 and 5000" },
          { type: "resource", resource: { uri: "a://b", text: "4001" } },
          { type: "image", data: "4002", mimeType: "image/png" },
          { type: "other", note: "4003" },
        ],
        structuredContent: { deep: [{ card: "4004", given: params.arguments }] },
        _meta: { note: "4005" },
      },
    });
  const headers = { "x-gateway-trace-id": "mutated" };
  const { body } = await callTool({ a: "4100", b: [{ c: "x4101y" }], n: 4102, "4103": "k" }, { headers });
  const sent = JSON.parse(parts.upstream.requests.at(-1)?.text ?? "{}");
  assert.deepEqual(sent.params.arguments, { a: "[hidden]", b: [{ c: "x[hidden]y" }], n: 4102, "4103": "k" });
  assert.deepEqual(body.result, {
    content: [
      { type: "text", text: "[hidden] and 5000" },
      { type: "resource", resource: { uri: "a://b", text: "[hidden]" } },
      { type: "image", data: "4002", mimeType: "image/png" },
      { type: "other", note: "[hidden]" },
    ],
    structuredContent: {
      deep: [{ card: "[hidden]", given: { a: "[hidden]", b: [{ c: "x[hidden]y" }], n: 4102, "4103": "k" } }],
    },
    _meta: { note: "4005" },
  });
  const row = await waitForLog(parts.gateway, "mutated");
  assert.ok(!JSON.stringify(row.request.body).includes("4100"));
});

test("a denying mutator refuses what it cannot change: names of arguments and numbers", async () => {
  const { id } = await save(redact("/4\\d{3}/g"));
  guardBy([mapped(id, ["input"])]);
  assert.equal((await callTool({ n: 4102 })).body.error.code, 446);
  assert.equal((await callTool({ "4103": "k" })).body.error.code, 446);
  assert.equal((await callTool({ a: "4104" })).body.error, undefined);
});

test("headers that repeat arguments follow their change, and say nothing that guardrails have not seen", async () => {
  const { id } = await save(redact("/secret/g"), {});
  guardBy([mapped(id, ["input"])]);
  parts.script = ({ id: rpcId }) =>
    json({ jsonrpc: "2.0", id: rpcId, result: { resultType: "complete", content: [] } });
  await postModern(
    parts.gateway,
    "tools/call",
    { name: "t", arguments: { region: "my secret", zone: "eu" } },
    { "mcp-param-region": "my secret", "mcp-param-zone": "eu", "mcp-param-more": "another secret" },
  );
  const { headers } = parts.upstream.requests.at(-1) ?? assert.fail();
  assert.equal(headers["mcp-param-region"], "my [hidden]");
  assert.equal(headers["mcp-param-zone"], "eu");
  assert.equal(headers["mcp-param-more"], undefined);
});

for (const [what, result] of [
  ["a text", { content: [{ type: "text", text: "the secret" }] }],
  ["a resource", { content: [{ type: "resource", resource: { uri: "a://b", text: "secret" } }] }],
  ["a link", { content: [{ type: "resource_link", uri: "a://b", name: "n", description: "secret" }] }],
  ["structured content", { content: [], structuredContent: { a: { b: "secret" } } }],
  ["the name of a member", { content: [], structuredContent: { secret: 1 } }],
  ["an unknown kind of content", { content: [{ type: "new", data: "secret" }] }],
  ["a question to the user", { inputRequests: { a: { method: "elicitation/create", params: { message: "secret" } } } }],
] as const) {
  test(`a guardrail finds ${what} in the result, whole or streamed`, async () => {
    const { id } = await save(noWord(["secret"]));
    guardBy([mapped(id, ["output"])]);
    parts.script = ({ id: rpcId }) => json({ jsonrpc: "2.0", id: rpcId, result });
    const { status, body } = await callTool({ a: "secret" });
    assert.deepEqual([status, body.error.code, body.error.data?.phase], [200, 446, "afterRequestHook"]);
    assert.ok(!JSON.stringify(body).includes('"secret"'));
    const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } };
    parts.script = ({ id: rpcId }) => events(progress, { jsonrpc: "2.0", id: rpcId, result });
    const response = await postLegacy(parts.gateway, rpc("tools/call", { name: "t" }));
    const [first, last, ...more] = messagesOf(await response.text());
    assert.deepEqual(
      [first?.method, last?.id, (last?.error as { code: number } | undefined)?.code, more],
      [progress.method, 1, 446, []],
    );
  });
}

test("an error of the server is seen too", async () => {
  const { id } = await save(noWord(["secret"]));
  guardBy([mapped(id, ["output"])]);
  parts.script = ({ id: rpcId }) =>
    json({ jsonrpc: "2.0", id: rpcId, error: { code: -32050, message: "no", data: { hint: "secret" } } });
  const { body } = await callTool({});
  assert.equal(body.error.code, 446);
});

test("a soft denial is a result with isError that names the guardrail, before and after the call", async () => {
  const { id } = await save(noWord(["secret"], { soft_deny_200: true }));
  guardBy([mapped(id)]);
  for (const given of [{ a: "secret" }, { a: "fine" }]) {
    parts.script = ({ id: rpcId }) =>
      json({ jsonrpc: "2.0", id: rpcId, result: { content: [{ type: "text", text: "secret" }] } });
    const { body } = await callTool(given);
    assert.equal(body.error, undefined);
    const { content, isError, _meta } = body.result;
    assert.equal(isError, true);
    assert.match((content as { text: string }[])[0]?.text ?? "", /denied by guardrail/);
    const data = (_meta as Record<string, { guardrail_id: string }>)["ai.gateway/guardrail"];
    assert.equal(data?.guardrail_id, id);
  }
});

/** A capability of the server. */
const capability = (id: string): McpCapability => ({ id, definition: null, approved: null, isListed: true });

test("a mapping with capabilities runs on these alone, on prompts and resources too", async () => {
  const { id } = await save(noWord(["secret"]));
  const [tool, prompt, resource, template] = ["t1", "p1", "r1", "m1"].map((name) => capability(name));
  guardBy([mapped(id, both, ["t1", "p1", "r1", "m1"])], {
    capabilities: {
      tool: new Map([
        ["guarded", tool ?? assert.fail()],
        ["free", capability("t2")],
      ]),
      prompt: new Map([["guarded", prompt ?? assert.fail()]]),
      resource: new Map([["file:///guarded", resource ?? assert.fail()]]),
      resource_template: new Map([["db://{id}", template ?? assert.fail()]]),
    },
  });
  parts.script = ({ id: rpcId, method }) =>
    json({
      jsonrpc: "2.0",
      id: rpcId,
      result:
        method === "prompts/get"
          ? { messages: [{ role: "user", content: { type: "text", text: "secret" } }] }
          : { content: [], contents: [{ uri: "a", text: "secret" }] },
    });
  const code = async (method: string, params: object) => {
    const body = await readJson<RpcAnswer>(await postLegacy(parts.gateway, rpc(method, params)));
    return body.error?.code;
  };
  assert.equal(await code("tools/call", { name: "guarded", arguments: { a: "secret" } }), 446);
  assert.equal(await code("tools/call", { name: "free", arguments: { a: "secret" } }), undefined);
  assert.equal(await code("prompts/get", { name: "guarded" }), 446);
  assert.equal(await code("prompts/get", { name: "other" }), undefined);
  assert.equal(await code("resources/read", { uri: "file:///guarded" }), 446);
  assert.equal(await code("resources/read", { uri: "FILE:///%67uarded" }), 446);
  assert.equal(await code("resources/read", { uri: "db://7" }), 446);
  assert.equal(await code("resources/read", { uri: "file:///other" }), undefined);
});

test("a guardrail that is gone closes its server", async () => {
  guardBy([mapped("00000000-0000-4000-8000-000000000000")]);
  const { status, body } = await callTool({});
  assert.deepEqual([status, body.error.code, body.error.data?.type], [200, 446, "guardrail_unavailable"]);
});

test("defaults of the workspace run on every tool call, and on no request to a model", async () => {
  const { id } = await save(noWord(["secret"]));
  guardBy([]);
  const defaults = (list: string[]) =>
    done(call(parts.gateway, "PUT /admin/workspaces/default", { body: { defaults: { input_guardrails: list } } }));
  await defaults([id]);
  const denied = await callTool({ a: "secret" });
  const chat = await parts.gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": "echo",
      "content-type": "application/json",
    },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "secret" }] }),
  });
  await defaults([]);
  assert.equal(denied.body.error.code, 446);
  assert.equal(chat.status, 200);
  assert.equal((await callTool({ a: "secret" })).body.error, undefined);
});

test("a guardrail may look at the request type, and rows show results", async () => {
  const { id } = await save([{ id: "default.allowedRequestTypes", parameters: { blockedTypes: ["mcpToolCall"] } }]);
  guardBy([mapped(id, ["input"])]);
  const { body } = await callTool({}, { headers: { "x-gateway-trace-id": "mcp-type" } });
  assert.equal(body.error.code, 446);
  const row = (await waitForLog(parts.gateway, "mcp-type")) as unknown as {
    status: number;
    hook_results: { before_request_hooks: { deny: boolean }[] };
    mcp: { rpc_code: number };
  };
  assert.deepEqual([row.status, row.mcp.rpc_code], [200, 446]);
  assert.equal(row.hook_results.before_request_hooks[0]?.deny, true);
});

test("results with files are refused where the server may return none", async () => {
  const server = mcpServer(`${parts.upstream.url}/mcp`);
  parts.servers.set({ ...server, settings: { ...server.settings, refuse_binary: true } });
  for (const item of [
    { type: "image", data: "AA==", mimeType: "image/png" },
    { type: "resource", resource: { uri: "a://b", blob: "AA==" } },
  ]) {
    parts.script = ({ id }) => json({ jsonrpc: "2.0", id, result: { content: [item] } });
    const { body } = await callTool({});
    assert.deepEqual([body.error.code, body.error.data?.type], [446, "binary_refused"]);
  }
});

const information = { name: "test", version: "1" };
const requestInit = { headers: { "x-gateway-api-key": workspaceKey } };

/** What the test asks of a client, whatever its library. */
interface AnyClient {
  callTool(params: {
    name: string;
    arguments: Record<string, unknown>;
  }): Promise<{ isError?: boolean; _meta?: object }>;
  close(): Promise<void>;
}

async function connect(kind: "v1" | "legacy" | "auto", url: string): Promise<AnyClient> {
  if (kind === "v1") {
    const client = new FirstClient(information);
    // the library's types do not allow for exactOptionalPropertyTypes
    await client.connect(new FirstTransport(new URL(url), { requestInit }) as never);
    return client as unknown as AnyClient;
  }
  const client = new ModernClient(information, { versionNegotiation: { mode: kind } });
  await client.connect(new ModernTransport(new URL(url), { requestInit }));
  return client as unknown as AnyClient;
}

test("clients of every revision get guardrail and check of a denial, hard or soft", async () => {
  const fixture = await serveFetch(createFixture("both"));
  const front = await serveFetch((request, connection) => parts.gateway.gateway.fetch(request, connection));
  const [hard, soft] = [
    await save(noWord(["forbidden"])),
    await save(noWord(["simple text"], { soft_deny_200: true })),
  ];
  const url = `http://127.0.0.1:${fixture.port}/mcp`;
  parts.servers.set(mcpServer(url, { guardrails: [mapped(hard.id, ["input"]), mapped(soft.id, ["output"])] }));
  for (const kind of ["v1", "legacy", "auto"] as const) {
    const client = await connect(kind, `${front.url}/m/everything/mcp`);
    const refused = client.callTool({ name: "test_simple_text", arguments: { a: "forbidden" } });
    await assert.rejects(refused, (error: { code?: unknown; data?: { guardrail_id?: string; check_id?: string } }) => {
      assert.deepEqual(
        [error.code, error.data?.guardrail_id, error.data?.check_id],
        [446, hard.id, "default.contains"],
      );
      return true;
    });
    const { isError, _meta } = await client.callTool({ name: "test_simple_text", arguments: {} });
    assert.equal(isError, true);
    assert.ok(JSON.stringify(_meta).includes(soft.id), kind);
    await client.close();
  }
  await front.close();
  await fixture.close();
});

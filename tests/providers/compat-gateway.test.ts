import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fixture } from "../conformance/suite.ts";
import {
  chat,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  readJson,
  requestHeaders,
  waitForLog,
} from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

const ask = (provider: string, body: object = helloBody, headers: HeaderChanges = {}) =>
  chat(gateway, body, { "x-gateway-provider": provider, authorization: "Bearer provider-key", ...headers });

function answerWithStream(text: string): void {
  wire.answer = () => new Response(text, { headers: { "content-type": "text/event-stream" } });
}

const streamed = { ...helloBody, stream: true };

test("perplexity-ai streams without [DONE] get one after their finish reason, and their usage is logged", async () => {
  answerWithStream(fixture("perplexity-ai", "stream.sse"));
  const trace = crypto.randomUUID();
  const response = await ask("perplexity-ai", streamed, { "x-gateway-trace-id": trace });
  const text = await response.text();
  assert.equal(wire.url, "https://api.perplexity.ai/chat/completions");
  assert.ok(text.endsWith("data: [DONE]\n\n"), text);
  assert.equal(text.split("[DONE]").length, 2);
  assert.doesNotMatch(text, /citations|"usage"/);
  assert.match(text, /"provider":"perplexity-ai"/);
  const row = await waitForLog(gateway, trace);
  assert.deepEqual([row.usage?.output_tokens, row.usage?.reasoning_tokens], [3, 2]);
});

test("groq usage in another place comes last, and only when requested", async () => {
  answerWithStream(fixture("groq", "stream.sse"));
  const response = await ask("groq", { ...streamed, stream_options: { include_usage: true } });
  const events = (await response.text()).trim().split("\n\n");
  assert.equal(events.at(-1), "data: [DONE]");
  assert.deepEqual(JSON.parse(events.at(-2)?.slice("data: ".length) ?? ""), {
    id: "chatcmpl-fxgq",
    object: "chat.completion.chunk",
    created: 1_790_000_000,
    model: "llama-3.3-70b-versatile",
    choices: [],
    provider: "groq",
    usage: { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16 },
  });
});

test("openrouter streams that break off fail without [DONE]", async () => {
  answerWithStream(fixture("openrouter", "stream-error.sse"));
  const text = await (await ask("openrouter", streamed)).text();
  assert.match(text, /openrouter error: Provider disconnected/);
  assert.doesNotMatch(text, /\[DONE\]/);
});

test("groq streams that end with [DONE] alone are complete", async () => {
  const chunk = { id: "fx-1", object: "chat.completion.chunk", created: 1, model: "m" };
  const part = { ...chunk, choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }] };
  answerWithStream(`data: ${JSON.stringify(part)}\n\ndata: [DONE]\n\n`);
  const text = await (await ask("groq", streamed)).text();
  assert.ok(text.endsWith("data: [DONE]\n\n"), text);
  assert.doesNotMatch(text, /"error"/);
});

const askForUsage = { ...streamed, stream_options: { include_usage: true } };

test("nebius streams that need no change are forwarded as bytes", async () => {
  const text = fixture("openai", "stream.sse").replaceAll('"id":', '"object" : "chat.completion.chunk", "id":');
  answerWithStream(text);
  assert.equal(await (await ask("nebius", askForUsage)).text(), text);
});

test("nebius' own fields are forwarded as bytes when responses need not be strict", async () => {
  const text = fixture("openai", "stream.sse").replaceAll('"id":', '"own":{"a" : 1},"id":');
  answerWithStream(text);
  const lax = { "x-gateway-strict-open-ai-compliance": "false" };
  assert.equal(await (await ask("nebius", askForUsage, lax)).text(), text);
  answerWithStream(text);
  assert.doesNotMatch(await (await ask("nebius", askForUsage)).text(), /"own"/);
});

test("novita-ai reasoning is removed from a strict stream, and everything else is unchanged", async () => {
  const plain = fixture("openai", "stream.sse");
  const [head = "", ...rest] = plain.split("\n\n");
  const thought = head.replace(
    /"delta":\{[^}]*\}/,
    '"delta":{"reasoning_content":"Check \\"hours\\".","content":null}',
  );
  assert.notEqual(thought, head);
  answerWithStream([head, thought, thought, ...rest].join("\n\n"));
  assert.equal(await (await ask("novita-ai", askForUsage)).text(), plain);
});

test("hyperbolic usage beside content comes last, and only when requested", async () => {
  const chunk = { id: "fx-1", object: "chat.completion.chunk", created: 1, model: "m" };
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const choices = [{ index: 0, delta: { role: "assistant", content: "a" }, finish_reason: "stop" }];
  for (const tail of ["", "data: [DONE]\n\n"]) {
    answerWithStream(`data: ${JSON.stringify({ ...chunk, choices, usage })}\n\n${tail}`);
    const events = (await (await ask("hyperbolic", askForUsage)).text()).split("\n\n");
    const wanted = [
      { ...chunk, choices },
      { ...chunk, choices: [], usage },
    ];
    assert.deepEqual(events, [...wanted.map((one) => `data: ${JSON.stringify(one)}`), "data: [DONE]", ""]);
    answerWithStream(`data: ${JSON.stringify({ ...chunk, choices, usage })}\n\n${tail}`);
    assert.doesNotMatch(await (await ask("hyperbolic", streamed)).text(), /"usage"/);
  }
});

test("fal-ai failures inside a choice end the stream as a failure, after earlier chunks", async () => {
  const chunk = { id: "fx-1", object: "chat.completion.chunk", created: 1, model: "m" };
  const said = { ...chunk, choices: [{ index: 0, delta: { role: "assistant", content: "a" }, finish_reason: null }] };
  const error = { code: 429, message: "fixture: gone" };
  const failed = { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "error", error }] };
  answerWithStream([said, failed].map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
  const text = await (await ask("fal-ai", streamed)).text();
  assert.ok(text.startsWith(`data: ${JSON.stringify(said)}\n\n`), text);
  assert.match(text, /fal-ai error: fixture: gone/);
  assert.doesNotMatch(text, /\[DONE\]/);
});

test("x-ai corrected usage of a non-streaming response is logged", async () => {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 5,
    total_tokens: 44,
    completion_tokens_details: { reasoning_tokens: 30 },
  };
  const choices = [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }];
  wire.answer = () => Response.json({ id: "fx-1", choices, usage, citations: [] });
  const trace = crypto.randomUUID();
  const response = await ask("x-ai", helloBody, { "x-gateway-trace-id": trace });
  const wanted = { ...usage, completion_tokens: 35 };
  assert.deepEqual(await readJson(response), { id: "fx-1", choices, usage: wanted, provider: "x-ai" });
  const row = await waitForLog(gateway, trace);
  assert.deepEqual([row.usage?.output_tokens, row.usage?.total_tokens, row.usage?.reasoning_tokens], [35, 44, 30]);
});

test("minimax failures with status 200 get the status of the failure", async () => {
  wire.answer = () => Response.json({ base_resp: { status_code: 1002, status_msg: "fixture: slow down" } });
  const response = await ask("minimax");
  const { error } = await readJson<{ error: { message: string; code: string } }>(response);
  assert.deepEqual([response.status, error.message, error.code], [429, "minimax error: fixture: slow down", "1002"]);
});

test("groq reports fields it does not support as dropped", async () => {
  wire.answer = () => Response.json({ id: "fx-1", choices: [] });
  const response = await ask("groq", { ...helloBody, logprobs: true, logit_bias: {} });
  assert.equal(response.status, 200, await response.text());
  assert.equal(response.headers.get("x-gateway-dropped-params"), "logprobs,logit_bias");
  assert.deepEqual(JSON.parse(String(wire.init?.body)), helloBody);
});

test("nscale rejects fields whose absence would change the response", async () => {
  const tools = [{ type: "function", function: { name: "a" } }];
  const response = await ask("nscale", { ...helloBody, tools });
  const { error } = await readJson<{ error: { param: string; code: string } }>(response);
  assert.deepEqual([response.status, error.param, error.code], [400, "tools", "unsupported_parameter"]);
});

test("x-ai failures that are strings keep the string, and the code beside it", async () => {
  const body = { code: "capacity_exceeded", error: "fixture: model overloaded" };
  wire.answer = () => Response.json(body, { status: 503 });
  const response = await ask("x-ai");
  const { error } = await readJson<{ error: { message: string } }>(response);
  assert.deepEqual([response.status, error.message], [503, "x-ai error: fixture: model overloaded"]);
});

test("deepseek keeps its path prefix on a custom host", async () => {
  wire.answer = () => Response.json({ id: "fx-1", choices: [] });
  await ask("deepseek", helloBody, { "x-gateway-custom-host": "https://models.example.com/a" });
  assert.equal(wire.url, "https://models.example.com/a/v1/chat/completions");
});

test("deepseek adds no second version to a custom host that has one", async () => {
  wire.answer = () => Response.json({ id: "fx-1", choices: [] });
  for (const host of ["https://models.example.com/a/v1", "https://models.example.com/a/v1/"]) {
    await ask("deepseek", helloBody, { "x-gateway-custom-host": host });
    assert.equal(wire.url, "https://models.example.com/a/v1/chat/completions");
  }
});

for (const [provider, path, url] of [
  ["together-ai", "/v1/evaluation", "https://api.together.xyz/v1/evaluation"],
  ["together-ai", "/v1/v1/evaluation", "https://api.together.xyz/v1/evaluation"],
  ["together-ai", "/v1/proxy/api/x?a=1", "https://api.together.xyz/api/x?a=1"],
  ["lepton", "/v1/tts", "https://api.lepton.ai/api/v1/tts"],
  ["groq", "/v1/evaluation", "https://api.groq.com/openai/v1/evaluation"],
] as const) {
  test(`${provider} receives ${path} at ${url}`, async () => {
    wire.answer = () => Response.json({});
    const init = { method: "POST", headers: requestHeaders({ "x-gateway-provider": provider }), body: "{}" };
    assert.equal((await gateway.fetch(path, init)).status, 200);
    assert.equal(wire.url, url);
  });
}

for (const [slug, url] of [
  ["deepseek", "https://api.deepseek.com/v1/models"],
  ["openrouter", "https://openrouter.ai/api/v1/models"],
  ["nebius", "https://api.studio.nebius.ai/v1/models"],
] as const) {
  test(`GET /models of ${slug} returns its list`, async () => {
    wire.answer = () => Response.json({ data: [{ id: "m", context_length: 8 }] });
    const response = await gateway.fetch("/v1/models", { headers: requestHeaders({ "x-gateway-provider": slug }) });
    assert.equal(wire.url, url);
    assert.deepEqual(await readJson(response), { data: [{ id: "m", context_length: 8 }], provider: slug });
  });
}

test("openrouter gets the application's name from settings, else from the client's own headers", async () => {
  const answer = {
    id: "1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "x" } }],
  };
  wire.answer = () => Response.json(answer);
  const own = { "http-referer": "https://app.example", "x-title": "App" };
  const titleOf = async (headers: HeaderChanges) => {
    assert.equal((await ask("openrouter", helloBody, headers)).status, 200);
    const { headers: sent = {} } = wire.init ?? {};
    return [sent["http-referer"] ?? null, sent["x-title"]];
  };
  assert.deepEqual(await titleOf({}), [null, "AI gateway"]);
  assert.deepEqual(await titleOf(own), ["https://app.example", "App"]);
  assert.deepEqual(await titleOf({ ...own, "x-gateway-openrouter-title": "Set" }), ["https://app.example", "Set"]);
});

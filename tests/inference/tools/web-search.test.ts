import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createMcpGateway, mcpServer, serversOf } from "../../mcp/support.ts";
import { call, done } from "../../support/control.ts";
import { adminKey, createTestGateway, type TestGateway, waitForLogs, workspaceKey } from "../../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../../support/upstream.ts";
import { createWire } from "../../support/wire.ts";

type Members = Record<string, unknown>;

let upstream: RecordingUpstream;
let gateway: TestGateway;
/** Bodies that the model was asked with. */
let asked: Members[] = [];
/** Bodies of searches. */
let searched: Members[] = [];
/** Status of the search provider. */
let searchStatus = 200;
/** Further calls that the model makes beside its search. */
let beside: { name: string; args: Members }[] = [];
/** Searches that it makes before it answers. */
let searches = 1;

const answer = "It is sunny in [Oslo](https://yr.example/oslo).";
const page = { title: "Oslo", url: "https://yr.example/oslo", text: "Sunny", publishedDate: "2026-11-01" };

/** A chat of the model: it searches, then answers. */
function answerChat(body: Members): Members {
  const messages = body.messages as Members[];
  const results = messages.filter(({ role }) => role === "tool").length;
  const names = ((body.tools ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name);
  const name = names.find((one) => one.includes("web_search"));
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const head = { id: `c${asked.length}`, object: "chat.completion", created: 1, model: "m", usage };
  if (name === undefined || results >= searches) {
    const message = { role: "assistant", content: name === undefined && results === 0 ? "Hello" : answer };
    return { ...head, choices: [{ index: 0, message, finish_reason: "stop" }] };
  }
  const calls = [{ name, args: { query: "weather Oslo" } }, ...beside].map((one, index) => ({
    id: `call_${results}_${index}`,
    type: "function",
    function: { name: one.name, arguments: JSON.stringify(one.args) },
  }));
  const message = { role: "assistant", content: "Let me see.", tool_calls: calls };
  return { ...head, choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
}

/** The chunks of a chat. */
function toChunks({ choices, usage, ...head }: Members, withUsage: boolean): string {
  const [{ message, finish_reason }] = choices as [{ message: Members; finish_reason: string }];
  const { tool_calls: calls, content, role } = message;
  const chunk = (delta: Members, reason: string | null = null) =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const [one, two] = [String(content).slice(0, 9), String(content).slice(9)];
  const indexed = (calls as Members[] | undefined)?.map((each, index) => ({ index, ...each }));
  const counts = `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [], usage })}\n\n`;
  return [
    chunk({ role, content: one }),
    chunk({ content: two }),
    ...(indexed ? [chunk({ tool_calls: indexed })] : []),
    chunk({}, finish_reason),
    ...(withUsage ? [counts] : []),
    "data: [DONE]\n\n",
  ].join("");
}

function answerMcp(text: string): Members {
  const { id, method, params } = JSON.parse(text);
  if (method === "tools/list") return { jsonrpc: "2.0", id, result: { resultType: "complete", tools: [] } };
  searched.push(params.arguments);
  const said = JSON.stringify({ results: [{ title: page.title, url: page.url, content: page.text }] });
  return { jsonrpc: "2.0", id, result: { resultType: "complete", content: [{ type: "text", text: said }] } };
}

before(async () => {
  upstream = await startRecordingUpstream(({ path, text }, response) => {
    response.setHeader("content-type", "application/json");
    if (path === "/mcp") return void response.end(JSON.stringify(answerMcp(text)));
    const body = JSON.parse(text);
    if (path === "/exa/search") {
      searched.push(body);
      response.statusCode = searchStatus;
      return void response.end(JSON.stringify(searchStatus === 200 ? { results: [page] } : { error: "down" }));
    }
    asked.push(body);
    if (body.stream !== true) return void response.end(JSON.stringify(answerChat(body)));
    response.setHeader("content-type", "text/event-stream");
    response.end(toChunks(answerChat(body), body.stream_options?.include_usage === true));
  });
  gateway = await createMcpGateway(serversOf(mcpServer(`${upstream.url}/mcp`, { slug: "finder" })), { inFile: true });
  const as = { key: workspaceKey };
  const integration = {
    name: "exa-i",
    slug: "exa-i",
    ai_provider_id: "exa",
    key: "search-key",
    configurations: { custom_host: `${upstream.url}/exa` },
    create_default_provider: false,
  };
  await done(call(gateway, "POST /integrations", { ...as, body: integration }));
  await done(
    call(gateway, "POST /providers", { ...as, body: { name: "find", slug: "find", integration_id: "exa-i" } }),
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  [asked, searched, beside] = [[], [], []];
  [searchStatus, searches] = [200, 1];
});

const webSearch = { model: "@find/auto" };
/** A config whose target has chats alone. */
const configOf = (search: object | undefined = webSearch, more: object = {}) => ({
  provider: "together-ai",
  api_key: "k",
  custom_host: `${upstream.url}/v1`,
  ...(search && { server_tools: { web_search: search } }),
  ...more,
});

async function ask(path: string, body: object, config: object = configOf(), headers: Record<string, string> = {}) {
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-config": JSON.stringify(config),
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** Results of tools in a chat of the model. */
const resultsIn = (body: Members | undefined): Members[] =>
  ((body?.messages ?? []) as Members[]).filter(({ role }) => role === "tool");

const eventsOf = (text: string): Members[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));

const said = `Let me see.\n\n${answer}`;
const link = "[Oslo](https://yr.example/oslo)";

const messages = [{ role: "user", content: "Weather?" }];
const search = { type: "web_search" };

test("the Responses API gets searches as items, and citations as annotations", async () => {
  const body = { model: "m", input: "Weather?", tools: [search], include: ["web_search_call.action.sources"] };
  const { status, text } = await ask("/v1/responses", body);
  assert.equal(status, 200, text);
  const { output, tools, usage } = JSON.parse(text);
  assert.deepEqual(
    output.map(({ type }: Members) => type),
    ["message", "web_search_call", "message"],
  );
  const { id, ...item } = output[1];
  assert.match(id, /^ws_gw_/);
  const action = { type: "search", query: "weather Oslo", queries: ["weather Oslo"] };
  const sources = [{ type: "url", url: page.url }];
  assert.deepEqual(item, { type: "web_search_call", status: "completed", action: { ...action, sources } });
  const [part] = output[2].content;
  const start = answer.indexOf("[");
  const annotation = {
    type: "url_citation",
    start_index: start,
    end_index: start + link.length,
    url: page.url,
    title: "Oslo",
  };
  assert.deepEqual([part.text, part.annotations], [answer, [annotation]]);
  assert.deepEqual([tools, usage.total_tokens], [[search], 30]);
  assert.deepEqual(
    searched.map(({ query, numResults }) => [query, numResults]),
    [["weather Oslo", 5]],
  );
  const [result] = resultsIn(asked[1]);
  assert.match(String(result?.content), /\[1\] Oslo\nURL: https:\/\/yr\.example\/oslo\nDate: 2026-11-01\nSunny/);
});

test("a stream of the Responses API has the events of searches and annotations", async () => {
  const { text } = await ask("/v1/responses", { model: "m", input: "Weather?", tools: [search], stream: true });
  const events = eventsOf(text);
  const kinds = events.map(({ type }) => String(type));
  const places = [
    "response.created",
    "response.web_search_call.in_progress",
    "response.web_search_call.searching",
    "response.web_search_call.completed",
    "response.output_text.annotation.added",
    "response.completed",
  ].map((kind) => kinds.indexOf(kind));
  assert.ok(!places.includes(-1) && places.every((place, index) => place > (places[index - 1] ?? -1)), text);
  const numbers = events.map(({ sequence_number: number }) => number);
  assert.deepEqual(numbers, [...numbers.keys()]);
  const { response } = events.at(-1) as { response: { output: { content: Members[] }[] } };
  assert.ok(Array.isArray(response.output[2]?.content[0]?.annotations));
});

test("later responses continue from the results of a search", async () => {
  const { text } = await ask("/v1/responses", { model: "m", input: "Weather?", tools: [search] });
  const { id } = JSON.parse(text);
  await ask("/v1/responses", { model: "m", input: "And?", previous_response_id: id });
  const [result] = resultsIn(asked.at(-1));
  assert.match(String(result?.content), /Sunny/);
});

const anthropicSearch = { type: "web_search_20250305", name: "web_search", max_uses: 3 };

test("the Messages API gets blocks of searches, and citations", async () => {
  const tool_choice = { type: "tool", name: "web_search" };
  const body = { model: "m", max_tokens: 99, messages, tools: [anthropicSearch], tool_choice };
  const { status, text } = await ask("/v1/messages", body);
  assert.equal(status, 200, text);
  const { content, usage, stop_reason } = JSON.parse(text);
  assert.deepEqual(
    content.map(({ type }: Members) => type),
    ["text", "server_tool_use", "web_search_tool_result", "text"],
  );
  const [, use, result, last] = content;
  assert.deepEqual([use.name, use.input], ["web_search", { query: "weather Oslo" }]);
  assert.match(use.id, /^srvtoolu_[a-zA-Z0-9_]+$/);
  assert.equal(result.tool_use_id, use.id);
  const [{ encrypted_content, ...found }] = result.content;
  assert.equal(typeof encrypted_content, "string");
  assert.deepEqual(found, { type: "web_search_result", title: "Oslo", url: page.url, page_age: "2026-11-01" });
  const citation = { type: "web_search_result_location", url: page.url, title: "Oslo", cited_text: "Sunny" };
  assert.deepEqual(last.citations, [{ ...citation, encrypted_index: "gw.0" }]);
  assert.deepEqual(
    [usage.server_tool_use, usage.input_tokens, stop_reason],
    [{ web_search_requests: 1 }, 20, "end_turn"],
  );
  assert.deepEqual(asked[0]?.tool_choice, { type: "function", function: { name: "web_search" } });

  const next = [...messages, { role: "assistant", content }, { role: "user", content: "Thanks" }];
  await ask("/v1/messages", { model: "m", max_tokens: 99, messages: next }, configOf(undefined));
  const turns = asked.at(-1)?.messages as Members[];
  assert.deepEqual(
    turns.map(({ role }) => role),
    ["user", "assistant", "tool", "assistant", "user"],
  );
  assert.match(String(turns[2]?.content), /Sunny/);
});

test("a stream of the Messages API has the blocks of searches, and citations before the end of their text", async () => {
  const body = { model: "m", max_tokens: 99, messages, tools: [anthropicSearch], stream: true };
  const { text } = await ask("/v1/messages", body);
  const events = eventsOf(text);
  const starts = events.filter(({ type }) => type === "content_block_start");
  assert.deepEqual(
    starts.map(({ index, content_block: block }) => [index, (block as Members).type]),
    [
      [0, "text"],
      [1, "server_tool_use"],
      [2, "web_search_tool_result"],
      [3, "text"],
    ],
  );
  const cited = events.findIndex(({ delta }) => (delta as Members | undefined)?.type === "citations_delta");
  assert.deepEqual([events[cited]?.index, events[cited + 1]], [3, { type: "content_block_stop", index: 3 }]);
  assert.equal(events.filter(({ type }) => type === "message_start").length, 1);
  const ending = events.find(({ type }) => type === "message_delta") as { usage: Members };
  assert.deepEqual(ending.usage.server_tool_use, { web_search_requests: 1 });
});

const options = { search_context_size: "low", user_location: { type: "approximate", approximate: { country: "NO" } } };

test("chats get citations as annotations, and the text of all rounds", async () => {
  const { status, text } = await ask("/v1/chat/completions", { model: "m", messages, web_search_options: options });
  assert.equal(status, 200, text);
  const { choices, usage } = JSON.parse(text);
  const start = said.indexOf("[");
  const place = { start_index: start, end_index: start + link.length, title: "Oslo", url: page.url };
  const { message, finish_reason } = choices[0];
  assert.deepEqual(message, {
    role: "assistant",
    content: said,
    annotations: [{ type: "url_citation", url_citation: place }],
  });
  assert.deepEqual([finish_reason, usage.total_tokens], ["stop", 30]);
  assert.deepEqual([searched[0]?.numResults, searched[0]?.userLocation], [3, "NO"]);
  assert.equal(asked[0]?.web_search_options, undefined);
});

test("a stream of a chat is one response over all rounds", async () => {
  const body = { model: "m", messages, web_search_options: {}, stream: true, stream_options: { include_usage: true } };
  const { text } = await ask("/v1/chat/completions", body);
  assert.ok(text.endsWith("data: [DONE]\n\n"), text);
  const chunks = eventsOf(text) as {
    id: string;
    choices: { delta: Members; finish_reason: unknown }[];
    usage?: Members;
  }[];
  assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
  const deltas = chunks.flatMap(({ choices }) => choices);
  assert.equal(deltas.map(({ delta }) => delta.content ?? "").join(""), said);
  assert.equal(deltas.filter(({ delta }) => "tool_calls" in delta).length, 0);
  assert.equal(deltas.filter(({ delta }) => "annotations" in delta).length, 1);
  assert.deepEqual(
    deltas.map(({ finish_reason }) => finish_reason).filter((reason) => reason !== null),
    ["stop"],
  );
  assert.equal(chunks.at(-1)?.usage?.total_tokens, 30);
});

const gemini = { contents: [{ role: "user", parts: [{ text: "Weather?" }] }], tools: [{ googleSearch: {} }] };

test("the Gemini API gets what the response is grounded in", async () => {
  const { status, text } = await ask("/v1beta/models/m:generateContent", gemini);
  assert.equal(status, 200, text);
  const { candidates, usageMetadata } = JSON.parse(text);
  const [{ content, groundingMetadata, finishReason }] = candidates;
  assert.deepEqual(content, { role: "model", parts: [{ text: said }] });
  const start = said.indexOf("[");
  assert.deepEqual(groundingMetadata, {
    webSearchQueries: ["weather Oslo"],
    groundingChunks: [{ web: { uri: page.url, title: "Oslo" } }],
    groundingSupports: [
      { segment: { startIndex: start, endIndex: start + link.length, text: link }, groundingChunkIndices: [0] },
    ],
  });
  assert.deepEqual([finishReason, usageMetadata.totalTokenCount], ["STOP", 30]);
});

for (const alt of ["sse", "json"]) {
  test(`a stream of the Gemini API as ${alt} ends with what it is grounded in`, async () => {
    const { text } = await ask(`/v1beta/models/m:streamGenerateContent?alt=${alt}`, gemini);
    const chunks = (alt === "sse" ? eventsOf(text) : JSON.parse(text)) as { candidates: Members[] }[];
    const parts = chunks.flatMap(
      ({ candidates }) => (candidates[0]?.content as { parts: Members[] } | undefined)?.parts ?? [],
    );
    assert.equal(parts.map((part) => part.text).join(""), said);
    const grounded = chunks.map(({ candidates }) => candidates[0]?.groundingMetadata !== undefined);
    assert.deepEqual(grounded, [...grounded.slice(1).map(() => false), true]);
  });
}

/** Requests that ask for a search, by their paths. */
const forms: Readonly<Record<string, Members>> = {
  "/v1/responses": { model: "m", input: "Weather?", tools: [search] },
  "/v1/messages": { model: "m", max_tokens: 99, messages, tools: [anthropicSearch] },
  "/v1/chat/completions": { model: "m", messages, web_search_options: {} },
  "/v1beta/models/m:generateContent": gemini,
};
const withStream = (path: string, body: Members, isStreamed: boolean): [string, Members] => {
  if (!isStreamed) return [path, body];
  return path.startsWith("/v1beta")
    ? [path.replace("generate", "streamGenerate"), body]
    : [path, { ...body, stream: true }];
};

for (const [path, body] of Object.entries(forms)) {
  for (const isStreamed of [false, true]) {
    const what = `${path}${isStreamed ? " as a stream" : ""}`;
    test(`a search that fails is an error for the model, never for the caller: ${what}`, async () => {
      searchStatus = 500;
      const trace = `down${path.length}${isStreamed}`;
      const { status, text } = await ask(...withStream(path, body, isStreamed), configOf(), {
        "x-gateway-trace-id": trace,
      });
      assert.equal(status, 200, text);
      const result = JSON.stringify(asked[1]?.messages);
      assert.match(result, /Cannot search: the search failed with 500/);
      const rows = await waitForLogs(gateway, `trace_id=${trace}`, 4);
      assert.deepEqual(
        rows.map(({ operation, status: code }) => `${operation} ${code}`).filter((one) => one.startsWith("search")),
        ["search 500"],
      );
    });
  }

  test(`searches end after max_uses: ${path}`, async () => {
    searches = 4;
    const { status, text } = await ask(path, body, configOf({ ...webSearch, max_uses: 2 }));
    assert.equal(status, 200, text);
    assert.deepEqual([searched.length, asked.length], [2, 5]);
    assert.match(JSON.stringify(asked[3]?.messages), /this request may search 2 times/);
  });

  test(`rounds end after ten: ${path}`, async () => {
    searches = 99;
    const { status } = await ask(path, body, configOf({ ...webSearch, max_uses: 3 }));
    assert.deepEqual([status, asked.length, searched.length], [200, 10, 3]);
  });

  test(`a tool of an MCP server searches: ${path}`, async () => {
    const { text } = await ask(path, body, configOf({ mcp: { server: "finder", tool: "find", argument: "q" } }));
    assert.deepEqual(searched, [{ q: "weather Oslo" }]);
    assert.match(text, /yr\.example/);
    assert.match(JSON.stringify(asked[1]?.messages), /Sunny/);
  });

  test(`what a guardrail removes from a request is in none of its rows: ${path}`, async () => {
    const redact = { "default.regexReplace": { rule: "/Weathe[r]/g", redactText: "[cut]" } };
    const trace = `removed${path.length}`;
    const guarded = configOf(webSearch, { input_guardrails: [redact] });
    const { status, text } = await ask(path, body, guarded, { "x-gateway-trace-id": trace });
    assert.equal(status, 200, text);
    const rows = await waitForLogs(gateway, `trace_id=${trace}`, 4);
    for (const { id } of rows) {
      const row = await gateway.fetch(`/v1/logs/${id}`, { headers: { "x-gateway-api-key": workspaceKey } });
      assert.doesNotMatch(await row.text(), /Weather/, `row ${id}`);
    }
  });

  test(`an input guardrail that denies results ends the request: ${path}`, async () => {
    const checks = [{ id: "default.contains", parameters: { words: ["Sunny"], operator: "none" } }];
    const guarded = { input_guardrails: [{ checks, deny: true }] };
    const { status, text } = await ask(path, body, configOf(webSearch, guarded));
    assert.equal(status, 446, text);
    assert.equal(asked.length, 1);
  });
}

/** What streams end with where results are denied: clients that miss their last event would search again. */
const denials: Readonly<Record<string, RegExp>> = {
  "/v1/responses": /"type":"response\.failed",.*"error":\{"code":"invalid_prompt","message":"[^"]*guardrail denied/,
  "/v1/messages":
    /event: error\ndata: \{"type":"error","error":\{"type":"invalid_request_error","message":"[^"]*guardrail denied/,
  "/v1/chat/completions": /data: \{"error":\{"message":"[^"]*guardrail denied[^}]*"type":"hooks_failed"/,
  "/v1beta/models/m:generateContent":
    /\{"error":\{"code":446,"message":"[^"]*guardrail denied[^}]*"status":"PERMISSION_DENIED"/,
};

for (const [path, ending] of Object.entries(denials)) {
  test(`a stream whose results a guardrail denies ends as one that failed: ${path}`, async () => {
    const checks = [{ id: "default.contains", parameters: { words: ["Sunny"], operator: "none" } }];
    const guarded = configOf(webSearch, { input_guardrails: [{ checks, deny: true }] });
    const { status, text } = await ask(...withStream(path, forms[path] ?? {}, true), guarded);
    assert.equal(status, 200, text);
    assert.match(text, ending);
    assert.equal(asked.length, 1);
  });
}

/** The tool of a request, as its API names it. */
const toolNames: Readonly<Record<string, object>> = {
  "/v1/responses": { tools: { blockedTypes: ["web_search"] } },
  "/v1/messages": { tools: { blockedTypes: ["web_search"] } },
  "/v1/chat/completions": { params: { blockedKeys: ["web_search_options"] } },
  "/v1beta/models/m:generateContent": { tools: { blockedTypes: ["googleSearch"] } },
};

for (const [path, blocked] of Object.entries(toolNames)) {
  test(`a guardrail that blocks the tool blocks the search of the gateway, and one that allows it alone does not: ${path}`, async () => {
    const denyWith = (parameters: object) =>
      configOf(webSearch, {
        input_guardrails: [{ checks: [{ id: "default.requestParametersCheck", parameters }], deny: true }],
      });
    const { status, text } = await ask(path, forms[path] ?? {}, denyWith(blocked));
    assert.deepEqual([status, asked.length], [446, 0], text);
    const allowed = { tools: { allowedTypes: ["web_search", "googleSearch"] } };
    assert.equal((await ask(path, forms[path] ?? {}, denyWith(allowed))).status, 200);
    assert.equal(searched.length, 1);
  });
}

test("an output guardrail of the search hides its results from the model", async () => {
  const checks = [{ id: "default.contains", parameters: { words: ["Sunny"], operator: "none" } }];
  const saved = { provider: "@find", output_guardrails: [{ checks, deny: true }], override_params: { model: "auto" } };
  const body = { name: "guarded-search", config: saved };
  const { slug } = await done(call<{ slug: string }>(gateway, "POST /configs", { key: workspaceKey, body }));
  const { status, text } = await ask(
    "/v1/chat/completions",
    forms["/v1/chat/completions"] ?? {},
    configOf({ model: slug }),
  );
  assert.equal(status, 200, text);
  assert.equal(searched.length, 1);
  assert.match(JSON.stringify(asked[1]?.messages), /Cannot search: the search failed with 446/);
  assert.doesNotMatch(JSON.stringify(asked[1]), /Sunny/);
});

test("a function of the client that a chat calls beside a search is called again after it", async () => {
  beside = [{ name: "mine", args: {} }];
  const mine = { name: "mine", parameters: { type: "object" } };
  const chat = { ...forms["/v1/chat/completions"], tools: [{ type: "function", function: mine }] };
  const { text } = await ask("/v1/chat/completions", chat);
  assert.equal(JSON.parse(text).choices[0].message.content, said, text);
  const results = resultsIn(asked[1]);
  assert.match(String(results[1]?.content), /This call was not run/);
});

test("a function of the client beside a search of the Responses API comes back with it", async () => {
  beside = [{ name: "mine", args: {} }];
  const tools = [search, { type: "function", name: "mine", parameters: { type: "object" } }];
  const { text } = await ask("/v1/responses", { model: "m", input: "Weather?", tools });
  const kinds = JSON.parse(text).output.map(({ type }: Members) => type);
  assert.deepEqual(kinds, ["message", "function_call", "web_search_call"]);
});

test("Codex's search of stored pages runs too, also where an item of the input adds it", async () => {
  const offered = { type: "web_search", external_web_access: false };
  const given = [
    { type: "additional_tools", tools: [offered] },
    { type: "message", role: "user", content: "Weather?" },
  ];
  for (const body of [
    { model: "m", input: "Weather?", tools: [offered] },
    { model: "m", input: given },
  ]) {
    const { status, text } = await ask("/v1/responses", { ...body, store: false });
    assert.equal(status, 200, text);
    assert.match(text, /"type":"web_search_call"/);
  }
});

test("a config whose search provider does not exist is refused", async () => {
  const config = configOf({ model: "@gone/auto" });
  const { status, text } = await ask("/v1/chat/completions", { model: "m", messages }, config);
  assert.equal(status, 400, text);
  assert.match(text, /gone/);
});

test("a key that may not choose a config searches by its default config, whose search is a saved config", async () => {
  const as = { key: workspaceKey };
  const saved = { provider: "@find", override_params: { model: "auto" } };
  const searcher = await done(
    call<{ slug: string }>(gateway, "POST /configs", { ...as, body: { name: "searcher", config: saved } }),
  );
  const stored = {
    name: "together-i",
    slug: "together-i",
    ai_provider_id: "together-ai",
    key: "k",
    configurations: { custom_host: `${upstream.url}/v1` },
    create_default_provider: false,
  };
  await done(call(gateway, "POST /integrations", { ...as, body: stored }));
  const provider = { name: "chats", slug: "chats", integration_id: "together-i" };
  await done(call(gateway, "POST /providers", { ...as, body: provider }));
  const config = { provider: "@chats", server_tools: { web_search: { model: searcher.slug } } };
  const own = await done(
    call<{ slug: string }>(gateway, "POST /configs", { ...as, body: { name: "default", config } }),
  );
  const key = await done(
    call<{ key: string }>(gateway, "POST /api-keys/workspace/service", {
      key: adminKey,
      body: {
        name: "locked",
        workspace_id: "default",
        scopes: ["completions.write"],
        defaults: { config_id: own.slug, allow_config_override: false },
      },
    }),
  );
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: { "x-gateway-api-key": key.key, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages, web_search_options: {} }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.deepEqual([searched.length, /url_citation/.test(text)], [1, true], JSON.stringify(asked[1]));
});

/** Providers that search themselves, with the paths of their requests. */
const searching = [
  ["openai", "/v1/responses", "web_search"],
  ["anthropic", "/v1/messages", "web_search_20250305"],
  ["google", "/v1beta/models/gemini-3-pro:generateContent", "googleSearch"],
] as const;

for (const [provider, path, tool] of searching) {
  test(`${provider} gets the tool, unless the config says always or another target lacks it`, async () => {
    const wire = createWire();
    const wired = await createTestGateway({ transport: wire.transport, checksAnswers: false });
    const sent = async (run: string, more: object = {}) => {
      const target = { provider, api_key: "k", ...more };
      const config = { ...target, server_tools: { web_search: { mcp: { server: "s", tool: "t" }, run } } };
      const body = JSON.stringify(forms[path] ?? gemini);
      const headers = { "x-gateway-api-key": workspaceKey, "x-gateway-config": JSON.stringify(config) };
      const init = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body };
      await (await wired.fetch(path, init)).text();
      return String(wire.init?.body).includes(`"${tool}"`) && !String(wire.init?.body).includes("One question");
    };
    const targets = [
      { provider, api_key: "k" },
      { provider: "groq", api_key: "k" },
    ];
    const fallback = { provider: undefined, api_key: undefined, strategy: { mode: "fallback" }, targets };
    assert.deepEqual(
      [await sent("missing"), await sent("always"), await sent("missing", fallback)],
      [true, false, false],
    );
    await wired.close();
  });
}

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readMarkedSignature } from "../../src/lib/signature-mark.ts";
import { readEvents } from "../../src/lib/sse.ts";
import { call, done } from "../support/control.ts";
import {
  createTestGateway,
  type HeaderChanges,
  type ShownLog,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { recordedText, type Scenario, startNativeUpstream } from "../support/native-upstreams.ts";
import { repository } from "../support/source-files.ts";
import { eventually, type RecordingUpstream, startRecordingUpstream, startServer } from "../support/upstream.ts";

let gateway: TestGateway;
let upstream: RecordingUpstream;
let other: RecordingUpstream;
/** The other upstream's next response: a string at once, a list chunk by chunk, its connection cut at the end. */
let next: { status?: number; type?: string; body: string | readonly string[]; breaks?: boolean } = { body: "{}" };
before(async () => {
  gateway = await createTestGateway();
  upstream = await startNativeUpstream();
  other = await startRecordingUpstream(async (_, response) => {
    const { status = 200, type = "application/json", body, breaks } = next;
    response.writeHead(status, { "content-type": type });
    for (const piece of Array.isArray(body) ? body : [body]) {
      response.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    // the request is read first: a runtime may drop it when the connection ends
    if (breaks) setTimeout(() => response.socket?.destroy(), 150);
    else response.end();
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
  await other.close();
});

const hello = { contents: [{ role: "user", parts: [{ text: "Hello" }] }] };
const sse = "text/event-stream";

/** Headers of a request with the caller's own provider credential. */
function headersFor(provider: string, host: string, more: HeaderChanges = {}): Record<string, string> {
  const headers: HeaderChanges = {
    "content-type": "application/json",
    "x-gateway-api-key": workspaceKey,
    "x-goog-api-key": "provider-key",
    "x-gateway-provider": provider,
    "x-gateway-custom-host": host,
    ...more,
  };
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

/** Stores the other upstream as `@gg`; 200 also where it is stored. */
async function storeGoogle(): Promise<number> {
  const configurations = { custom_host: `${other.url}/v1beta` };
  const body = { name: "G", slug: "gg", ai_provider_id: "google", key: "provider-key", configurations };
  const headers = { "content-type": "application/json", "x-gateway-api-key": workspaceKey };
  const { status } = await post("/v1/integrations", headers, body);
  return status === 409 ? 200 : status;
}

const native = (provider: string, scenario: Scenario) => `${upstream.url}/${provider}/${scenario}`;

function post(path: string, headers: Record<string, string>, body: unknown = hello): Promise<Response> {
  return gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}

const slicesOf = (text: string) => readEvents(text).map(({ data }) => JSON.parse(data));
const fixture = (name: string) => readFileSync(join(repository, "tests/fixtures/google", name), "utf8");
const google = "/v1beta/models/gemini-3-flash";

test("generateContent forwards the request to google and its response back unchanged", async () => {
  upstream.requests.length = 0;
  const body = { ...hello, generation_config: { topK: 7 }, newMember: { a: [1] } };
  const response = await post(`${google}:generateContent`, headersFor("google", native("google", "text")), body);
  assert.equal(response.status, 200);
  assert.equal(await response.text(), fixture("chat.json"));
  assert.equal(upstream.requests[0]?.text, JSON.stringify(body));
  assert.equal(upstream.requests[0]?.headers["x-goog-api-key"], "provider-key");
  assert.equal(response.headers.get("x-gateway-provider"), "google");
});

test("streamGenerateContent forwards google's events unchanged", async () => {
  const headers = headersFor("google", native("google", "tools"));
  const response = await post(`${google}:streamGenerateContent?alt=sse`, headers);
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
  assert.equal(await response.text(), fixture("stream-tools.sse"));
});

for (const alt of ["", "?alt=json"]) {
  test(`streamGenerateContent${alt} gives the same as a JSON list`, async () => {
    const headers = headersFor("google", native("google", "tools"));
    const response = await post(`${google}:streamGenerateContent${alt}`, headers);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(await response.json(), slicesOf(fixture("stream-tools.sse")));
  });
}

test("log rows of native responses have tokens, provider and model, streamed or not", async () => {
  for (const [action, scenario, wanted] of [
    ["generateContent", "text", [1290, 103, 1393, 1024, 96]],
    ["streamGenerateContent?alt=sse", "tools", [88, 31, 119, 0, 0]],
  ] as const) {
    const trace = `gemini-log-${scenario}`;
    const headers = headersFor("google", native("google", scenario), { "x-gateway-trace-id": trace });
    await (await post(`${google}:${action}`, headers)).text();
    const row: ShownLog = await waitForLog(gateway, trace);
    assert.deepEqual([row.operation, row.provider, row.model], ["generateContent", "google", "gemini-3-flash"]);
    assert.equal(row.stream, scenario === "tools");
    const { usage } = row;
    assert.deepEqual(
      [usage?.input_tokens, usage?.output_tokens, usage?.total_tokens, usage?.cached_tokens, usage?.reasoning_tokens],
      wanted,
    );
  }
});

test("log rows of adapted responses have tokens", async () => {
  for (const action of ["generateContent", "streamGenerateContent"]) {
    const trace = `gemini-adapted-${action}`;
    const headers = headersFor("anthropic", native("anthropic", "text"), { "x-gateway-trace-id": trace });
    await (await post(`/v1beta/models/claude-sonnet-4-6:${action}`, headers)).text();
    const { usage } = await waitForLog(gateway, trace);
    assert.ok((usage?.input_tokens ?? 0) > 2_000 && (usage?.output_tokens ?? 0) > 10, JSON.stringify(usage));
  }
});

test("vertex-ai gets its own models natively, and others through chat", async () => {
  const vertex = { "x-gateway-vertex-project-id": "fake-project", "x-gateway-vertex-region": "us-central1" };
  const bearer = { authorization: "Bearer ya29.fake", "x-goog-api-key": null, ...vertex };
  const headers = headersFor("vertex-ai", native("vertex-ai", "text"), bearer);
  for (const model of ["gemini-2.5-flash", "publishers/google/models/gemini-2.5-flash", "google.gemini-2.5-flash"]) {
    for (const path of [model, encodeURIComponent(model)]) {
      upstream.requests.length = 0;
      const response = await post(`/v1beta/models/${path}:generateContent`, headers);
      assert.equal(response.status, 200, path);
      assert.equal(upstream.requests[0]?.text, JSON.stringify(hello));
    }
  }
  next = {
    body: '{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}',
  };
  other.requests.length = 0;
  const claude = await post(
    "/v1beta/models/anthropic.claude-sonnet-4-6:generateContent",
    headersFor("vertex-ai", other.url, bearer),
  );
  const { candidates } = await claude.json();
  assert.deepEqual(candidates[0].content.parts, [{ text: "Hi" }]);
  assert.match(other.requests[0]?.path ?? "", /publishers\/anthropic\/models\/claude-sonnet-4-6:rawPredict$/);
});

test("a config falls back from an adapted to a native target, and a target's model counts", async () => {
  const config = {
    strategy: { mode: "fallback" },
    targets: [
      { provider: "openai", api_key: "k", custom_host: `${upstream.url}/openai/nothing` },
      {
        provider: "google",
        api_key: "k",
        custom_host: native("google", "text"),
        override_params: { model: "gemini-3-flash" },
      },
    ],
  };
  const response = await post("/v1beta/models/gpt-5.1:generateContent", {
    "content-type": "application/json",
    "x-goog-api-key": workspaceKey,
    "x-gateway-config": JSON.stringify(config),
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-gateway-last-used-option-index"), "config.targets[1]");
  assert.equal(await response.text(), fixture("chat.json"));
});

test("conditions can use the model of the path", async () => {
  const config = {
    strategy: {
      mode: "conditional",
      conditions: [{ query: { "params.model": { $eq: "fast" } }, then: "quick" }],
      default: "slow",
    },
    targets: [
      { name: "slow", provider: "openai", api_key: "k", custom_host: `${upstream.url}/openai/nothing` },
      { name: "quick", provider: "openai", api_key: "k", custom_host: native("openai", "text") },
    ],
  };
  const response = await post("/v1beta/models/fast:generateContent", {
    "content-type": "application/json",
    "x-goog-api-key": workspaceKey,
    "x-gateway-config": JSON.stringify(config),
  });
  assert.equal(response.status, 200);
  const { candidates, provider } = await response.json();
  assert.equal(candidates[0].content.parts[0].text, recordedText);
  assert.equal(provider, "openai");
});

test("what a provider does not support is reported", async () => {
  const body = {
    ...hello,
    toolConfig: { retrievalConfig: {} },
    safetySettings: [],
    generationConfig: { topK: 3 },
  };
  const response = await post(
    "/v1beta/models/gpt-5.1:generateContent",
    headersFor("openai", native("openai", "text")),
    body,
  );
  assert.equal(response.status, 200);
  assert.equal(
    response.headers.get("x-gateway-dropped-params"),
    "safetySettings,generationConfig.topK,toolConfig.retrievalConfig",
  );
});

const thinking = { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: "HIGH" } } };

test("content signed by another family is not sent to google, and reported as dropped", async () => {
  const headers = headersFor("anthropic", native("anthropic", "reasoning"));
  const response = await post("/v1beta/models/claude-sonnet-4-6:streamGenerateContent", headers, {
    ...hello,
    ...thinking,
  });
  const slices = (await response.json()) as { candidates: { content: { parts: { thoughtSignature?: string }[] } }[] }[];
  const contents = slices.map(({ candidates }) => candidates[0]?.content);
  const signature = contents
    .flatMap((content) => content?.parts ?? [])
    .find((part) => part.thoughtSignature)?.thoughtSignature;
  assert.equal(readMarkedSignature(signature)?.kind, "signature");
  const call = { functionCall: { name: "x", args: {} }, thoughtSignature: btoa("gateway:call:") };
  const own = { functionCall: { name: "y", args: {} }, thoughtSignature: "CsoBown==" };
  const turns = [...hello.contents, ...contents, { role: "model", parts: [call, own] }];
  upstream.requests.length = 0;
  const replayed = await post(`${google}:generateContent`, headersFor("google", native("google", "text")), {
    contents: turns,
  });
  assert.equal(replayed.status, 200);
  assert.equal(replayed.headers.get("x-gateway-dropped-params"), "contents.thoughtSignature");
  const sent = JSON.parse(upstream.requests[0]?.text ?? "{}");
  assert.doesNotMatch(upstream.requests[0]?.text ?? "", /Z2F0ZXdh/);
  assert.deepEqual(sent.contents.at(-1).parts, [
    { functionCall: { name: "x", args: {} }, thoughtSignature: "skip_thought_signature_validator" },
    own,
  ]);
  assert.ok(sent.contents.every(({ parts }: { parts: unknown[] }) => parts.length > 0));
});

const slice = (members: object) => `data: ${JSON.stringify(members)}\n\n`;
const half = slice({ candidates: [{ content: { role: "model", parts: [{ text: "Half" }] }, index: 0 }] });
const whole = slice({ candidates: [{ content: { parts: [{ text: "." }] }, finishReason: "STOP" }] });

/** Streams that end wrongly, and what clients receive in both formats. */
const broken: Readonly<Record<string, { next: typeof next; code: number }>> = {
  "closed before its end": { next: { type: sse, body: [half] }, code: 502 },
  "cut off": { next: { type: sse, body: [half, half], breaks: true }, code: 502 },
  "telling of a failure": {
    next: { type: sse, body: [half, slice({ error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } })] },
    code: 503,
  },
};

for (const [name, { next: script, code }] of Object.entries(broken)) {
  for (const alt of ["sse", "json"]) {
    test(`a native stream ${name} ends with an error (${alt})`, async () => {
      next = script;
      const response = await post(`${google}:streamGenerateContent?alt=${alt}`, headersFor("google", other.url));
      const text = await response.text();
      const events = alt === "sse" ? slicesOf(text) : JSON.parse(text);
      const { error } = events.at(-1);
      assert.equal(error.code, code);
      assert.equal(error.status, "UNAVAILABLE");
      assert.equal(events[0].candidates[0].content.parts[0].text, "Half");
    });
  }
}

test("a native stream whose first event is a failure becomes an error response with its status", async () => {
  next = { type: sse, body: slice({ error: { code: 429, message: "slow down", status: "RESOURCE_EXHAUSTED" } }) };
  const response = await post(`${google}:streamGenerateContent?alt=sse`, headersFor("google", other.url));
  assert.equal(response.status, 429);
  const { error, status } = await response.json();
  // clients of Google read a status at the top before that of the error
  assert.deepEqual([error.code, error.status, status], [429, "RESOURCE_EXHAUSTED", undefined]);
});

const quota = {
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier", quotaValue: "250" }],
};
const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "33.4s" };
const exhausted = { code: 429, message: "used up", status: "RESOURCE_EXHAUSTED", details: [quota, retry] };
const ownDetail = {
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason: "RESOURCE_EXHAUSTED",
  domain: "gateway",
};

for (const [name, action, answer] of [
  ["a response", "generateContent", { status: 429, body: JSON.stringify({ error: exhausted }) }],
  ["the list of a stream", "streamGenerateContent", { status: 429, body: JSON.stringify([{ error: exhausted }]) }],
  ["the first event of a stream", "streamGenerateContent?alt=sse", { type: sse, body: slice({ error: exhausted }) }],
] as const) {
  test(`details of Google's errors arrive with ${name}, and the time to wait in a header`, async () => {
    next = answer;
    const response = await post(`${google}:${action}`, headersFor("google", other.url));
    const body = await response.json();
    assert.deepEqual([response.status, response.headers.get("retry-after")], [429, "34"]);
    assert.deepEqual(Object.keys(body).sort(), ["error", "provider"]);
    const { code, status, details } = body.error;
    assert.deepEqual([code, status, details], [429, "RESOURCE_EXHAUSTED", [quota, retry, ownDetail]]);
  });
}

test("a failure in the middle of a stream arrives as Google sent it", async () => {
  const failure = slice({ error: exhausted });
  next = { type: sse, body: [half, failure] };
  const response = await post(`${google}:streamGenerateContent?alt=sse`, headersFor("google", other.url));
  assert.equal(await response.text(), half + failure);
});

test("chat routes have the time to wait of Google's errors in a header", async () => {
  next = { status: 429, body: JSON.stringify({ error: exhausted }) };
  const body = { model: "gemini-3-flash", messages: [{ role: "user", content: "Hello" }] };
  const response = await post("/v1/chat/completions", headersFor("google", other.url), body);
  assert.deepEqual([response.status, response.headers.get("retry-after")], [429, "34"]);
  // what a header says wins
  next = {
    status: 429,
    body: JSON.stringify({ error: { ...exhausted, details: [{ ...retry, retryDelay: "soon" }] } }),
  };
  const without = await post("/v1/chat/completions", headersFor("google", other.url), body);
  assert.equal(without.headers.get("retry-after"), null);
});

const filtered = { content_filter_result: { violence: { filtered: true, severity: "high" } } };
const ofAzure = { message: "filtered", type: null, param: "prompt", code: "content_filter", innererror: filtered };
const ofAnthropic = { type: "invalid_request_error", message: "wrong", details: { error_visibility: "user_facing" } };
for (const [path, provider, status, error, more] of [
  ["/v1/chat/completions", "openai", 400, ofAzure, { innererror: filtered }],
  ["/v1/responses", "openai", 400, ofAzure, { innererror: filtered }],
  ["/v1/messages", "anthropic", 400, ofAnthropic, { details: ofAnthropic.details }],
] as const) {
  test(`further fields of ${provider}'s errors arrive on ${path}`, async () => {
    next = { status, body: JSON.stringify({ type: "error", error }) };
    const messages = [{ role: "user", content: "Hello" }];
    const body = path === "/v1/responses" ? { model: "m", input: "Hello" } : { model: "m", messages, max_tokens: 5 };
    const response = await post(path, headersFor(provider, other.url), body);
    const { error: shown } = await response.json();
    assert.deepEqual([response.status, { ...shown, ...more }], [400, shown]);
  });
}

test("every event stream says that proxies must not hold it", async () => {
  next = { type: "Text/Event-Stream; charset=utf-8", body: 'data: {"a":1}\n\n' };
  const headers = headersFor("openai", other.url);
  for (const path of ["/v1/proxy/chat/completions", "/v1/threads/t/runs", "/v1/other"]) {
    const response = await post(path, headers, { model: "m", stream: true });
    assert.deepEqual([response.status, response.headers.get("x-accel-buffering")], [200, "no"], path);
    await response.text();
  }
  next = { body: "{}" };
  const plain = await post("/v1/other", headers, { model: "m" });
  assert.equal(plain.headers.get("x-accel-buffering"), null);
});

test("tool arguments that look like the end of a stream do not end it", async () => {
  const args = { error: { code: 400 }, finishReason: "STOP", usageMetadata: { promptTokenCount: 9 } };
  const call = slice({ candidates: [{ content: { parts: [{ functionCall: { name: "x", args } }] } }] });
  next = { type: sse, body: [call, half, whole] };
  const response = await post(`${google}:streamGenerateContent?alt=sse`, headersFor("google", other.url));
  assert.equal(await response.text(), call + half + whole);
  next = { type: sse, body: [call, half] };
  const cut = await post(`${google}:streamGenerateContent?alt=sse`, headersFor("google", other.url));
  assert.equal(slicesOf(await cut.text()).at(-1).error.code, 502);
});

test("a blocked prompt is a complete stream", async () => {
  const blocked = slice({ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } });
  next = { type: sse, body: blocked };
  const response = await post(`${google}:streamGenerateContent?alt=sse`, headersFor("google", other.url));
  assert.equal(await response.text(), blocked);
});

test("a non-streaming response to a streaming request is a stream of one chunk", async () => {
  next = { body: fixture("chat.json") };
  const events = await post(`${google}:streamGenerateContent?alt=sse`, headersFor("google", other.url));
  assert.deepEqual(slicesOf(await events.text()), [JSON.parse(fixture("chat.json"))]);
  const list = await post(`${google}:streamGenerateContent`, headersFor("google", other.url));
  assert.deepEqual(await list.json(), [JSON.parse(fixture("chat.json"))]);
});

for (const body of [
  "[]",
  "7",
  "null",
  "not json",
  '"text"',
  '{"choices":7}',
  "{}",
  '{"choices":[{"message":{"content":{}}}]}',
]) {
  test(`an upstream's response ${body} is not an error of the gateway`, async () => {
    next = { body };
    for (const action of ["generateContent", "streamGenerateContent?alt=sse", "embedContent", "batchEmbedContents"]) {
      const sent =
        action === "batchEmbedContents"
          ? { requests: [{ content: hello.contents[0] }] }
          : { ...hello, content: hello.contents[0] };
      const response = await post(`/v1beta/models/m:${action}`, headersFor("openai", other.url), sent);
      const text = await response.text();
      assert.ok([200, 502].includes(response.status), `${action} ${response.status} ${text}`);
      if (response.status === 502) assert.equal(JSON.parse(text).error.status, "UNAVAILABLE");
    }
  });
}

/** Requests that are refused: status, the name of the failure, and the field that is wrong. */
const refused: Readonly<
  Record<string, readonly [path: string, body: unknown, status: number, name: string, param: unknown]>
> = {
  "no contents": [`${google}:generateContent`, {}, 400, "INVALID_ARGUMENT", "contents"],
  "no model": ["/v1beta/models/:generateContent", hello, 400, "INVALID_ARGUMENT", "model"],
  "another model in the body": [
    ...([`${google}:embedContent`, { model: "models/other", content: hello.contents[0] }, 400] as const),
    ...(["INVALID_ARGUMENT", "model"] as const),
  ],
  "another model in one request": [
    ...([
      `${google}:batchEmbedContents`,
      { requests: [{ model: "models/b", content: hello.contents[0] }] },
      400,
    ] as const),
    ...(["INVALID_ARGUMENT", "model"] as const),
  ],
  "another model in what is counted": [
    ...([`${google}:countTokens`, { generateContentRequest: { model: "models/b", ...hello } }, 400] as const),
    ...(["INVALID_ARGUMENT", "model"] as const),
  ],
  "a key in the address": [`${google}:generateContent?key=abc`, hello, 401, "UNAUTHENTICATED", "key"],
  "a token in the address": [
    `/v1/models/m:generateContent?access_token=abc`,
    hello,
    401,
    "UNAUTHENTICATED",
    "access_token",
  ],
  "a path that is none": ["/v1beta/files", hello, 404, "NOT_FOUND", null],
};

for (const [name, [path, body, status, word, param]] of Object.entries(refused)) {
  test(`${name}: ${status} ${word}`, async () => {
    other.requests.length = 0;
    const response = await post(path, headersFor("google", other.url), body);
    assert.equal(response.status, status);
    const shown = await response.json();
    assert.deepEqual(
      [Object.keys(shown), shown.error.code, shown.error.status, shown.error.param],
      [["error"], status, word, param],
    );
    assert.equal(other.requests.length, 0);
  });
}

test("a model whose name contains a colon is not a call of the Gemini API", async () => {
  next = { body: '{"id":"ft:gpt:acme"}' };
  const response = await gateway.fetch("/v1/models/ft:gpt:acme?key=abc", {
    headers: headersFor("openai", other.url, { "x-goog-api-key": null, authorization: "Bearer provider-key" }),
  });
  assert.deepEqual([response.status, await response.text()], [200, '{"id":"ft:gpt:acme"}']);
});

test("the gateway key is accepted in any of its headers, and never sent upstream", async () => {
  for (const header of ["x-goog-api-key", "x-gateway-api-key", "x-api-key", "authorization"]) {
    other.requests.length = 0;
    next = { body: fixture("chat.json") };
    const key = header === "authorization" ? `Bearer ${workspaceKey}` : workspaceKey;
    const changes = { "x-gateway-api-key": null, "x-goog-api-key": null, [header]: key };
    const response = await post(`${google}:generateContent`, headersFor("google", other.url, changes));
    assert.equal(response.status, 200, header);
    assert.doesNotMatch(other.requests[0]?.rawHeaders.join("\n") ?? "", new RegExp(workspaceKey));
  }
});

test("embeddings and token counts are sent to google with the model of the path", async () => {
  const content = { parts: [{ text: "a" }] };
  const headers = headersFor("google", other.url);
  const sent = async (action: string, body: unknown, answer: string) => {
    other.requests.length = 0;
    next = { body: answer };
    const response = await post(`${google}:${action}`, headers, body);
    assert.equal(await response.text(), answer);
    assert.equal(other.requests[0]?.path, `${google}:${action}`);
    return JSON.parse(other.requests[0]?.text ?? "");
  };
  const vector = '{"embedding": {"values": [1]}}';
  assert.deepEqual(await sent("embedContent", { content, taskType: "CLUSTERING" }, vector), {
    content,
    taskType: "CLUSTERING",
    model: "models/gemini-3-flash",
  });
  assert.deepEqual(await sent("batchEmbedContents", { requests: [{ content }] }, '{"embeddings": []}'), {
    requests: [{ content, model: "models/gemini-3-flash" }],
  });
  assert.deepEqual(await sent("countTokens", hello, '{"totalTokens": 1}'), hello);
  const wholeRequest = { ...hello, tools: [] };
  assert.deepEqual(await sent("countTokens", { generateContentRequest: wholeRequest }, '{"totalTokens": 1}'), {
    generateContentRequest: { ...wholeRequest, model: "models/gemini-3-flash" },
  });
});

test("GET /v1beta/models lists models page by page", async () => {
  const data = ["a", "b", "c"].map((id) => ({ id, object: "model", created: 0, owned_by: "x" }));
  next = { body: JSON.stringify({ object: "list", data }) };
  const get = async (path: string) => {
    const response = await gateway.fetch(path, { headers: headersFor("openai", other.url) });
    return { status: response.status, body: await response.json() };
  };
  const first = await get("/v1beta/models?pageSize=2");
  assert.deepEqual(
    first.body.models.map(({ name }: { name: string }) => name),
    ["models/a", "models/b"],
  );
  const second = await get(`/v1beta/models?pageSize=2&pageToken=${first.body.nextPageToken}`);
  assert.deepEqual([second.body.models.length, second.body.nextPageToken], [1, undefined]);
  assert.equal((await get("/v1beta/models/b")).body.name, "models/b");
  const unknown = await get("/v1beta/models/d");
  assert.deepEqual([unknown.status, unknown.body.error.status], [404, "NOT_FOUND"]);
  assert.equal((await get("/v1beta/models?pageToken=x")).status, 400);
});

test("embeddings of vertex-ai preserve their task type", async () => {
  const headers = headersFor("vertex-ai", other.url, {
    "x-gateway-vertex-project-id": "fake-project",
    "x-goog-api-key": null,
    authorization: "Bearer ya29.fake",
  });
  const content = { parts: [{ text: "a" }] };
  const values = [0.5, 1];
  next = { body: JSON.stringify({ predictions: [{ embeddings: { values, statistics: { token_count: 1 } } }] }) };
  const sent = async (action: string, body: unknown) => {
    other.requests.length = 0;
    const response = await post(`/v1beta/models/text-embedding-005:${action}`, headers, body);
    const answer = await response.json();
    assert.equal(response.status, 200, JSON.stringify(answer));
    assert.match(other.requests[0]?.path ?? "", /text-embedding-005:predict$/);
    return { answer, body: JSON.parse(other.requests[0]?.text ?? "{}") };
  };
  const instances = [{ content: "a", task_type: "RETRIEVAL_QUERY", title: "T" }];
  const one = { content, taskType: "RETRIEVAL_QUERY", title: "T", output_dimensionality: 2 };
  const wanted = { instances, parameters: { outputDimensionality: 2 } };
  const single = await sent("embedContent", one);
  assert.deepEqual([single.body, single.answer.embedding], [wanted, { values }]);
  const batch = await sent("batchEmbedContents", { requests: [one] });
  assert.deepEqual([batch.body, batch.answer.embeddings], [wanted, [{ values }]]);
  for (const requests of [[one, { content }], [{ content: { parts: [{ inlineData: {} }] } }]]) {
    const response = await post("/v1beta/models/text-embedding-005:batchEmbedContents", headers, { requests });
    assert.equal(response.status, 400);
  }
});

test("countTokens counts tokens on all hosts of Claude", async () => {
  const vertex = { "x-gateway-vertex-project-id": "p", "x-goog-api-key": null, authorization: "Bearer ya29.fake" };
  next = { body: '{"input_tokens": 7}' };
  other.requests.length = 0;
  const body = { generateContentRequest: { ...hello, systemInstruction: { parts: [{ text: "S" }] } } };
  for (const [provider, model, more] of [
    ["anthropic", "claude-sonnet-4-6", {}],
    ["vertex-ai", "anthropic.claude-sonnet-4-6", vertex],
  ] as const) {
    const response = await post(`/v1beta/models/${model}:countTokens`, headersFor(provider, other.url, more), body);
    assert.equal((await response.json()).totalTokens, 7);
    const sent = JSON.parse(other.requests.pop()?.text ?? "{}");
    assert.deepEqual(
      [sent.model, sent.messages, "max_tokens" in sent],
      ["claude-sonnet-4-6", [{ role: "user", content: "Hello" }], false],
    );
    assert.match(JSON.stringify(sent.system), /"S"/);
  }
  const llama = await post("/v1beta/models/meta.llama:countTokens", headersFor("vertex-ai", other.url, vertex), hello);
  assert.deepEqual([llama.status, (await llama.json()).error.details[0].reason], [400, "UNSUPPORTED_ENDPOINT"]);
});

/** A stored provider with this slug that may call these models. */
async function store(slug: string, aiProviderId: string, models: readonly string[]): Promise<void> {
  const key = workspaceKey;
  const integration = {
    name: slug,
    slug: `${slug}-integration`,
    ai_provider_id: aiProviderId,
    key: "fake-stored-credential-1234567890",
    configurations: { custom_host: other.url },
    create_default_provider: false,
  };
  await done(call(gateway, "POST /integrations", { key, body: integration }));
  const listed = { allow_all_models: false, models: models.map((one) => ({ slug: one, enabled: true })) };
  await done(call(gateway, `PUT /integrations/${slug}-integration/models`, { key, body: listed }));
  const provider = { name: slug, slug, integration_id: `${slug}-integration` };
  await done(call(gateway, "POST /providers", { key, body: provider }));
}

test("a stored provider in the path is called, its models are checked, and listed", async () => {
  await store("gem", "google", ["gemini-3-flash"]);
  const headers = { "content-type": "application/json", "x-goog-api-key": workspaceKey };
  const answer = fixture("chat.json");
  for (const model of ["@gem/gemini-3-flash", "%40gem%2Fgemini-3-flash"]) {
    next = { body: answer };
    other.requests.length = 0;
    const response = await post(`/v1beta/models/${model}:generateContent`, headers);
    assert.equal(await response.text(), answer, model);
    const [sent] = other.requests;
    assert.equal(sent?.path, "/v1beta/models/gemini-3-flash:generateContent");
    assert.equal(sent?.headers["x-goog-api-key"], "fake-stored-credential-1234567890");
    assert.equal(sent?.text, JSON.stringify(hello));
  }
  next = { body: '{"embeddings": []}' };
  const requests = [{ model: "models/@gem/gemini-3-flash", content: hello.contents[0] }];
  assert.equal(
    (await post("/v1beta/models/@gem/gemini-3-flash:batchEmbedContents", headers, { requests })).status,
    200,
  );
  assert.equal(JSON.parse(other.requests.at(-1)?.text ?? "{}").requests[0].model, "models/gemini-3-flash");
  const refusedModel = await post("/v1beta/models/@gem/gemini-3-pro:generateContent", headers);
  assert.deepEqual([refusedModel.status, (await refusedModel.json()).error.status], [412, "FAILED_PRECONDITION"]);
  const list = await gateway.fetch("/v1beta/models", { headers });
  const { models } = (await list.json()) as { models: { name: string; displayName: string }[] };
  assert.deepEqual(
    models.map(({ name, displayName }) => [name, displayName]),
    [["models/@gem/gemini-3-flash", "gemini-3-flash"]],
  );
  const one = await gateway.fetch("/v1beta/models/@gem/gemini-3-flash", { headers });
  assert.equal((await one.json()).name, "models/@gem/gemini-3-flash");
});

for (const alt of ["sse", "json"]) {
  test(`a client that leaves a stream ends the upstream's call (${alt})`, async () => {
    let isGone = false;
    const endless = await startServer((message, response) => {
      message.resume();
      response.writeHead(200, { "content-type": sse });
      response.on("close", () => {
        isGone = true;
      });
      response.write(half);
    });
    try {
      const response = await post(`${google}:streamGenerateContent?alt=${alt}`, headersFor("google", endless.url));
      const reader = response.body?.getReader();
      assert.match(new TextDecoder().decode((await reader?.read())?.value), /Half/);
      await reader?.cancel();
      await eventually(() => isGone, "the upstream's connection to close");
    } finally {
      await endless.close();
    }
  });
}

test("audio of a chat becomes audio of a response, streamed or not", async () => {
  const body = { ...hello, generationConfig: { responseModalities: ["AUDIO"] } };
  const audio = { id: "a", data: "AAAA", expires_at: 1, transcript: "Hi" };
  const choice = { index: 0, message: { role: "assistant", content: null, audio }, finish_reason: "stop" };
  next = { body: JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices: [choice] }) };
  const headers = headersFor("openai", `${other.url}/v1`);
  const heard = { inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: "AAAA" } };
  const whole = JSON.parse(await (await post("/v1beta/models/m:generateContent", headers, body)).text());
  assert.deepEqual(whole.candidates[0].content.parts, [heard]);
  const { modalities, audio: asked, stream } = JSON.parse(other.requests.at(-1)?.text ?? "{}");
  assert.deepEqual([modalities, asked, stream], [["text", "audio"], { voice: "alloy", format: "pcm16" }, undefined]);
  const piece = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  next = {
    type: sse,
    body: [piece({ audio: { id: "a", transcript: "Hi" } }), piece({ audio: { data: "AAAA" } }), piece({}, "stop")],
  };
  const path = "/v1beta/models/m:streamGenerateContent?alt=sse";
  const slices = slicesOf(await (await post(path, headers, body)).text());
  assert.deepEqual(
    slices.map(({ candidates }) => candidates[0].content.parts),
    [[heard], [{ text: "" }]],
  );
});

for (const path of ["/v1beta/models/@gg/m", "/v1beta/@gg/m", "/v1/models/@gg/m", "/v1/@gg/m", "/v1beta/@gg/models/m"]) {
  test(`calls of ${path} reach the stored provider`, async () => {
    const made = await storeGoogle();
    assert.equal(made, 200);
    const headers = { "content-type": "application/json", "x-goog-api-key": workspaceKey };
    for (const [action, body, answer] of [
      ["generateContent", hello, fixture("chat.json")],
      ["streamGenerateContent?alt=sse", hello, half + whole],
      ["countTokens", hello, '{"totalTokens":1}'],
      ["embedContent", { content: hello.contents[0] }, '{"embedding":{"values":[1]}}'],
      ["batchEmbedContents", { requests: [{ content: hello.contents[0] }] }, '{"embeddings":[{"values":[1]}]}'],
    ] as const) {
      other.requests.length = 0;
      next = { body: answer, ...(action.includes("sse") && { type: sse }) };
      const response = await post(`${path}:${action}`, headers, body);
      assert.equal(response.status, 200, await response.text());
      assert.match(other.requests[0]?.path ?? "", /^\/v1beta\/models\/m:/);
    }
  });
}

test("clients of Google list and show models on v1 in the form of their API", async () => {
  await storeGoogle();
  const list = async (path: string, headers: Record<string, string>) => {
    const response = await gateway.fetch(path, { headers });
    return { status: response.status, body: await response.json() };
  };
  const key = { "x-gateway-api-key": workspaceKey };
  for (const headers of [{ "x-goog-api-key": workspaceKey }, { ...key, "x-goog-api-client": "google-genai-sdk/3" }]) {
    const { body } = await list("/v1/models?pageSize=2", headers);
    assert.deepEqual([body.models.length, body.nextPageToken, body.data], [2, "2", undefined]);
    const [{ name }] = body.models;
    assert.equal((await list(`/v1/${name}`, headers)).body.name, name);
    const unknown = await list("/v1/models/none", headers);
    assert.deepEqual(
      [unknown.status, Object.keys(unknown.body), unknown.body.error.status],
      [404, ["error"], "NOT_FOUND"],
    );
  }
  const refused = await list("/v1/models", { "x-goog-api-key": "wrong" });
  assert.deepEqual(
    [refused.status, refused.body.status, refused.body.error.status],
    [401, undefined, "UNAUTHENTICATED"],
  );
  assert.equal((await list("/v1/models", key)).body.object, "list");
});

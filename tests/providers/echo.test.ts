import assert from "node:assert/strict";
import { after, test } from "node:test";
import { readEvents } from "../../src/lib/sse.ts";
import {
  chat,
  createTestClock,
  createTestGateway,
  helloBody,
  readJson,
  requestHeaders,
  waitForLog,
} from "../support/gateway.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

interface Completion {
  object: string;
  model: string;
  choices: { message?: { role: string; content: string }; text?: string; finish_reason: string }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

const send = (path: string, body: object, headers: Record<string, string> = {}) =>
  gateway.fetch(path, { method: "POST", headers: requestHeaders(headers), body: JSON.stringify(body) });

const user = (content: unknown) => ({ role: "user", content });

for (const [name, messages, wanted] of [
  ["a text", [user("Hello there")], "Hello there"],
  ["the last of several", [user("first"), { role: "assistant", content: "no" }, user("last")], "last"],
  ["the user's text when another role spoke last", [user("mine"), { role: "tool", content: "tool" }], "mine"],
  [
    "text parts joined",
    [user([{ type: "text", text: "a " }, { type: "image_url" }, { type: "text", text: "b" }])],
    "a b",
  ],
  ["nothing without a user message", [{ role: "system", content: "rules" }], ""],
  ["nothing for content of another kind", [user(5)], ""],
  ["nothing for parts of another kind", [user([null, 5, "x", { text: 5 }])], ""],
  ["surrogate pairs", [user("😀 é")], "😀 é"],
] as const) {
  test(`echo chat says ${name}`, async () => {
    const response = await send("/v1/chat/completions", { model: "any-model", messages });
    const answer = await readJson<Completion>(response);
    assert.equal(response.status, 200);
    assert.deepEqual([answer.object, answer.model], ["chat.completion", "any-model"]);
    assert.deepEqual(
      answer.choices.map(({ message, finish_reason }) => [message?.role, message?.content, finish_reason]),
      [["assistant", wanted, "stop"]],
    );
    const words = wanted.split(" ").filter((word) => word !== "").length;
    assert.deepEqual(answer.usage, { prompt_tokens: words, completion_tokens: words, total_tokens: 2 * words });
  });
}

for (const [prompt, wanted] of [
  ["Say this", "Say this"],
  [["a", "b"], '["a","b"]'],
  [[1, 2], "[1,2]"],
] as const) {
  test(`echo text says ${wanted}`, async () => {
    const answer = await readJson<Completion>(await send("/v1/completions", { model: "m", prompt }));
    assert.equal(answer.object, "text_completion");
    assert.deepEqual(answer.choices[0], { index: 0, text: wanted, logprobs: null, finish_reason: "stop" });
  });
}

interface Embeddings {
  object: string;
  data: { index: number; object: string; embedding: number[] }[];
  usage: { total_tokens: number };
}

for (const [name, input, count] of [
  ["a text", "one", 1],
  ["texts", ["one", "two", "one"], 3],
  ["tokens", [1, 2, 3], 1],
  ["lists of tokens", [[1], [2]], 2],
] as const) {
  test(`echo embeddings of ${name} are ${count} vectors of length 1`, async () => {
    const answer = await readJson<Embeddings>(await send("/v1/embeddings", { model: "m", input }));
    assert.equal(answer.object, "list");
    assert.deepEqual(
      answer.data.map(({ index }) => index),
      Array.from({ length: count }, (_, index) => index),
    );
    for (const { embedding } of answer.data) assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-9);
  });
}

test("echo embeddings depend only on the text", async () => {
  const body = { model: "m", input: ["one", "two", "one"] };
  const { data } = await readJson<Embeddings>(await send("/v1/embeddings", body));
  assert.deepEqual(data[0]?.embedding, data[2]?.embedding);
  assert.notDeepEqual(data[0]?.embedding, data[1]?.embedding);
});

test("echo returns the same response for the same request", async () => {
  const texts = await Promise.all([1, 2].map(async () => (await chat(gateway)).text()));
  assert.equal(texts[0], texts[1]);
});

test("GET /v1/models lists echo's model, and nothing when no provider is named", async () => {
  const listed = await gateway.fetch("/v1/models", { headers: requestHeaders() });
  const { data } = await readJson<{ data: { id: string }[] }>(listed);
  assert.deepEqual(
    data.map(({ id }) => id),
    ["echo-1"],
  );
  const none = await gateway.fetch("/v1/models", { headers: requestHeaders({ "x-gateway-provider": null }) });
  assert.deepEqual(await readJson(none), { object: "list", data: [] });
});

for (const status of [400, 401, 404, 429, 500, 503, 529, 599]) {
  test(`x-gateway-echo-status: ${status} makes echo fail with it`, async () => {
    for (const body of [helloBody, { ...helloBody, stream: true }]) {
      const response = await chat(gateway, body, { "x-gateway-echo-status": String(status) });
      const answer = await readJson<{ error: { message: string }; provider: string }>(response);
      assert.equal(response.status, status);
      assert.equal(answer.provider, "echo");
      assert.match(answer.error.message, new RegExp(String(status)));
    }
  });
}

for (const status of [300, 304, 307]) {
  test(`x-gateway-echo-status: ${status} is not an error status a caller can get, hence 502`, async () => {
    const response = await chat(gateway, helloBody, { "x-gateway-echo-status": String(status) });
    assert.equal(response.status, 502, await response.text());
  });
}

for (const [name, value] of [
  ["status", "199"],
  ["status", "600"],
  ["status", "abc"],
  ["status", "-1"],
  ["status", ""],
  ["status", "200.5"],
  ["delay-ms", "-1"],
  ["delay-ms", "3600001"],
  ["delay-ms", "1e3"],
  ["chunks", "0"],
  ["chunks", "10001"],
  ["chunks", "many"],
] as const) {
  test(`S12: x-gateway-echo-${name}: "${value}" is 400 naming the header`, async () => {
    const response = await chat(gateway, helloBody, { [`x-gateway-echo-${name}`]: value });
    const { error } = await readJson<{ error: { param: string; message: string } }>(response);
    assert.deepEqual([response.status, error.param], [400, `x-gateway-echo-${name}`]);
    assert.match(error.message, /must be/);
  });
}

for (const body of [helloBody, { ...helloBody, stream: true }]) {
  test(`S12: x-gateway-echo-delay-ms waits no longer than the request timeout (stream: ${"stream" in body})`, async () => {
    const trace = crypto.randomUUID();
    const headers = {
      "x-gateway-echo-delay-ms": "3600000",
      "x-gateway-request-timeout": "50",
      "x-gateway-trace-id": trace,
    };
    const response = await chat(gateway, body, headers);
    const { error } = await readJson<{ error: { type: string } }>(response);
    assert.deepEqual([response.status, error.type], [408, "timeout_error"]);
    assert.equal((await waitForLog(gateway, trace)).status, 408);
  });
}

test("x-gateway-echo-delay-ms delays the response", async () => {
  const started = performance.now();
  const response = await chat(gateway, helloBody, { "x-gateway-echo-delay-ms": "60" });
  assert.equal(response.status, 200);
  assert.ok(performance.now() - started >= 55, "a timer may fire a little early");
});

interface Chunk {
  choices: { delta: { role?: string; content?: string }; finish_reason: string | null }[];
  usage?: { total_tokens: number };
}

async function streamOf(changes: object, headers: Record<string, string> = {}) {
  const response = await chat(gateway, { ...helloBody, stream: true, ...changes }, headers);
  assert.equal(response.status, 200);
  const events = readEvents(await response.text()).map(({ data }) => data);
  assert.equal(events.pop(), "[DONE]");
  const chunks: Chunk[] = events.map((data) => JSON.parse(data));
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
  return { chunks, text };
}

test("echo streams word by word, role first, finish_reason last", async () => {
  const { chunks, text } = await streamOf({});
  assert.equal(text, "Hello there");
  assert.deepEqual(
    chunks.map(({ choices }) => choices[0]?.delta),
    [{ role: "assistant", content: "Hello " }, { content: "there" }, {}],
  );
  assert.deepEqual(
    chunks.map(({ choices }) => choices[0]?.finish_reason),
    [null, null, "stop"],
  );
});

for (const count of [1, 2, 5, 40, 1_000]) {
  test(`x-gateway-echo-chunks: ${count} splits the stream into as many pieces without losing a character`, async () => {
    const content = "Größe 😀 – ☂!";
    const { chunks, text } = await streamOf({ messages: [user(content)] }, { "x-gateway-echo-chunks": String(count) });
    assert.equal(text, content);
    assert.equal(chunks.length, count + 1);
  });
}

test("echo sends usage in a stream only when it is requested", async () => {
  assert.equal(
    (await streamOf({})).chunks.some(({ usage }) => usage),
    false,
  );
  const { chunks } = await streamOf({ stream_options: { include_usage: true } });
  assert.deepEqual([chunks.at(-1)?.choices, chunks.at(-1)?.usage?.total_tokens], [[], 4]);
});

test("echo streams an empty text", async () => {
  const { text } = await streamOf({ messages: [user("")] });
  assert.equal(text, "");
});

test("echo streams text completions", async () => {
  const response = await send("/v1/completions", { model: "m", prompt: "Say this", stream: true });
  const events = readEvents(await response.text()).map(({ data }) => data);
  assert.equal(events.pop(), "[DONE]");
  const texts = events.map((data) => JSON.parse(data).choices[0]?.text);
  assert.deepEqual(texts, ["Say ", "this", ""]);
});

test("echo rejects a passthrough request: it has no network", async () => {
  const response = await gateway.fetch("/v1/files", { headers: requestHeaders() });
  const { error } = await readJson<{ error: { code: string } }>(response);
  assert.deepEqual([response.status, error.code], [400, "unsupported_endpoint"]);
});

test("echo splits text between whole characters, and counts words with any separator", async () => {
  const text = "\u{1f600}\u{1f600}\u{1f600} a\u00a0b\n\tc ";
  for (const chunks of [1, 2, 3, 5, 40]) {
    const body = { ...helloBody, stream: true, messages: [user(text)] };
    const events = await (await send("/v1/chat/completions", body, { "x-gateway-echo-chunks": String(chunks) })).text();
    const pieces = [...events.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)].map(([, piece]) =>
      String(JSON.parse(piece ?? "")),
    );
    assert.equal(pieces.join(""), text);
    assert.ok(
      pieces.every((piece) => piece.isWellFormed()),
      JSON.stringify(pieces),
    );
  }
  const whole = await readJson<Completion>(
    await send("/v1/chat/completions", { ...helloBody, messages: [user(text)] }),
  );
  assert.equal(whole.usage.prompt_tokens, 4);
});

test("echo gives the time of the gateway's clock to chats, completions, their streams and its model", async () => {
  const clock = createTestClock(Date.UTC(2026, 4, 3, 2, 1, 0, 900));
  const own = await createTestGateway({ clock });
  const createdBy = async (path: string, body?: object) => {
    const init = { method: body ? "POST" : "GET", ...(body && { body: JSON.stringify(body) }) };
    const response = await own.fetch(path, { ...init, headers: requestHeaders() });
    const text = await response.text();
    return [...new Set([...text.matchAll(/"created":(\d+)/g)].map(([, seconds]) => Number(seconds)))];
  };
  const chatBody = { model: "m", messages: [user("Hello there")] };
  const wanted = Date.UTC(2026, 4, 3, 2, 1) / 1000;
  for (const stream of [false, true]) {
    assert.deepEqual(await createdBy("/v1/chat/completions", { ...chatBody, stream }), [wanted]);
    assert.deepEqual(await createdBy("/v1/completions", { model: "m", prompt: "Hello there", stream }), [wanted]);
  }
  assert.deepEqual(await createdBy("/v1/models"), [wanted]);
  await own.close();
});

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { createTestGateway, readJson, requestHeaders, type TestGateway, waitForLog } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

interface Answer {
  data: { index: number; embedding: unknown }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
  provider: string;
  error?: { code: string; message: string; param: string | null };
}

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** Responses that wait, with the text of their request. */
let waiting: { response: ServerResponse; text: string }[] = [];
let seen = 0;
let most = 0;
/** Number of requests that will come. */
let total = 0;
/** Set: nothing waits any more. */
let hasFailed = false;

/** Number at the end of a string such as `t7`. */
const numberOf = (text: string) => Number(/t(\d+)/.exec(text)?.[1]);

function answer({ response, text }: (typeof waiting)[number]): void {
  const number = numberOf(text);
  if (text.includes("fail")) {
    response.statusCode = 429;
    response.end(JSON.stringify({ message: "fixture: slow down" }));
  } else response.end(JSON.stringify({ embedding: [number, -0.5], inputTextTokenCount: number }));
}

before(async () => {
  gateway = await createTestGateway();
  upstream = await startRecordingUpstream(({ text }, response) => {
    response.setHeader("content-type", "application/json");
    seen++;
    waiting.push({ response, text });
    most = Math.max(most, waiting.length);
    // four at a time are expected, and the rest at the end; the last one is answered first
    if (waiting.length < 4 && seen < total && !hasFailed) return;
    const some = waiting.reverse();
    waiting = [];
    const failing = some.find(({ text: one }) => one.includes("fail"));
    if (!failing) return some.forEach(answer);
    hasFailed = true;
    failing.response.on("finish", () => some.filter((one) => one !== failing).forEach(answer));
    answer(failing);
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  waiting = [];
  hasFailed = false;
  [seen, most, total] = [0, 0, 0];
});

const titan = { model: "amazon.titan-embed-text-v2:0" };

async function embed(body: object, headers: Record<string, string> = {}) {
  const trace = crypto.randomUUID();
  const own = {
    "x-gateway-provider": "bedrock",
    "x-gateway-aws-region": "us-east-1",
    "x-gateway-trace-id": trace,
    "x-gateway-custom-host": upstream.url,
    authorization: "Bearer provider-key",
  };
  const init = { method: "POST", headers: requestHeaders({ ...own, ...headers }), body: JSON.stringify(body) };
  const response = await gateway.fetch("/v1/embeddings", init);
  return { trace, status: response.status, headers: response.headers, body: await readJson<Answer>(response) };
}

test("POST /v1/embeddings calls a provider of one input per call once for each, four at a time, in order", async () => {
  total = 10;
  const input = Array.from({ length: 10 }, (_, index) => `t${index}`);
  const { status, body, headers, trace } = await embed({ ...titan, input, user: "u" });
  assert.equal(status, 200);
  assert.deepEqual(
    body.data.map(({ index, embedding }) => [index, embedding]),
    input.map((_, index) => [index, [index, -0.5]]),
  );
  assert.deepEqual(body.usage, { prompt_tokens: 45, total_tokens: 45 });
  assert.deepEqual([body.model, body.provider], [titan.model, "bedrock"]);
  assert.deepEqual([seen, most], [10, 4]);
  assert.equal(headers.get("x-gateway-dropped-params"), "user");
  assert.equal(headers.get("content-type"), "application/json");
  const row = await waitForLog(gateway, trace);
  assert.deepEqual([row.upstream_calls, row.usage?.input_tokens, row.status], [10, 45, 200]);
});

test("POST /v1/embeddings makes one call for one input, and encodes base64 itself", async () => {
  total = 1;
  const { body } = await embed({ ...titan, input: ["t1"], encoding_format: "base64" });
  assert.deepEqual(body.data, [{ object: "embedding", index: 0, embedding: "AACAPwAAAL8=" }]);
  assert.equal(seen, 1);
});

test("POST /v1/embeddings returns the error of one call and makes no further calls", async () => {
  total = 12;
  const input = Array.from({ length: 12 }, (_, index) => (index === 2 ? "fail t2" : `t${index}`));
  const { status, body, trace } = await embed({ ...titan, input });
  assert.equal(status, 429);
  assert.match(body.error?.message ?? "", /fixture: slow down/);
  assert.ok(seen < 12, `${seen} calls were made`);
  const row = await waitForLog(gateway, trace);
  assert.equal(row.status, 429);
});

test("POST /v1/embeddings refuses an invalid part before any call", async () => {
  total = 1;
  const { status, body } = await embed({ ...titan, input: [{ image: { base64: "AAAA" } }, { other: 1 }] });
  assert.deepEqual([status, body.error?.param, seen], [400, "input", 0]);
});

const texts = (count: number) => Array.from({ length: count }, () => "a");

for (const [name, input, status] of [
  ["an empty text", "", 400],
  ["an empty list", [], 400],
  ["an empty list of tokens", [[]], 400],
  ["2,048 texts", texts(2048), 200],
  ["2,049 texts", texts(2049), 400],
  ["2,048 inputs, one of them an object", [...texts(2047), { text: "a" }], 200],
  ["2,049 inputs, one of them an object", [...texts(2048), { text: "a" }], 400],
  ["2,048 tokens", Array.from({ length: 2048 }, () => 1), 200],
  ["2,049 tokens", Array.from({ length: 2049 }, () => 1), 400],
  ["a number", 7, 400],
  ["null", null, 400],
] as const) {
  test(`POST /v1/embeddings returns ${status} for an input of ${name}`, async () => {
    const init = { method: "POST", headers: requestHeaders(), body: JSON.stringify({ model: "echo-1", input }) };
    const response = await gateway.fetch("/v1/embeddings", init);
    const body = await readJson<Answer>(response);
    assert.equal(response.status, status, JSON.stringify(body).slice(0, 300));
    if (status === 400) assert.equal(body.error?.param?.split(".")[0], "input");
  });
}

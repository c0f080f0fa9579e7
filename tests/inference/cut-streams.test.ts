import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, test } from "node:test";
import {
  createTestClock,
  createTestGateway,
  requestHeaders,
  type ShownLog,
  type TestGateway,
  waitForLog,
} from "../support/gateway.ts";
import { startServer, type Upstream } from "../support/upstream.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

/** An upstream that begins an event stream with a text and then does what the script says. */
function streaming(text: string, then: (response: ServerResponse) => void): Promise<Upstream> {
  return startServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.on("error", () => {});
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(text, () => then(response));
    });
  });
}

const event = (data: { type?: string }) =>
  `${data.type === undefined ? "" : `event: ${data.type}\n`}data: ${JSON.stringify(data)}\n\n`;
const piece = (content: string, more: object = {}) => {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  return event({ id: "x", object: "chat.completion.chunk", created: 1, model: "gpt-4o", choices, ...more } as object);
};
const half = "Half a sentence";
const halfTokens = 3;
const messages = [{ role: "user", content: "Hello there" }];
/** Two tokens, four around the message, three around the prompt. */
const inputTokens = 9;

interface Ask {
  provider?: string;
  path?: string;
  body?: object;
  headers?: Record<string, string>;
  own?: TestGateway;
  signal?: AbortSignal;
  trace: string;
}

function ask(upstream: Upstream, asked: Ask): Promise<Response> {
  const {
    provider = "openai",
    path = "/v1/chat/completions",
    body,
    headers = {},
    own = gateway,
    signal,
    trace,
  } = asked;
  return own.fetch(path, {
    method: "POST",
    headers: requestHeaders({
      "x-gateway-provider": provider,
      "x-gateway-custom-host": `${upstream.url}/v1`,
      "x-gateway-trace-id": trace,
      authorization: "Bearer upstream-key",
      ...headers,
    }),
    body: JSON.stringify({ model: "gpt-4o", messages, stream: true, ...body }),
    ...(signal && { signal }),
  });
}

type Cut = "leaves" | "breaks" | "idles" | "ends";

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  while (!(await reader.read()).done);
}

/** The row of a stream that begins with this text and is then cut. */
async function rowOfCut(text: string, cut: Cut, asked: Omit<Ask, "trace" | "own"> = {}): Promise<ShownLog> {
  const trace = crypto.randomUUID();
  const clock = createTestClock();
  const own = cut === "idles" ? await createTestGateway({ clock, limits: { streamIdleTimeoutMs: 5_000 } }) : gateway;
  const upstream = await streaming(text, (response) => {
    if (cut === "breaks") setTimeout(() => response.destroy(), 20);
    if (cut === "ends") response.end();
  });
  try {
    const response = await ask(upstream, { ...asked, own, trace });
    if (response.status !== 200) await response.text();
    else {
      assert.ok(response.body);
      const reader = response.body.getReader();
      await reader.read();
      const rest = readAll(reader);
      if (cut === "leaves") await reader.cancel();
      if (cut === "idles") clock.advance(5_001);
      await rest;
    }
    return await waitForLog(own, trace);
  } finally {
    await upstream.close();
    if (own !== gateway) await own.close();
  }
}

const counts = ({ usage }: ShownLog) => [usage?.input_tokens, usage?.output_tokens, usage?.total_tokens];
const estimated = (row: ShownLog): unknown => Reflect.get(row, "estimated");

for (const [cut, status] of [
  ["leaves", 499],
  ["breaks", 502],
  ["ends", 502],
  ["idles", 502],
] as const) {
  test(`a stream that ${cut} costs an estimate of what came`, async () => {
    const row = await rowOfCut(piece("Half a ") + piece("sentence"), cut);
    assert.equal(row.status, status);
    assert.deepEqual(counts(row), [inputTokens, halfTokens, inputTokens + halfTokens]);
    assert.equal(estimated(row), true);
    assert.equal(row.cost, (inputTokens * 2_500 + halfTokens * 10_000) / 1e7);
  });
}

test("counts that the provider reported before the cut are no estimate", async () => {
  const usage = { prompt_tokens: 30, completion_tokens: 7, total_tokens: 37 };
  const row = await rowOfCut(piece(half, { usage }), "leaves");
  assert.deepEqual([counts(row), estimated(row)], [[30, 7, 37], undefined]);
  assert.equal(row.cost, (30 * 2_500 + 7 * 10_000) / 1e7);
});

const started = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 0, output_tokens: 1 },
  },
};
const claude = { provider: "anthropic", body: { model: "claude-sonnet-4-5", max_tokens: 10 } };
const claudeStart =
  event(started) +
  event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } } as object) +
  event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: half } } as object);

for (const path of ["/v1/messages", "/v1/chat/completions"]) {
  test(`a message of ${path} that is cut has the input Anthropic reported and an estimate of the output`, async () => {
    const row = await rowOfCut(claudeStart, "breaks", { ...claude, path });
    assert.deepEqual(counts(row), [30, halfTokens, 30 + halfTokens]);
    assert.equal(row.usage?.cached_tokens, 20);
    assert.equal(estimated(row), true);
    assert.equal(row.cost, (10 * 3_000 + 20 * 300 + halfTokens * 15_000) / 1e7);
  });
}

test("contents that are cut cost what Gemini reported last", async () => {
  const slice = {
    candidates: [{ content: { role: "model", parts: [{ text: half }] }, index: 0 }],
    usageMetadata: { promptTokenCount: 50, candidatesTokenCount: 3, totalTokenCount: 53 },
    modelVersion: "gemini-2.5-pro",
  };
  const path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
  const contents = [{ role: "user", parts: [{ text: "Hello there" }] }];
  const body = { contents, model: undefined, messages: undefined, stream: undefined };
  const row = await rowOfCut(event(slice as object), "leaves", { provider: "google", path, body });
  assert.deepEqual([counts(row), estimated(row)], [[50, 3, 53], undefined]);
  assert.equal(row.cost, (50 * 1_250 + 3 * 10_000) / 1e7);
});

const response = { id: "resp_1", object: "response", created_at: 1, status: "in_progress", model: "gpt-5", output: [] };
const created = event({ type: "response.created", sequence_number: 0, response } as object);
const gpt5 = { path: "/v1/responses", body: { model: "gpt-5", input: "Hello there", messages: undefined } };

test("a response that is cut costs an estimate", async () => {
  const delta = { type: "response.output_text.delta", sequence_number: 1, item_id: "m", output_index: 0, delta: half };
  const row = await rowOfCut(created + event(delta), "ends", gpt5);
  assert.deepEqual([counts(row), estimated(row)], [[2, halfTokens, 2 + halfTokens], true]);
  assert.equal(row.cost, (2 * 1_250 + halfTokens * 10_000) / 1e7);
});

test("a stream whose provider reports a failure costs nothing", async () => {
  const failed = { ...response, status: "failed", error: { code: "server_error", message: "no" } };
  const last = event({ type: "response.failed", sequence_number: 1, response: failed } as object);
  const row = await rowOfCut(created + last, "ends", gpt5);
  assert.deepEqual([row.status, row.usage, row.cost, estimated(row)], [502, null, 0, undefined]);
});

test("a stream that is held for its guardrails and cut costs an estimate, and so does its retry", async () => {
  const config = {
    output_guardrails: [
      { "default.contains": { operator: "none", words: ["secret"] }, deny: true, stream_mode: "buffer" },
    ],
    retry: { attempts: 1, on_status_codes: [502] },
  };
  const headers = { "x-gateway-config": JSON.stringify(config) };
  const row = await rowOfCut(piece(half), "ends", { headers });
  assert.equal(row.status, 502);
  assert.equal(estimated(row), true);
  assert.equal(row.cost, (2 * (inputTokens * 2_500 + halfTokens * 10_000)) / 1e7);
});

test("images and identifiers of a request are not text", async () => {
  const parts = [
    { type: "text", text: "Hello there" },
    { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(1_000)}` } },
  ];
  const row = await rowOfCut(piece(half), "leaves", {
    body: { messages: [{ role: "user", content: parts }], metadata: { name: "a name of a request" } },
  });
  assert.equal(row.usage?.input_tokens, inputTokens);
});

test("what follows the part of a stream that is read counts in proportion", async () => {
  const count = 4_000;
  const row = await rowOfCut(piece(" there").repeat(count), "breaks");
  const tokens = row.usage?.output_tokens ?? 0;
  assert.ok(tokens > count * 0.9 && tokens < count * 1.1, `${tokens} tokens`);
});

test("a drain waits for the counts of the streams it ends", async () => {
  const own = await createTestGateway();
  const upstream = await streaming(piece(half), () => {});
  const trace = crypto.randomUUID();
  const answer = await ask(upstream, { own, trace });
  const rest = answer.text().catch(() => "");
  await own.gateway.drain(50);
  await rest;
  const row = await waitForLog(own, trace);
  assert.equal(row.usage?.output_tokens, halfTokens);
  await own.close();
  await upstream.close();
});

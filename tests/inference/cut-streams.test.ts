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
  body?: object;
  own?: TestGateway;
  trace: string;
}

function ask(upstream: Upstream, { provider = "openai", body, own = gateway, trace }: Ask): Promise<Response> {
  return own.fetch("/v1/chat/completions", {
    method: "POST",
    headers: requestHeaders({
      "x-gateway-provider": provider,
      "x-gateway-custom-host": `${upstream.url}/v1`,
      "x-gateway-trace-id": trace,
      authorization: "Bearer upstream-key",
    }),
    body: JSON.stringify({ model: "gpt-4o", messages, stream: true, ...body }),
  });
}

type Cut = "leaves" | "breaks" | "idles";

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
  });
  try {
    const response = await ask(upstream, { ...asked, own, trace });
    assert.ok(response.body);
    const reader = response.body.getReader();
    await reader.read();
    const rest = readAll(reader);
    if (cut === "leaves") await reader.cancel();
    if (cut === "idles") clock.advance(5_001);
    await rest;
    return await waitForLog(own, trace);
  } finally {
    await upstream.close();
    if (own !== gateway) await own.close();
  }
}

const counts = ({ usage }: ShownLog) => [usage?.input_tokens, usage?.output_tokens, usage?.total_tokens];
const estimated = (row: ShownLog): unknown => Reflect.get(row, "estimated");

// other cuts, and what they cost, are rows of tests/support/cost-endings.ts
test("a stream that idles costs an estimate of what came", async () => {
  const row = await rowOfCut(piece("Half a ") + piece("sentence"), "idles");
  assert.equal(row.status, 502);
  assert.deepEqual(counts(row), [inputTokens, halfTokens, inputTokens + halfTokens]);
  assert.equal(estimated(row), true);
  assert.equal(row.cost, (inputTokens * 2_500 + halfTokens * 10_000) / 1e7);
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

test("a chat by way of a message that is cut has the input Anthropic reported and an estimate of the output", async () => {
  const row = await rowOfCut(claudeStart, "breaks", claude);
  assert.deepEqual(counts(row), [30, halfTokens, 30 + halfTokens]);
  assert.equal(row.usage?.cached_tokens, 20);
  assert.equal(estimated(row), true);
  assert.equal(row.cost, (10 * 3_000 + 20 * 300 + halfTokens * 15_000) / 1e7);
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

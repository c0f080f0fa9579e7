import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { fixture } from "../conformance/suite.ts";
import { chat, createTestGateway, waitForLog } from "../support/gateway.ts";

let answer: () => Response = () => new Response();
const transport: Transport = { send: async () => answer() };
const gateway = await createTestGateway({ transport });
after(() => gateway.close());

const streamed = (text: string) => () => new Response(text, { headers: { "content-type": "text/event-stream" } });

async function stream(provider: string, headers: Record<string, string> = {}) {
  const trace = crypto.randomUUID();
  const body = {
    model: "m",
    messages: [{ role: "user", content: "Hello" }],
    stream: true,
    stream_options: { include_usage: true },
  };
  const names = { "x-gateway-provider": provider, "x-gateway-trace-id": trace, authorization: "Bearer key" };
  const response = await chat(gateway, body, { ...names, ...headers });
  const text = await response.text();
  const events = text.split("\n\n").filter((event) => event.startsWith("data: "));
  return { trace, text, events: events.map((event) => event.slice("data: ".length)) };
}

test("cohere streams end with usage and [DONE], and their usage is logged", async () => {
  answer = streamed(fixture("cohere", "stream.sse"));
  const { trace, events } = await stream("cohere");
  assert.equal(events.at(-1), "[DONE]");
  const { choices, usage, provider } = JSON.parse(events.at(-2) ?? "");
  assert.deepEqual(choices, []);
  assert.deepEqual(usage, { prompt_tokens: 71, completion_tokens: 11, total_tokens: 82 });
  assert.equal(provider, "cohere");
  const row = await waitForLog(gateway, trace);
  assert.equal(row.usage?.input_tokens, 71);
});

const workersAi = { "x-gateway-workers-ai-account-id": "acc0" };

test("workers-ai streams end with a finish reason once the upstream has ended", async () => {
  answer = streamed('data: {"response":"Six."}\n\ndata: [DONE]\n\n');
  const { events } = await stream("workers-ai", workersAi);
  assert.equal(events.at(-1), "[DONE]");
  assert.equal(JSON.parse(events.at(-2) ?? "").choices[0].finish_reason, "stop");
});

test("workers-ai streams that break off are reported as failures", async () => {
  answer = streamed('data: {"response":"Six."}\n\n');
  const { events, text } = await stream("workers-ai", workersAi);
  assert.ok("error" in JSON.parse(events.at(-1) ?? ""));
  assert.doesNotMatch(text, /\[DONE\]/);
});

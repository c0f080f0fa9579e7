import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chat, createTestGateway, helloBody, upstreamHeaders } from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
const said = JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: null }] });
const ended = JSON.stringify({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
const events = `data: ${said}\n\ndata: ${ended}\n\ndata: [DONE]\n\n`;
const answer = JSON.stringify({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
});

/** The gateway's response to an upstream that sends no content type, or the given one. */
async function ask(
  pieces: readonly string[],
  { stream = true, status = 200, type }: { stream?: boolean; status?: number; type?: string } = {},
) {
  const upstream = await startServer(async (request, response) => {
    request.resume();
    response.writeHead(status, type === undefined ? {} : { "content-type": type });
    for (const piece of pieces) {
      response.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    response.end();
  });
  try {
    const response = await chat(gateway, { ...helloBody, stream }, upstreamHeaders(upstream));
    return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
  } finally {
    await upstream.close();
  }
}

for (const [what, pieces] of [
  ["an event", [events]],
  ["one letter at a time", [...events]],
  ["a comment", [`: ready\n\n${events}`]],
  ["a byte order mark", [`\ufeff${events}`]],
  ["blank lines", [`\r\n\n${events}`]],
  ["the type of its first event", [`event: chunk\n${events}`]],
] as const) {
  for (const [name, given] of [
    ["without content type", undefined],
    ["labelled as plain text", "text/plain; charset=utf-8"],
  ] as const) {
    test(`a stream ${name} that starts with ${what} is read as a stream`, async () => {
      const { status, type, text } = await ask(pieces, given === undefined ? {} : { type: given });
      assert.equal(status, 200, text);
      assert.match(type ?? "", /^text\/event-stream/);
      assert.match(text, /"content":"Hi"/);
      assert.ok(text.endsWith("data: [DONE]\n\n"));
    });
  }
}

test("a response without content type that is not a stream is read whole, even if a stream was requested", async () => {
  const { status, text } = await ask([answer.slice(0, 5), answer.slice(5)]);
  assert.equal(status, 200, text);
  assert.match(text, /"content":"Hi"/);
});

test("a failure without content type is the same failure", async () => {
  const { status, text } = await ask(['{"error":{"message":"not now"}}'], { status: 429 });
  assert.equal(status, 429);
  assert.match(text, /not now/);
});

test("events are not a response where none were requested, or where their type is another", async () => {
  assert.equal((await ask([events], { stream: false })).status, 502);
  assert.equal((await ask([events], { stream: false, type: "text/plain" })).status, 502);
  assert.equal((await ask([events], { type: "text/html" })).status, 502);
  assert.equal((await ask(["database is away"], { type: "text/plain" })).status, 502);
});

test("a response without content type that breaks off at once is the upstream's failure", async () => {
  const { status } = await ask([]);
  assert.equal(status, 502);
});

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, test } from "node:test";
import { chat, createTestGateway, helloBody, readJson, upstreamHeaders } from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

/** The gateway's response to an upstream, and how many bytes of it were read. */
async function ask(script: (response: ServerResponse) => Promise<void>, body: object) {
  const upstream = await startServer((request, response) => {
    request.resume();
    response.on("error", () => {});
    script(response).catch(() => response.destroy());
  });
  try {
    const response = await chat(gateway, { ...helloBody, ...body }, upstreamHeaders(upstream));
    return { status: response.status, text: await response.text() };
  } finally {
    await upstream.close();
  }
}

/** Writes a piece again and again, until the gateway goes away. */
async function flood(response: ServerResponse, piece: string, times: number, tail = ""): Promise<number> {
  let bytes = 0;
  response.setMaxListeners(0);
  for (let count = 0; count < times && !response.destroyed; count++) {
    bytes += piece.length;
    if (!response.write(piece)) {
      await new Promise<void>((resolve) => {
        response.once("drain", resolve);
        response.once("close", resolve);
      });
    }
  }
  response.end(tail);
  return bytes;
}

interface Failure {
  message: string;
  error: { message: string; code: string | null; type: string; param: string | null };
}

for (const [what, line] of [
  ["line feeds", "\n"],
  ["carriage returns", "\r\n"],
  ["comments", ":\n\n"],
  ["comments without blank lines", ": a\n"],
  ["events without data", "event: a\n\n"],
] as const) {
  test(`a stream that starts with endless ${what} is a failure`, async () => {
    let sent = 0;
    const script = async (response: ServerResponse) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      sent = await flood(response, line.repeat(65_536 / line.length), 1_600);
    };
    const { status, text } = await ask(script, { stream: true });
    assert.equal(status, 502, text);
    assert.match(text, /"code":"upstream_event_too_long"/);
    // what is on its way does not count: buffers of sockets hold several megabytes
    assert.ok(sent < 64 * 2 ** 20, `${sent} bytes were taken`);
  });
}

test("comments before the first event of a stream do no harm", async () => {
  const event = { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  const { status, text } = await ask(
    async (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      await flood(response, `${": waiting\n\n".repeat(1_000)}`, 20);
    },
    { stream: true },
  );
  assert.equal(status, 502, text);
  const good = await ask(
    async (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": waiting\n\n".repeat(1_000));
      response.end(`\n\n\ndata: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`);
    },
    { stream: true },
  );
  assert.equal(good.status, 200, good.text);
  assert.ok(good.text.endsWith("data: [DONE]\n\n"));
});

for (const [what, begin, tail] of [
  ["a message", '{"error":{"message":"', '"}}'],
  ["a code", '{"error":{"message":"no","code":"', '"}}'],
  ["a text", "no: ", ""],
  ["JSON that is cut off", '{"error":{"message":"', ""],
] as const) {
  test(`a failure with ${what} of 60 MB is cut to a short answer`, async () => {
    let sent = 0;
    const script = async (response: ServerResponse) => {
      response.writeHead(503, { "content-type": "application/json" });
      response.write(begin);
      sent = await flood(response, "x".repeat(60_000), 1_000, tail);
    };
    const { status, text } = await ask(script, {});
    assert.equal(status, 503, text.slice(0, 200));
    assert.ok(text.length < 16_384, `${text.length} letters`);
    // what is on its way does not count: buffers of sockets hold several megabytes
    assert.ok(sent < 64 * 2 ** 20, `${sent} bytes were taken`);
  });
}

for (const [status, wanted] of [
  [400, 400],
  [200, 502],
] as const) {
  test(`long fields of an error with status ${status} are cut`, async () => {
    const long = "x".repeat(20_000);
    const error = { message: long, type: long, param: long, code: long };
    const answered = await ask(async (response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error }));
    }, {});
    assert.equal(answered.status, wanted, answered.text.slice(0, 200));
    const { message, error: reported } = await readJson<Failure>(new Response(answered.text));
    assert.equal(message.length, 4_096);
    assert.equal(reported.message, message);
    for (const member of [reported.type, reported.param, reported.code]) assert.equal(member?.length, 256);
  });
}

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";
import { createTestGateway, readJson, requestHeaders, upstreamHeaders } from "../support/gateway.ts";
import { eventually, startRecordingUpstream } from "../support/upstream.ts";

const megabyte = 2 ** 20;
const answer = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
};

/** Calls that wait for their response until the test releases them. */
const open: (() => void)[] = [];
let isHeld = false;
const upstream = await startRecordingUpstream(async (_request, response) => {
  if (isHeld) await new Promise<void>((resolve) => open.push(resolve));
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(answer));
});
const gateway = await createTestGateway({
  limits: { heldBodyBytes: 8 * megabyte, heldBodyBytesPerKey: 3 * megabyte },
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Failure {
  error: { code: string; param: string | null; message: string };
}

const chatOf = (text: string) => JSON.stringify({ model: "m", messages: [{ role: "user", content: text }] });

function send(body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> {
  const sent = requestHeaders({ ...upstreamHeaders(upstream), ...headers });
  return gateway.fetch("/v1/chat/completions", { method: "POST", headers: sent, body: body as BodyInit });
}

for (const [coding, encode] of [
  ["gzip", gzipSync],
  ["deflate", deflateSync],
] as const) {
  test(`a body that ${coding} compresses more than 20 times is refused above 1 MiB`, async () => {
    const response = await send(encode(chatOf("x".repeat(24 * megabyte))), { "content-encoding": coding });
    assert.equal(response.status, 413);
    const { error } = await readJson<Failure>(response);
    assert.deepEqual([error.code, error.param], ["request_too_large", "content-encoding"]);
  });

  test(`a body that ${coding} compresses well is accepted below 1 MiB`, async () => {
    const response = await send(encode(chatOf("x".repeat(900_000))), { "content-encoding": coding });
    assert.equal(response.status, 200, await response.text());
  });

  test(`a large body that ${coding} compresses a little is accepted`, async () => {
    const text = Array.from({ length: 100_000 }, (_, index) => (index * 2_654_435_761).toString(36)).join(" ");
    const response = await send(encode(chatOf(text)), { "content-encoding": coding });
    assert.equal(response.status, 200, await response.text());
  });
}

/** Releases calls as they come, until all of these have a response. */
async function letGo<Value>(work: Promise<Value>): Promise<Value> {
  const timer = setInterval(() => {
    for (const release of open.splice(0)) release();
  }, 5);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

test("bodies beyond the share of a key wait for memory, small ones do not", async () => {
  isHeld = true;
  upstream.requests.length = 0;
  const large = chatOf("x".repeat(1.4 * megabyte));
  const sent = Array.from({ length: 6 }, () => send(large));
  await eventually(() => upstream.requests.length === 2, "two calls");
  const small = send(chatOf("Hello"));
  await eventually(() => upstream.requests.length === 3, "a third call, small");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(upstream.requests.length, 3);
  const responses = await letGo(Promise.all([...sent, small]));
  isHeld = false;
  for (const response of responses) assert.equal(response.status, 200, await response.text());
  assert.equal(upstream.requests.length, 7);
});

test("a body larger than the share of a key is accepted alone", async () => {
  const response = await send(chatOf("x".repeat(5 * megabyte)));
  assert.equal(response.status, 200, await response.text());
});

test("bodies of unknown length are counted while they arrive", async () => {
  isHeld = true;
  upstream.requests.length = 0;
  const piece = new TextEncoder().encode("x".repeat(100_000));
  const streamed = () => {
    let left = 14;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode('{"model":"m","messages":[{"role":"user","content":"')),
      pull(controller) {
        if (left-- > 0) return controller.enqueue(piece);
        controller.enqueue(new TextEncoder().encode('"}]}'));
        controller.close();
      },
    });
    const headers = requestHeaders(upstreamHeaders(upstream));
    const init = { method: "POST", headers, body, duplex: "half" as const };
    return gateway.fetch("/v1/chat/completions", init);
  };
  const sent = [streamed(), streamed(), streamed(), streamed()];
  await eventually(() => upstream.requests.length > 0, "a call");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(upstream.requests.length <= 2, `${upstream.requests.length} calls`);
  const responses = await letGo(Promise.all(sent));
  isHeld = false;
  for (const response of responses) assert.equal(response.status, 200, await response.text());
  assert.equal(upstream.requests.length, 4);
});

test("memory is released when bodies are refused, or calls fail", async () => {
  const broken = `${chatOf("x".repeat(2 * megabyte))}}`;
  for (let count = 0; count < 6; count++) assert.equal((await send(broken)).status, 400);
  const bomb = gzipSync(chatOf("x".repeat(8 * megabyte)));
  for (let count = 0; count < 6; count++) assert.equal((await send(bomb, { "content-encoding": "gzip" })).status, 413);
  assert.equal((await send(chatOf("x".repeat(2 * megabyte)))).status, 200);
});

test("large answers that are read whole wait for room, and give it back", async () => {
  const long = {
    ...answer,
    choices: [{ ...answer.choices[0], message: { role: "assistant", content: "y".repeat(32 * megabyte) } }],
  };
  const bytes = new TextEncoder().encode(JSON.stringify(long));
  // what is in the buffers of sockets was not taken yet
  const taken = 24 * megabyte;
  let open = 0;
  let mostOpen = 0;
  const many = await startRecordingUpstream(async (_request, response) => {
    response.setHeader("content-type", "application/json");
    for (let from = 0; from < bytes.length; from += megabyte) {
      if (from === taken) mostOpen = Math.max(mostOpen, ++open);
      if (!response.write(bytes.subarray(from, from + megabyte))) {
        await new Promise((resolve) => response.once("drain", resolve));
      }
    }
    open--;
    response.end();
  });
  try {
    const headers = requestHeaders(upstreamHeaders(many));
    const ask = () => gateway.fetch("/v1/chat/completions", { method: "POST", headers, body: chatOf("Hello") });
    const responses = await Promise.all(Array.from({ length: 4 }, ask));
    for (const response of responses) {
      assert.equal(response.status, 200);
      assert.ok((await response.text()).length > 32 * megabyte);
    }
    assert.ok(mostOpen <= 1, `${mostOpen} were read at once`);
  } finally {
    await many.close();
  }
});

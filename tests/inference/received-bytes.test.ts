import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  createRandom,
  createTestGateway,
  type HeaderChanges,
  requestHeaders,
  upstreamHeaders,
} from "../support/gateway.ts";
import { rounds, sampleSeed } from "../support/sample.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
};
const upstream = await startRecordingUpstream((_request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(message));
});
const gateway = await createTestGateway();
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** Sends a body to Claude, and returns what the upstream received. */
async function send(text: string | Uint8Array<ArrayBuffer>, headers: HeaderChanges = {}): Promise<string> {
  upstream.requests.length = 0;
  const sent = requestHeaders({ ...upstreamHeaders(upstream), "x-gateway-provider": "anthropic", ...headers });
  const response = await gateway.fetch("/v1/messages", { method: "POST", headers: sent, body: text });
  const shown = await response.text();
  assert.equal(response.status, 200, shown);
  const [request] = upstream.requests;
  assert.equal(request?.headers["content-type"], "application/json");
  return request?.text ?? "";
}

const long = "A long line of a source file.\\n".repeat(700);
const overridden = { "x-gateway-config": JSON.stringify({ override_params: { temperature: 0.25 } }) };

test("a long request that does not change is forwarded as the bytes that came, however they are written", async () => {
  const text = `{ "max_tokens":16.0 ,\n\t"mo\\u0064el":"claude-\\u0078", "own": [1e2, "\\/", "é", null],
  "messages" : [ {"role":"user","content":"${long}"} ]\r\n}\n`;
  assert.equal(await send(text), text);
});

test("of a long request in which one field changes, the others are forwarded as they came", async () => {
  const text = `{"temperature": 1.0, "max_tokens":16.0, "model":"m" ,"messages":[ {"role":"user","content":"${long}"}], "own":[1e2]}`;
  const received = await send(text, overridden);
  assert.ok(received.includes(`[ {"role":"user","content":"${long}"}]`));
  assert.ok(received.includes("16.0"));
  assert.deepEqual(JSON.parse(received), { ...JSON.parse(text), temperature: 0.25 });
});

test("a long request that names a field twice is never forwarded as it came", async () => {
  const messages = `"messages":[{"role":"user","content":"${long}"}]`;
  for (const text of [
    `{"model":"a","model":"b","max_tokens":16,${messages}}`,
    `{"model":"a","mode\\u006c":"b","max_tokens":16,${messages}}`,
    `{"model":"b","max_tokens":16,"own":{"list":[{"name":1,"name":2}]},${messages}}`,
    `{"model":"b","max_tokens":16,"own":{"__proto__":1,"__proto__":2},${messages}}`,
  ]) {
    for (const headers of [{}, overridden]) {
      const wanted = { ...JSON.parse(text), ...(headers === overridden && { temperature: 0.25 }) };
      assert.deepEqual(JSON.parse(await send(text, headers)), wanted);
      assert.equal(
        (await send(text, headers)).match(/"(?:mode(?:l|\\u006c)|name|__proto__)"/g)?.length,
        text.includes("own") ? 2 : 1,
      );
    }
  }
});

test("a byte order mark and numbers beyond 2^53 reach the provider as before", async () => {
  const text = `{"model":"b","max_tokens":16,"own":12345678901234567890,"messages":[{"role":"user","content":"${long}"}]}`;
  assert.equal(await send(text), text);
  const marked = new Uint8Array([0xef, 0xbb, 0xbf, ...new TextEncoder().encode(text)]);
  assert.equal(await send(marked), text);
  assert.ok((await send(text, overridden)).includes('"own":12345678901234567890'));
});

/** A random JSON value, written in a random way. */
function writeValue(random: () => number, depth: number): string {
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? "";
  const space = () => pick(["", "", " ", "\n", "\t "]);
  const kind = random();
  if (depth === 0 || kind < 0.5)
    return pick(['"a"', '"\\"[{,:"', '"\\\\"', '"\\u00e9"', "1.50", "-0", "1E3", "true", "null", '"日本"', "[]", "{}"]);
  const items = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => {
    const value = `${space()}${writeValue(random, depth - 1)}${space()}`;
    return kind < 0.75 ? value : `${space()}${pick(['"n', '"\\"', '"é', '"\\\\'])}${index}"${space()}:${value}`;
  });
  return kind < 0.75 ? `[${items.join(",")}]` : `{${items.join(",")}}`;
}

test("what the provider receives of a long request is what its parser makes of it, however it is written", async () => {
  const random = createRandom(sampleSeed);
  for (let round = 0; round < rounds(200); round++) {
    const own = Array.from({ length: 4 }, (_, index) => `"own${index}":${writeValue(random, 4)}`);
    const members = ['"model":"m"', '"max_tokens":16', `"messages":[{"role":"user","content":"${long}"}]`, ...own];
    members.sort(() => random() - 0.5);
    const text = `{${members.join(random() < 0.5 ? "," : " ,\n")}}`;
    const isChanged = random() < 0.7;
    const received = JSON.parse(await send(text, isChanged ? overridden : {}));
    assert.deepEqual(received, { ...JSON.parse(text), ...(isChanged && { temperature: 0.25 }) }, text.slice(-500));
  }
});

// Responses that come in another form than their API's, errors in the middle of streams, and what is stored of them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, requestHeaders, type TestGateway, waitForLog } from "../support/gateway.ts";
import { words } from "../support/guarded.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const transport: Transport = { send: (url, init) => wire.transport.send(url, init) };
let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ transport });
});
after(() => gateway.close());

const planted = "a kumquat, as planted";
const wordOf = /kumquat, as planted/;
const deny = [{ ...words("none", ["kumquat, as"]), deny: true }];
const redact = [
  { "default.regexReplace": { rule: "/kumquat, as plante[d]|41112222333344[4]/g", redactText: "[cut]" } },
];
const held = (hooks: readonly object[]) => hooks.map((hook) => ({ ...hook, stream_mode: "buffer" }));
const modes = { deny, redact, "deny, held": held(deny), "redact, held": held(redact) };

async function ask(path: string, provider: string, body: object, config: object) {
  const trace = crypto.randomUUID();
  const headers = requestHeaders({
    "x-gateway-provider": provider,
    authorization: "Bearer upstream-credential",
    "x-gateway-trace-id": trace,
    "x-gateway-config": JSON.stringify({ retry: { attempts: 0 }, ...config }),
  });
  const response = await gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, row: await waitForLog(gateway, trace) };
}

const toStream = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } });
const events = (...list: readonly object[]) =>
  list.map((event) => `${"type" in event ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`).join("");

const hello = "Hello there my friend, how are you doing on this day";
const chunk = { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: hello } }] };
const messageStart = {
  type: "message_start",
  message: { id: "m", type: "message", role: "assistant", model: "m", content: [], usage: { input_tokens: 1 } },
};
const messageText = [
  messageStart,
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: hello } },
];
const messageError = { type: "error", error: { type: "overloaded_error", message: planted } };
const candidate = (part: object) => ({ candidates: [{ content: { parts: [part] } }] });

const messages = [{ role: "user", content: "Hi" }];
const chat = ["/v1/chat/completions", { model: "m", messages }] as const;
const chatStream = ["/v1/chat/completions", { model: "m", messages, stream: true }] as const;
const messageStream = ["/v1/messages", { model: "m", max_tokens: 9, messages, stream: true }] as const;
const responseStream = ["/v1/responses", { model: "m", input: "Hi", stream: true }] as const;
const contentList = ["/v1beta/models/m:streamGenerateContent", { contents: [{ parts: [{ text: "Hi" }] }] }] as const;
const imageStream = ["/v1/images/generations", { model: "m", prompt: "Hi", stream: true }] as const;

type Case = readonly [
  name: string,
  asked: readonly [path: string, body: object],
  provider: string,
  answer: () => Response,
];

const cases: readonly Case[] = [
  ["contents as a list", contentList, "google", () => toStream(events(candidate({ text: planted })))],
  ["a list in place of a stream", contentList, "google", () => Response.json([candidate({ text: planted })])],
  [
    "an error in a chat that becomes messages",
    messageStream,
    "deepseek",
    () => toStream(events(chunk, { error: { message: planted } })),
  ],
  [
    "an error in a chat that becomes a response",
    responseStream,
    "deepseek",
    () => toStream(events(chunk, { error: { message: planted } })),
  ],
  [
    "an error in messages that become a chat",
    chatStream,
    "anthropic",
    () => toStream(events(...messageText, messageError)),
  ],
  ["an error in messages", messageStream, "anthropic", () => toStream(events(messageStart, messageError))],
  [
    "an error in contents that become a chat",
    chatStream,
    "google",
    () => toStream(events(candidate({ text: hello }), { error: { code: 500, message: planted } })),
  ],
  ["an error as the first event", chatStream, "openai", () => toStream(events({ error: { message: planted } }))],
  [
    "events of images",
    imageStream,
    "openai",
    () =>
      toStream(events({ type: "image_generation.completed", b64_json: "AAAA", revised_prompt: planted, usage: {} })),
  ],
  ["an error with status 200", chat, "openai", () => Response.json({ error: { message: planted } })],
  ["HTML", chat, "openai", () => new Response(`<p>${planted}`, { headers: { "content-type": "text/html" } })],
  [
    "HTML of an error",
    chat,
    "openai",
    () => new Response(`<p>${planted}`, { status: 500, headers: { "content-type": "text/html" } }),
  ],
  [
    "a stream that breaks off",
    chatStream,
    "openai",
    () => toStream(events(chunk, { ...chunk, choices: [{ index: 0, delta: { content: planted } }] })),
  ],
  [
    "lines that end with CR LF",
    chatStream,
    "openai",
    () =>
      toStream(`: ${planted}\r\n\r\nevent: ${planted}\r\ndata: ${JSON.stringify(chunk)}\r\n\r\ndata: [DONE]\r\n\r\n`),
  ],
  [
    "data of several lines",
    chatStream,
    "openai",
    () => toStream(`data: ${JSON.stringify(chunk).slice(0, -1)},\ndata: "x":"${planted}"}\n\ndata: [DONE]\n\n`),
  ],
  [
    "what follows the end",
    chatStream,
    "openai",
    () => toStream(`${events(chunk)}data: [DONE]\n\ndata: {"x":"${planted}"}\n\n: ${planted}\n\n`),
  ],
  [
    "fields that nobody knows",
    chatStream,
    "openai",
    () => toStream(`retry: ${planted}\nfoo: ${planted}\n${events(chunk)}data: [DONE]\n\n`),
  ],
];

for (const [name, [path, body], provider, answer] of cases) {
  for (const [mode, hooks] of Object.entries(modes)) {
    test(`${name}: ${mode} leaves nothing for the client and the row`, async () => {
      wire.answer = answer;
      const { status, text, row } = await ask(path, provider, body, { output_guardrails: hooks });
      assert.doesNotMatch(text, wordOf, `${status} ${text}`);
      assert.doesNotMatch(JSON.stringify(row), wordOf);
    });
  }
}

test("numbers in the arguments of a call are read, and stay numbers where something is found in them", async () => {
  const called = candidate({ functionCall: { name: "f", args: { card: 411122223333444, deep: [{ er: 7 }] } } });
  const body = { contents: [{ parts: [{ text: "Hi" }] }] };
  wire.answer = () => Response.json(called);
  const whole = await ask("/v1beta/models/m:generateContent", "google", body, { output_guardrails: redact });
  assert.deepEqual(JSON.parse(whole.text).candidates, [
    candidate({ functionCall: { name: "f", args: { card: 999999999999999, deep: [{ er: 7 }] } } }).candidates[0],
  ]);
  const denial = [{ ...words("none", ["411122223333444"]), deny: true }];
  const denied = await ask("/v1beta/models/m:generateContent", "google", body, { output_guardrails: denial });
  assert.equal(denied.status, 446);
  wire.answer = () => toStream(events(called));
  const path = "/v1beta/models/m:streamGenerateContent?alt=sse";
  const stream = await ask(path, "google", body, { output_guardrails: redact });
  assert.match(stream.text, /"card":9{15}[^0-9]/);
  assert.doesNotMatch(JSON.stringify(stream.row), /411122223333444/);
});

test("the row of a changed response with images holds no image", async () => {
  const image = "iVBORw0KGgo".repeat(2_000);
  wire.answer = () => Response.json({ created: 1, data: [{ b64_json: image, revised_prompt: planted }] });
  const body = { model: "m", prompt: "Hi" };
  const { text, row } = await ask("/v1/images/generations", "openai", body, { output_guardrails: redact });
  assert.deepEqual(JSON.parse(text).data, [{ b64_json: image, revised_prompt: "a [cut]" }]);
  assert.match(JSON.stringify(row.response.body), /\(22000 characters\).*a \[cut\]/);
});

test("a response from the cache is checked like the one that was stored", async () => {
  const annotations = [{ type: "url_citation", url_citation: { title: planted, url: "https://x.test/a" } }];
  const message = { role: "assistant", content: "It opens.", annotations };
  wire.answer = () => Response.json({ id: "c", choices: [{ index: 0, message, finish_reason: "stop" }] });
  const config = { cache: { mode: "simple" }, output_guardrails: redact };
  for (const wanted of ["MISS", "HIT"]) {
    const { headers, text, row } = await ask(...([chat[0], "openai", chat[1]] as const), config);
    assert.equal(headers.get("x-gateway-cache-status"), wanted);
    assert.match(text, /"title":"a \[cut\]"/);
    assert.doesNotMatch(JSON.stringify(row), wordOf);
  }
});

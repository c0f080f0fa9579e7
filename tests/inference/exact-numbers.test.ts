import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call, done } from "../support/control.ts";
import {
  chat,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  requestHeaders,
  upstreamHeaders,
  workspaceKey,
} from "../support/gateway.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const large = "1234567890123456789";
/** Its value after a plain JSON round trip. */
const rounded = String(Number(large));
const message = (content: string | null, more: object = {}) => ({ role: "assistant", content, ...more });
const answerOf = (one: object) =>
  JSON.stringify({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: one, finish_reason: "stop" }],
    usage: { prompt_tokens: 1 },
  });

let answer = answerOf(message("Hi"));
let type = "application/json";
const upstream = await startRecordingUpstream((_request, response) => {
  response.setHeader("content-type", type);
  response.end(answer);
});
const gateway = await createTestGateway();
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** Sends a body, and returns the response and what the upstream received. */
async function send(path: string, text: string, headers: HeaderChanges = {}) {
  upstream.requests.length = 0;
  const sent = requestHeaders({ ...upstreamHeaders(upstream), ...headers });
  const response = await gateway.fetch(path, { method: "POST", headers: sent, body: text });
  return { status: response.status, text: await response.text(), got: upstream.requests[0]?.text ?? "" };
}

const chatText = (members: string, content = "Hello") =>
  `{"model":"m","messages":[{"role":"user","content":${JSON.stringify(content)}}],${members}}`;
const path = "/v1/chat/completions";
const padding = "x".repeat(4_000);

for (const [what, digits] of [
  ["a 64-bit integer", large],
  ["the largest 64-bit integer", "9223372036854775807"],
  ["a negative integer", "-1234567890123456789"],
  ["the first integer that cannot be held", "9007199254740993"],
  ["an integer that can be held", "9007199254740992"],
  ["an integer of 40 digits", "1234567890123456789012345678901234567891"],
  ["an integer with an exponent", "12345678901234567891e5"],
  ["a small fraction", "0.1234567890123456"],
] as const) {
  for (const [size, content] of [
    ["short", "Hello"],
    ["long", padding],
  ] as const) {
    test(`${what} is sent as written in a ${size} body`, async () => {
      const { status, text, got } = await send(path, chatText(`"extra":{"list":[1,${digits},2]}`, content));
      assert.equal(status, 200, text);
      assert.ok(got.includes(`[1,${digits},2]`), got.slice(-200));
    });
  }
}

for (const [seed, wanted] of [
  ["9223372036854775807", 200],
  ["9223372036854775808", 400],
  ["9223372036854775809", 400],
  ["9223372036854776000", 400],
  ["1e19", 400],
  ["-9223372036854775807", 200],
  ["-9223372036854775808", 200],
  ["-9223372036854775809", 400],
  ["-9223372036854776000", 400],
] as const) {
  for (const [route, body] of [
    [path, (members: string) => chatText(members)],
    [path, (members: string) => chatText(members, padding)],
    ["/v1/completions", (members: string) => `{"model":"m","prompt":"Hello",${members}}`],
  ] as const) {
    test(`the seed ${seed} of ${body('"a":1').length} characters for ${route} leads to ${wanted}`, async () => {
      // a number beside it that shares its nearest double
      const { status, text, got } = await send(route, body(`"seed":${seed},"extra":9223372036854775806`));
      assert.equal(status, wanted, text);
      if (wanted === 400) assert.match(text, /"param":"seed"/);
      else assert.match(got, new RegExp(`"seed":${seed}[,}]`));
    });
  }
}

test("consecutive integers that share their nearest double stay distinct", async () => {
  const ids = Array.from({ length: 2_000 }, (_, index) => `12345678901234${String(56_000 + index)}`);
  const { status, text, got } = await send(path, chatText(`"ids":[${ids.join(",")}]`));
  assert.equal(status, 200, text);
  assert.ok(got.includes(`[${ids.join(",")}]`));
});

test("a string that mentions the rounded number is preserved", async () => {
  const said = `${large} became ${rounded}, not 1e+21 or ${Number(large) - 256}`;
  const { got } = await send(path, chatText(`"extra":[${large},${rounded}]`, said));
  assert.ok(got.includes(JSON.stringify(said)), got);
  assert.ok(got.includes(`[${large},${rounded}]`), got);
});

for (const [what, digits] of [
  ["1e999", "1e999"],
  ["-1e999", "-1E+999"],
  ["an integer of 400 digits", "9".repeat(400)],
] as const) {
  for (const [size, content] of [
    ["short", "Hello"],
    ["long", padding],
  ] as const) {
    test(`${what} is refused by name in a ${size} body`, async () => {
      const { status, text } = await send(path, chatText(`"extra":{"a":[1,${digits}]}`, content));
      assert.equal(status, 400, text);
      assert.match(text, /"param":"extra\.a\.1"/);
      assert.match(text, /must be a finite number/);
    });
  }
}

for (const [size, content] of [
  ["short", "Hello"],
  ["long", padding],
] as const) {
  test(`a number of more than 1024 digits is refused before it is parsed in a ${size} body`, async () => {
    for (const digits of ["9".repeat(2_000), `1e${"0".repeat(2_000)}1`, `${"9".repeat(20)}.${"1".repeat(1_010)}`]) {
      const { status, text } = await send(path, chatText(`"extra":${digits}`, content));
      assert.equal(status, 400, text);
      assert.match(text, /it has a number of more than 1024 digits/);
    }
  });
}

test("a text that writes the rounded number in escapes stays as it is", async () => {
  const written = `\\u0031${rounded.slice(1)}`;
  answer = JSON.stringify({
    id: "a",
    type: "message",
    role: "assistant",
    stop_reason: "end_turn",
    usage: {},
    content: [{ type: "tool_use", id: "t", name: "f", input: { a: "large", b: "written" } }],
  })
    .replace('"large"', large)
    .replace("written", written);
  const { text } = await send("/v1/chat/completions", chatText('"max_tokens":9'), {
    "x-gateway-provider": "anthropic",
  });
  answer = answerOf(message("Hi"));
  assert.ok(text.includes(String.raw`{\"a\":${large},\"b\":\"${rounded}\"}`), text);
});

test("numbers with leading zeros are still invalid JSON", async () => {
  for (const digits of ["01234567890123456789", "-01234567890123456789", "00e999", "1234567890123456789e"]) {
    assert.equal((await send(path, chatText(`"extra":${digits}`))).status, 400, digits);
  }
});

test("parameters of a config in a header are sent as written", async () => {
  const config = `{"provider":"openai","custom_host":"${upstream.url}/v1","api_key":"fake","override_params":{"seed":${large}}}`;
  const headers = { "x-gateway-config": config, "x-gateway-provider": null, "x-gateway-custom-host": null };
  const { status, text, got } = await send(path, chatText(`"extra":9007199254740993`), headers);
  assert.equal(status, 200, text);
  assert.ok(got.includes(`"seed":${large}`), got);
  assert.ok(got.includes('"extra":9007199254740993'), got);
});

test("a config with a number that is not finite is refused", async () => {
  const config = '{"provider":"openai","override_params":{"seed":1e999}}';
  const { status } = await send(path, chatText('"a":1'), { "x-gateway-config": config });
  assert.equal(status, 400);
});

for (const form of ["an object", "a text"] as const) {
  test(`parameters of a config saved as ${form} are preserved as written`, async () => {
    const host = `"custom_host":"${upstream.url}/v1"`;
    const config = `{"provider":"openai","api_key":"fake-provider-key",${host},"override_params":{"seed":${large}}}`;
    const headers = requestHeaders({ "x-gateway-api-key": workspaceKey });
    const body = `{"name":"exact ${form}","config":${form === "a text" ? JSON.stringify(config) : config}}`;
    const response = await gateway.fetch("/v1/configs", { method: "POST", headers, body });
    const made: { id: string; slug?: string; data?: { slug: string } } = JSON.parse(await response.text());
    assert.equal(response.status, 200, JSON.stringify(made));
    const slug = made.slug ?? made.data?.slug ?? "";
    const shown = await done<{ config: string }>(call(gateway, `GET /configs/${slug}`, { key: workspaceKey }));
    assert.ok(shown.config.includes(large), shown.config);
    const own = { "x-gateway-custom-host": null, "x-gateway-provider": null, authorization: null };
    const { got, text } = await send(path, chatText('"a":1'), { ...own, "x-gateway-config": slug });
    assert.ok(got.includes(`"seed":${large}`), got + text);
  });
}

const tool = { type: "function", function: { name: "find", parameters: { type: "object" } } };

test("tool arguments are preserved as written when a dialect is converted, in both directions", async () => {
  const call = {
    id: "call_1",
    type: "function",
    function: { name: "find", arguments: `{"id": ${large}, "key":"${large}"}` },
  };
  answer = answerOf(message(null, { tool_calls: [call] }));
  const body =
    `{"model":"m","max_tokens":9,"tools":[{"name":"find","input_schema":{"type":"object","maximum":${large}}}],"messages":[` +
    `{"role":"user","content":"Hello"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"find",` +
    `"input":{"id":${large}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}]}`;
  const { status, text, got } = await send("/v1/messages", body);
  assert.equal(status, 200, text);
  assert.ok(got.includes(`{\\"id\\":${large}}`), got);
  assert.ok(got.includes(`"maximum":${large}`), got);
  assert.ok(text.includes(`"input":{"id":${large},"key":"${large}"}`), text);
  assert.ok(!text.includes(rounded) && !got.includes(rounded));
});

test("tool arguments are sent as a value to a provider that expects one", async () => {
  answer = JSON.stringify({
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    stop_reason: "tool_use",
    usage: { input_tokens: 1, output_tokens: 1 },
    content: [{ type: "tool_use", id: "t1", name: "find", input: { id: 0 } }],
  }).replace('"id":0', `"id":${large}`);
  const made = { id: "call_1", type: "function", function: { name: "find", arguments: `{"id":${large}}` } };
  const messages = [
    { role: "user", content: padding },
    message(null, { tool_calls: [made] }),
    { role: "tool", tool_call_id: "call_1", content: "ok" },
  ];
  const body = JSON.stringify({ model: "m", max_tokens: 9, tools: [tool], messages });
  const headers = { "x-gateway-provider": "anthropic" };
  const { status, text, got } = await send(path, body, headers);
  assert.equal(status, 200, text);
  assert.ok(got.includes(`"input":{"id":${large}}`), got.slice(-400));
  assert.ok(text.includes(`{\\"id\\":${large}}`), text);
});

test("numbers in converted events are preserved as written", async () => {
  type = "text/event-stream";
  const part = `{"functionCall":{"name":"find","args":{"id":${large}}}}`;
  answer = `data: {"candidates":[{"content":{"role":"model","parts":[${part}]},"finishReason":"STOP"}],"responseId":"r","modelVersion":"m"}\n\n`;
  const headers = { "x-gateway-provider": "google", "x-gateway-custom-host": `${upstream.url}/v1beta` };
  const { status, text } = await send(path, JSON.stringify({ ...helloBody, stream: true, tools: [tool] }), headers);
  type = "application/json";
  assert.equal(status, 200, text);
  assert.ok(text.includes(`{\\"id\\":${large}}`), text);
});

test("a response in the shape of the route is forwarded unchanged", async () => {
  answer = answerOf(message("Hi")).replace('"created":1', `"created":1,"trace":${large},"far":1e999`);
  const response = await chat(gateway, helloBody, upstreamHeaders(upstream));
  assert.ok((await response.text()).includes(`"trace":${large},"far":1e999`));
});

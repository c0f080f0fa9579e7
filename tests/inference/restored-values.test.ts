import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, type TestGateway, waitForLog } from "../support/gateway.ts";
import { askGuarded, type GuardedRequest } from "../support/guarded.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const transport: Transport = { send: (url, init) => wire.transport.send(url, init) };
let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ transport });
});
after(() => gateway.close());

const key = "-----BEGIN PRIVATE KEY-----\nMIIBVQ\n-----END PRIVATE KEY-----";
const mail = "jo@example.com";
const words = `I am ${mail}, my key is ${key}`;
const masked = "I am {{EMAIL_ADDRESS_1}}, my key is {{PRIVATE_KEY_1}}";
const hooks = [
  { "gateway.pii": { redact: true, restore: true } },
  { "default.secrets": { redact: true, restore: true } },
];
const config = { input_guardrails: hooks };

/** What the model writes: a text, and the arguments of a call. */
const said = "To {{EMAIL_ADDRESS_1}}: {{PRIVATE_KEY_1}}, {{EMAIL_ADDRESS_2}}, {{ not one } {{EMAIL_ADDRESS_1}}";
const args = '{"to":"{{EMAIL_ADDRESS_1}}","key":"{{PRIVATE_KEY_1}}","other":"{{EMAIL_ADDRESS_9}}"}';
const restoredText = `To ${mail}: ${key}, {{EMAIL_ADDRESS_2}}, {{ not one } ${mail}`;
const restoredArgs = { to: mail, key, other: "{{EMAIL_ADDRESS_9}}" };

const call = (name: object) => [{ index: 0, id: "call_1", type: "function", function: name }];
const whole = {
  id: "c",
  object: "chat.completion",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: said, tool_calls: call({ name: "send", arguments: args }) },
      finish_reason: "tool_calls",
    },
  ],
};

const cut = (text: string, length: number): string[] => text.match(new RegExp(`[^]{1,${length}}`, "g")) ?? [];

/** The same as a stream, in pieces of a length. */
function streamOf(length: number): string {
  const deltas = [
    ...cut(said, length).map((content) => ({ content })),
    { tool_calls: call({ name: "send", arguments: "" }) },
    ...cut(args, length).map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
  ];
  const chunk = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  return `${deltas.map((delta) => chunk(delta, null)).join("")}${chunk({}, "tool_calls")}data: [DONE]\n\n`;
}

function answer(length?: number): void {
  wire.answer = () =>
    length === undefined
      ? Response.json(whole)
      : new Response(streamOf(length), { headers: { "content-type": "text/event-stream" } });
}

const parameters = { type: "object", properties: {} };
const functionTool = { type: "function", function: { name: "send", parameters } };

/** A request of each API, and where its response has what a model writes. */
const routes: Readonly<Record<string, { path: (stream: boolean) => string; body: object }>> = {
  chat: {
    path: () => "/v1/chat/completions",
    body: { messages: [{ role: "user", content: words }], tools: [functionTool] },
  },
  messages: {
    path: () => "/v1/messages",
    body: {
      max_tokens: 9,
      messages: [{ role: "user", content: words }],
      tools: [{ name: "send", input_schema: parameters }],
    },
  },
  responses: {
    path: () => "/v1/responses",
    body: { input: words, store: false, messages: undefined, tools: [{ type: "function", name: "send", parameters }] },
  },
  gemini: {
    path: (stream) => `/v1beta/models/m:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: {
      model: undefined,
      messages: undefined,
      contents: [{ role: "user", parts: [{ text: words }] }],
      tools: [{ functionDeclarations: [{ name: "send" }] }],
    },
  },
};

type Members = Record<string, unknown>;

/** Names of members with text, and with arguments. */
const textNames = ["content", "text"];
const argumentNames = ["arguments", "partial_json", "args", "input"];

/** The strings and objects of some members of a value, in order. */
function collect(value: unknown, names: readonly string[]): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => collect(item, names));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    names.includes(name) && (typeof inner === "string" || !names.includes("text")) ? [inner] : collect(inner, names),
  );
}

/** What a response says: its text, and the arguments of its call. */
function readSaid(name: string, events: readonly unknown[]): { text: string; call: unknown } {
  const isStream = events.length > 1;
  const shown =
    name !== "responses" || !isStream
      ? events
      : events.filter((event) => String((event as Members).type).endsWith("delta")).map(toNamed);
  const strings = (names: readonly string[]) => collect(shown, names).filter((one) => one !== null && one !== "");
  const given = strings(argumentNames).filter((one) => typeof one === "string" || Object.keys(Object(one)).length > 0);
  const whole = given.find((one) => typeof one === "object");
  return { text: strings(textNames).join(""), call: whole ?? JSON.parse(given.join("")) };
}

/** An event of the Responses API with the names of the others. */
const toNamed = (event: unknown): unknown => {
  const { type, delta } = event as Members;
  return String(type).includes("arguments") ? { arguments: delta } : { text: delta };
};

const ask = (asked: GuardedRequest, guards: object = config) =>
  askGuarded(gateway, guards, {
    ...asked,
    headers: { "x-gateway-provider": "deepseek", authorization: "Bearer upstream-credential" },
  });

for (const [name, { path, body }] of Object.entries(routes)) {
  for (const length of [undefined, 1, 7, 1_000]) {
    const form = length === undefined ? "a whole response" : `a stream in pieces of ${length}`;
    test(`values come back in text and arguments: ${name}, ${form}`, async () => {
      answer(length);
      const isStream = length !== undefined;
      const found = await ask({
        path: path(isStream),
        body: { ...body, ...(isStream && name !== "gemini" && { stream: true }) },
      });
      assert.ok(JSON.stringify(wire.init?.body).includes(masked), String(wire.init?.body));
      const events = isStream ? found.events.map(({ data }) => data) : [found.body];
      assert.deepEqual(readSaid(name, events), { text: restoredText, call: restoredArgs });
      const row = await waitForLog(gateway, found.trace);
      const logged = JSON.stringify(row);
      assert.ok(!logged.includes(mail) && !logged.includes("MIIBVQ"), logged);
      assert.match(logged, /\{\{EMAIL_ADDRESS_1\}\}/);
    });
  }
}

test("a response that repeats the whole at the end of its stream has the values there too", async () => {
  answer(5);
  const { events } = await ask({ path: "/v1/responses", body: { ...routes.responses?.body, stream: true } });
  const { data } = events.at(-1) ?? assert.fail();
  assert.deepEqual(readSaid("responses", [data]), { text: restoredText, call: restoredArgs });
});

test("values stay out of a response when the check does not restore them", async () => {
  answer(3);
  const guards = { input_guardrails: [{ "gateway.pii": { redact: true } }] };
  const { events } = await ask({ body: { messages: [{ role: "user", content: mail }], stream: true } }, guards);
  assert.equal(
    readSaid(
      "chat",
      events.map(({ data }) => data),
    ).text,
    said,
  );
});

test("a placeholder that the request came with, such as one of an earlier request, is never restored", async () => {
  answer();
  const messages = [
    { role: "assistant", content: "I wrote to {{EMAIL_ADDRESS_1}}" },
    { role: "user", content: `Now to ${mail}` },
  ];
  const found = await ask({ body: { messages } });
  assert.match(String(wire.init?.body), /Now to \{\{EMAIL_ADDRESS_2\}\}/);
  assert.match(readSaid("chat", [found.body]).text, /^To \{\{EMAIL_ADDRESS_1\}\}: .* jo@example\.com, /);
});

test("requests at the same time restore their own values", async () => {
  const sent: string[] = [];
  wire.answer = () => {
    sent.push(String(wire.init?.body));
    return Response.json(whole);
  };
  const numbers = [...Array(8).keys()];
  const found = await Promise.all(
    numbers.map((number) => ask({ body: { messages: [{ role: "user", content: `I am user${number}@example.com` }] } })),
  );
  for (const number of numbers) {
    const text = found[number]?.text ?? "";
    assert.deepEqual(new Set(text.match(/user\d@/g)), new Set([`user${number}@`]));
  }
  assert.equal(sent.filter((body) => body.includes("example.com")).length, 0);
});

test("a response from the cache gets the values of the request that asks for it", async () => {
  answer();
  const cached = { ...config, cache: { mode: "simple" } };
  const asked = (user: string) =>
    ask({ body: { messages: [{ role: "user", content: `cached: ${user}@example.com` }] } }, cached);
  const first = await asked("ann");
  const second = await asked("ben");
  assert.deepEqual(
    [first, second].map(({ headers }) => headers.get("x-gateway-cache-status")),
    ["MISS", "HIT"],
  );
  assert.match(second.text, /To ben@example\.com/);
  assert.doesNotMatch(second.text, /ann@/);
});

test("matches of regexReplace get a placeholder each, and come back", async () => {
  wire.answer = () =>
    Response.json({
      choices: [{ index: 0, message: { role: "assistant", content: "{{REDACTED_2}} {{REDACTED_1}}" } }],
    });
  const guards = { input_guardrails: [{ "default.regexReplace": { rule: "/case-\\d+/g", restore: true } }] };
  const found = await ask({ body: { messages: [{ role: "user", content: "case-11 case-22 case-11" }] } }, guards);
  assert.match(String(wire.init?.body), /\{\{REDACTED_1\}\} \{\{REDACTED_2\}\} \{\{REDACTED_1\}\}/);
  assert.match(found.text, /"content":"case-22 case-11"/);
});

for (const length of [undefined, 4]) {
  test(`JSON that was asked for stays JSON: ${length === undefined ? "whole" : "streamed"}`, async () => {
    const content = '{"key":"{{PRIVATE_KEY_1}}"}';
    const chunks = cut(content, 4).map((piece) => ({ choices: [{ index: 0, delta: { content: piece } }] }));
    const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    const stream = [...chunks, end].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
    wire.answer = () =>
      length === undefined
        ? Response.json({ choices: [{ index: 0, message: { role: "assistant", content } }] })
        : new Response(`${stream}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
    const messages = [{ role: "user", content: `${words} as JSON` }];
    const stated = length === undefined ? {} : { stream: true };
    const found = await ask({ body: { messages, response_format: { type: "json_object" }, ...stated } });
    const events = length === undefined ? [found.body] : found.events.map(({ data }) => data);
    assert.deepEqual(JSON.parse(collect(events, textNames).join("")), { key });
  });
}

test("output guardrails see and deny what the model wrote, and what they replace stays replaced", async () => {
  wire.answer = () =>
    Response.json({
      choices: [{ index: 0, message: { role: "assistant", content: `{{EMAIL_ADDRESS_1}} new@example.org` } }],
    });
  const guards = { ...config, output_guardrails: [{ "gateway.pii": { redact: true } }] };
  const found = await ask({ body: { messages: [{ role: "user", content: mail }] } }, guards);
  assert.match(found.text, /"content":"jo@example\.com \{\{EMAIL_ADDRESS_2\}\}"/);
});

for (const [title, guards, message] of [
  ["without redact", { input_guardrails: [{ "gateway.pii": { restore: true } }] }, /restore without redact/],
  ["without redact", { input_guardrails: [{ "default.secrets": { restore: true } }] }, /restore without redact/],
  [
    "with redactText",
    { input_guardrails: [{ "default.regexReplace": { rule: "a", restore: true, redactText: "b" } }] },
    /both redactText and restore/,
  ],
  ["at a partner", { input_guardrails: [{ "pangea.pii": { redact: true, restore: true } }] }, /does not number/],
  ["after the call", { output_guardrails: [{ "gateway.pii": { redact: true, restore: true } }] }, /after the call/],
] as const) {
  test(`restore is refused ${title}: ${Object.keys(Object.values(guards)[0]?.[0] ?? {})[0]}`, async () => {
    const found = await ask({}, guards);
    assert.equal(found.status, 400);
    assert.match(String(found.body.error?.message), message);
  });
}

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject, parseJson } from "../../src/lib/json.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { readEvents } from "../../src/lib/sse.ts";
import { type AnswerShape, answerShapes } from "../support/answer-shapes.ts";
import { createTestGateway, requestHeaders, type TestGateway, waitForLog } from "../support/gateway.ts";
import { words } from "../support/guarded.ts";
import { isWhole, sample } from "../support/sample.ts";
import { createWire } from "../support/wire.ts";

/** A third of the shapes, unless the run is whole. */
const shapes = sample(answerShapes, 3);

const wire = createWire();
const transport: Transport = { send: (url, init) => wire.transport.send(url, init) };
let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ transport });
});
after(() => gateway.close());

const planted = "a kumquat, as planted";
/** What docs/guardrails.md lists as not read in responses: keywords, ids, and what only the provider reads. */
const notRead =
  /^(?:id|type|role|object|status|model|modelVersion|phase|format|output_format|language|task|mimeType|mime_type|media_type|finish_reason|finishReason|stop_reason|service_tier|system_fingerprint|obfuscation|outcome|urlRetrievalStatus)$|(?:_id|Id)$/;

/** The value with the planted words in one of its strings, or in the name of a member that a model chose. */
function* plantIn(value: unknown, name = "", isOwn = false): Iterable<readonly [at: string, value: unknown]> {
  if (typeof value === "string") {
    if (!notRead.test(name)) yield [name, plantIn.text];
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const [at, one] of plantIn(item, name, isOwn)) yield [`${index}.${at}`, value.with(index, one)];
  } else if (isObject(value)) {
    const isNamed = isOwn || name === "input" || name === "args";
    for (const [key, inner] of Object.entries(value)) {
      for (const [at, one] of plantIn(inner, key, isNamed)) yield [`${key}.${at}`, { ...value, [key]: one }];
      if (!isNamed) continue;
      const { [key]: _, ...others } = value;
      yield [`(name of ${key})`, { ...others, [plantIn.text]: inner }];
    }
    // members that nobody knows
    const member = name === "metadata" ? plantIn.text : { deep: [plantIn.text] };
    yield ["(new member)", { ...value, some_new_member: member }];
  }
}
plantIn.text = planted;

const encode = (events: readonly object[], { name }: AnswerShape): string =>
  events
    .map((event) => {
      const { type } = Object(event);
      const isNamed = name === "messages" || name === "responses";
      return `${isNamed ? `event: ${type}\n` : ""}data: ${JSON.stringify(event)}\n\n`;
    })
    .join("") + (name === "chat" || name === "complete" ? "data: [DONE]\n\n" : "");

const toStream = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } });

async function ask(shape: AnswerShape, config: object, isStream: boolean) {
  const path = isStream ? (shape.streamPath ?? shape.path) : shape.path;
  const trace = crypto.randomUUID();
  const isForm = shape.name === "transcription";
  const headers = requestHeaders({
    "x-gateway-provider": shape.provider,
    authorization: "Bearer upstream-credential",
    "x-gateway-trace-id": trace,
    "x-gateway-config": JSON.stringify({ retry: { attempts: 0 }, ...config }),
    ...(isForm && { "content-type": null }),
  });
  const form = new FormData();
  form.append("model", "m");
  form.append("file", new Blob(["a"]), "a.wav");
  const body = JSON.stringify({ ...shape.request, ...(isStream && shape.streamRequest) });
  const request = new Request(`http://gateway.test${path}`, { method: "POST", headers, body: isForm ? form : body });
  const response = await gateway.gateway.fetch(request);
  return { status: response.status, text: await response.text(), trace };
}

const wordOf = /kumquat, as planted/;
const modes = {
  deny: [{ ...words("none", ["kumquat, as"]), deny: true }],
  "deny, held": [{ ...words("none", ["kumquat, as"]), deny: true, stream_mode: "buffer" }],
  redact: [{ "default.regexReplace": { rule: "/kumquat, as plante[d]/g", redactText: "[cut]" } }],
  "redact, held": [
    { "default.regexReplace": { rule: "/kumquat, as plante[d]/g", redactText: "[cut]" }, stream_mode: "buffer" },
  ],
};

for (const shape of shapes) {
  for (const [mode, hooks] of Object.entries(modes)) {
    const isDenial = mode.startsWith("deny");
    const check = async (made: Response, at: string, isStream: boolean) => {
      wire.answer = () => made;
      const { status, text, trace } = await ask(shape, { output_guardrails: hooks }, isStream);
      const shown = `${shape.name} ${isStream ? "stream" : "whole"}, ${mode}, ${at}: ${status} ${text}`;
      assert.doesNotMatch(text, wordOf, shown);
      if (isDenial && !isStream) assert.equal(status, 446, shown);
      if (isDenial && isStream) assert.match(text, /hooks_failed|guardrail denied/, shown);
      // tokens are left out, and so is what a stream that is written anew has no place for
      const isLeftOut = /logprobs/.test(at) || (isStream && mode === "redact, held");
      // text that should be JSON and is not has no place for a replacement
      const isBroken = isStream && /(?:arguments|partial_json|delta)$/.test(at);
      if (!isDenial) assert.equal(status, 200, shown);
      if (!isDenial && !isLeftOut && !isBroken) assert.ok(text.includes("[cut]"), shown);
      return trace;
    };

    if (!mode.endsWith("held")) {
      test(`${shape.name}: ${mode} reaches every string of a whole response, and its row`, async () => {
        const traces: string[] = [];
        for (const [at, value] of sample([...plantIn(shape.whole)], 4))
          traces.push(await check(Response.json(value), at, false));
        assert.ok(traces.length > (isWhole ? 3 : 0), `${traces.length} places`);
        for (const trace of traces) {
          const row = await waitForLog(gateway, trace);
          assert.doesNotMatch(JSON.stringify(row), wordOf);
        }
      });
    }

    const { events } = shape;
    if (events) {
      test(`${shape.name}: ${mode} reaches every string of a stream, and its row`, async () => {
        const traces: string[] = [];
        for (const [index, event] of events.entries()) {
          for (const [at, value] of sample([...plantIn(event)], 6)) {
            const made = events.with(index, value as object);
            traces.push(await check(toStream(encode(made, shape)), `${index}.${at}`, true));
          }
        }
        assert.ok(traces.length > (isWhole ? 3 : 0), `${traces.length} places`);
        for (const trace of traces) {
          const row = await waitForLog(gateway, trace);
          assert.doesNotMatch(JSON.stringify(row), wordOf);
        }
      });

      test(`${shape.name}: ${mode} lets no other lines of a stream through`, async () => {
        const clean = encode(events, shape);
        const others = [
          `: ${planted}\n\n`,
          `id: ${planted}\n`,
          `event: ${planted}\n`,
          `${planted}\n\n`,
          `data: ${planted}\n\n`,
        ];
        for (const [index, line] of [
          ...others,
          `data: ["${planted}"]\n\n`,
          `data: {"error":{"message":"${planted}"}}\n\n`,
        ].entries()) {
          const end = clean.indexOf("\n\n") + 2;
          wire.answer = () => toStream(clean.slice(0, end) + line + clean.slice(end));
          const { text, trace } = await ask(shape, { output_guardrails: hooks }, true);
          assert.doesNotMatch(text, wordOf, `${index} ${line}`);
          assert.doesNotMatch(JSON.stringify(await waitForLog(gateway, trace)), wordOf);
        }
      });
    }

    test(`${shape.name}: ${mode} reaches the provider's errors`, async () => {
      const bodies = [
        { error: { message: planted, type: "a_type", code: "a_code" } },
        { error: { message: "No", details: [{ reason: planted }] } },
        { error: { message: "No", type: planted, param: planted, code: planted } },
      ];
      for (const body of bodies) {
        wire.answer = () => Response.json(body, { status: 400 });
        const { status, text, trace } = await ask(shape, { output_guardrails: hooks }, false);
        assert.equal(status, 400);
        assert.doesNotMatch(text, wordOf);
        assert.doesNotMatch(JSON.stringify(await waitForLog(gateway, trace)), wordOf);
      }
    });
  }

  test(`${shape.name}: a guardrail that finds nothing leaves a response as it came`, async () => {
    wire.answer = () => Response.json(shape.whole);
    const plain = await ask(shape, {}, false);
    const deny = await ask(shape, { output_guardrails: modes.deny }, false);
    const { hook_results: _, ...body } = JSON.parse(deny.text);
    assert.deepEqual(body, JSON.parse(plain.text));
    const { events } = shape;
    if (!events) return;
    wire.answer = () => toStream(encode(events, shape));
    const stream = await ask(shape, {}, true);
    for (const hooks of Object.values(modes)) {
      const { text } = await ask(shape, { output_guardrails: hooks }, true);
      assert.equal(text, stream.text);
    }
  });
}

/** Keywords and ids of a value, by their places. Those that a model chose are text. */
function* fixedStrings(value: unknown, at = ""): Iterable<string> {
  if (/\b(?:input|args)\b/.test(at)) return;
  const name = at.slice(at.lastIndexOf(".") + 1);
  if (typeof value === "string" && notRead.test(name)) yield `${at}: ${value}`;
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* fixedStrings(item, `${at}.${index}`);
  else if (isObject(value))
    for (const [key, inner] of Object.entries(value)) yield* fixedStrings(inner, `${at}.${key}`);
}

for (const shape of shapes) {
  test(`${shape.name}: a redaction of letters leaves keywords and ids alone`, async () => {
    const hooks = [{ "default.regexReplace": { rule: "/[a-z]/g", redactText: "x" } }];
    wire.answer = () => Response.json(shape.whole);
    const plain = JSON.parse((await ask(shape, {}, false)).text);
    const redacted = JSON.parse((await ask(shape, { output_guardrails: hooks }, false)).text);
    delete redacted.hook_results;
    assert.notDeepEqual(redacted, plain);
    assert.deepEqual([...fixedStrings(redacted)], [...fixedStrings(plain)]);
    const { events } = shape;
    if (!events) return;
    wire.answer = () => toStream(encode(events, shape));
    const readAll = (text: string) =>
      readEvents(text).flatMap(({ event, data }) => [`event: ${event}`, ...fixedStrings(parseJson(data))]);
    const stream = await ask(shape, {}, true);
    const changed = await ask(shape, { output_guardrails: hooks }, true);
    assert.notEqual(changed.text, stream.text);
    assert.deepEqual(readAll(changed.text), readAll(stream.text));
  });
}

/** Streams that become those of another API: from which events, on which route, of which provider. */
const conversions: readonly (readonly [shape: string, path: string, provider: string, request: object])[] = [
  ["chat", "/v1/responses", "deepseek", { model: "m", input: "Hello", stream: true }],
  [
    "chat",
    "/v1/messages",
    "deepseek",
    { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hello" }], stream: true },
  ],
  [
    "messages",
    "/v1/chat/completions",
    "anthropic",
    { model: "m", messages: [{ role: "user", content: "Hello" }], stream: true },
  ],
  ["messages", "/v1/responses", "anthropic", { model: "m", input: "Hello", stream: true }],
  [
    "generateContent",
    "/v1/chat/completions",
    "google",
    { model: "m", messages: [{ role: "user", content: "Hello" }], stream: true },
  ],
  ["generateContent", "/v1/responses", "google", { model: "m", input: "Hello", stream: true }],
];

for (const [name, path, provider, request] of sample(conversions, 3)) {
  const shape = answerShapes.find((one) => one.name === name);
  const events = shape?.events ?? [];
  for (const [mode, hooks] of Object.entries(modes)) {
    test(`${name} as ${path}: ${mode} leaves nothing in a converted stream, nor in its row`, async () => {
      const converted = { ...(shape ?? assert.fail()), name: path, path, streamPath: path, provider, request };
      const traces: string[] = [];
      for (const [index, event] of events.entries()) {
        for (const [at, value] of sample([...plantIn(event)], 12)) {
          const made = encode(events.with(index, value as object), shape ?? assert.fail());
          wire.answer = () => toStream(made);
          const { text, trace } = await ask(converted, { output_guardrails: hooks }, true);
          assert.doesNotMatch(text, wordOf, `${index}.${at}: ${text}`);
          traces.push(trace);
        }
      }
      for (const trace of traces) assert.doesNotMatch(JSON.stringify(await waitForLog(gateway, trace)), wordOf);
    });
  }
}

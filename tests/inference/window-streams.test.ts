import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { unboundedWindow } from "../../src/guardrails/tenant-patterns.ts";
import { parseJson } from "../../src/lib/json.ts";
import { readEvents } from "../../src/lib/sse.ts";
import { createRandom, createTestGateway, requestHeaders, type TestGateway, waitForLog } from "../support/gateway.ts";
import {
  joinTexts,
  type PlantedPart,
  plantedResponse,
  plantedValues,
  redactions,
  type StreamDialect,
  streamDialects,
  toEvents,
} from "../support/planted-streams.ts";
import { isWhole, sampleSeed } from "../support/sample.ts";
import { eventually, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** How the upstream answers, how many of its streams were given up, and when the last one was. */
let serve: (response: ServerResponse) => unknown = () => {};
let givenUp = 0;
let givenUpAt = 0;

before(async () => {
  gateway = await createTestGateway();
  upstream = await startRecordingUpstream((_, response) => {
    response.on("close", () => {
      if (response.writableFinished) return;
      givenUp++;
      givenUpAt = performance.now();
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    return serve(response);
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const routes: Record<StreamDialect, [path: string, provider: string, base: string, body: object]> = {
  chat: ["/v1/chat/completions", "openai", "/v1", { messages: [{ role: "user", content: "hi" }] }],
  messages: ["/v1/messages", "anthropic", "/v1", { max_tokens: 9, messages: [{ role: "user", content: "hi" }] }],
  responses: ["/v1/responses", "openai", "/v1", { input: "hi" }],
  gemini: ["/v1beta/models/m:streamGenerateContent?alt=sse", "google", "", { contents: [{ parts: [{ text: "hi" }] }] }],
};

/** JSON as headers may hold it. */
const toAscii = (json: string): string =>
  json.replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Asks for a stream of the upstream's under a config. */
async function open(
  dialect: StreamDialect,
  config: object,
  { provider = routes[dialect][1], base = routes[dialect][2] } = {},
): Promise<{ response: Response; trace: string }> {
  const [path, , , body] = routes[dialect];
  const trace = crypto.randomUUID();
  const headers = requestHeaders({
    "x-gateway-provider": provider,
    "x-gateway-custom-host": upstream.url + base,
    authorization: "Bearer upstream-credential",
    "x-gateway-trace-id": trace,
    "x-gateway-config": toAscii(JSON.stringify(config)),
  });
  const stream = dialect === "gemini" ? {} : { model: "m", stream: true };
  const request = { method: "POST", headers, body: JSON.stringify({ ...body, ...stream }) };
  return { response: await gateway.gateway.fetch(new Request(`http://gateway.test${path}`, request)), trace };
}

const eventsOf = (text: string) =>
  readEvents(text).map(({ event, data }) => ({ event, data: parseJson(data) ?? data }));

/** Writes bytes in pieces that end anywhere. */
async function writeSplit(response: ServerResponse, text: string, random: () => number): Promise<void> {
  const bytes = Buffer.from(text);
  for (let index = 0; index < bytes.length; ) {
    const length = 1 + Math.floor(random() * 1_500);
    response.write(bytes.subarray(index, index + length));
    index += length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

const redact = redactions.map((rule) => ({ "default.regexReplace": { rule, redactText: '["cut"]' } }));
const deny = { "default.contains": { words: plantedValues, operator: "none" }, deny: true };

const expectedOf = ({ text }: PlantedPart): string =>
  plantedValues.reduce((changed, value) => changed.replaceAll(value, '["cut"]'), text);
const nameOf = ({ part, choice }: PlantedPart): string => `${part} ${choice}`;

/** What a text reads: arguments are JSON. */
function read(name: string, text: string | undefined): unknown {
  return name.startsWith("call") && text !== undefined ? JSON.parse(text) : text;
}

function expectRedacted(dialect: StreamDialect, parts: readonly PlantedPart[], text: string): void {
  const joined = joinTexts(dialect, eventsOf(text));
  for (const part of parts) {
    const name = nameOf(part);
    const wanted = read(name, part.text);
    const expected =
      part.part === "call"
        ? { ...Object(wanted), note: expectedOf({ ...part, text: Object(wanted).note }) }
        : expectedOf(part);
    assert.deepEqual(read(name, joined.get(name)), expected, `${dialect} ${name}`);
  }
  for (const value of plantedValues) assert.ok(!text.includes(value), `${value} is in the stream`);
}

function expectDenied(dialect: StreamDialect, parts: readonly PlantedPart[], text: string): void {
  const events = eventsOf(text);
  const joined = joinTexts(dialect, events);
  for (const part of parts.filter(({ part: kind }) => kind !== "call")) {
    const at = Math.min(
      ...plantedValues.map((value) => part.text.indexOf(value)).map((index) => (index < 0 ? 1e9 : index)),
    );
    const sent = joined.get(nameOf(part)) ?? "";
    assert.ok(part.text.slice(0, at).startsWith(sent), `${dialect}: "${sent}" of "${part.text}"`);
  }
  for (const value of plantedValues) assert.ok(!text.includes(value), `${value} is in the stream`);
  assert.doesNotMatch(text, /\[DONE\]|"message_stop"|"response.completed"/);
  assert.match(JSON.stringify(events.at(-1)?.data), /guardrail denied it/);
}

for (const dialect of streamDialects) {
  test(`${dialect} streams split anywhere show nothing of planted values`, async () => {
    const count = isWhole ? 500 : 40;
    for (let round = 0; round < count; round++) {
      const random = createRandom(sampleSeed * 1_000 + round);
      const number = (round * 7) % 40;
      const parts = plantedResponse(number, dialect);
      const sent = toEvents(dialect, parts, random).join("");
      serve = (response) => writeSplit(response, sent, random);
      const denies = round % 3 === 0;
      const { response } = await open(dialect, { output_guardrails: denies ? [deny] : redact });
      assert.equal(response.status, 200);
      const text = await response.text();
      if (number % 5 === 4) assert.equal(text, sent, "text without matches is unchanged");
      else if (denies) expectDenied(dialect, parts, text);
      else expectRedacted(dialect, parts, text);
    }
  });

  test(`a denial of a ${dialect} stream stops the upstream and is in the log row`, async () => {
    const parts: PlantedPart[] = [{ part: "answer", choice: 0, text: `Fresh kumquat ${"and figs ".repeat(12)}` }];
    const events = toEvents(dialect, parts, createRandom(1));
    const given = givenUp;
    // the upstream goes on for ever
    serve = (response) => void response.write(events.slice(0, -3).join(""));
    const { response, trace } = await open(dialect, { output_guardrails: [deny] });
    expectDenied(dialect, parts, await response.text());
    await eventually(() => givenUp > given, "the upstream's connection is closed");
    const log = await waitForLog(gateway, trace);
    const { hook_results } = log as { hook_results?: { after_request_hooks: { deny: boolean; verdict: boolean }[] } };
    const [result] = hook_results?.after_request_hooks ?? [];
    assert.deepEqual([result?.deny, result?.verdict, log.status], [true, false, 446]);
    assert.doesNotMatch(JSON.stringify(log), /Fresh kumquat/);
  });
}

test("a denial stops the upstream within 100 ms", async () => {
  const parts: PlantedPart[] = [{ part: "answer", choice: 0, text: `Fresh kumquat ${"and figs ".repeat(12)}` }];
  const written = toEvents("chat", parts, createRandom(1)).slice(0, -3).join("");
  const times: number[] = [];
  // other programs only make it longer
  while (times.length < 20 && !times.some((time) => time < 100)) {
    const given = givenUp;
    let writtenAt = 0;
    serve = (response) => {
      response.write(written);
      writtenAt = performance.now();
    };
    const { response } = await open("chat", { output_guardrails: [deny] });
    assert.match(await response.text(), /guardrail denied it/);
    await eventually(() => givenUp > given, "the upstream's connection is closed");
    times.push(givenUpAt - writtenAt);
  }
  assert.ok(Math.min(...times) < 100, `it took ${times.map(Math.round)} ms`);
});

test("while the provider pauses, text that can begin no finding is sent, and text that may begin one is not", async () => {
  const chunk = (content: string) =>
    `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content } }] })}\n\n`;
  const email = { "default.regexReplace": { rule: "/[a-z]+@[a-z]+\\.com/g" } };
  const pause = async (said: string, config: object, end: string) => {
    let goOn = () => {};
    serve = (response) => {
      response.write(chunk("Hello ") + chunk(said));
      goOn = () => response.end(`${chunk(end)}data: [DONE]\n\n`);
    };
    const { response } = await open("chat", config);
    const reader = response.body?.getReader() ?? assert.fail();
    const sent = new TextDecoder().decode((await reader.read()).value);
    goOn();
    let all = sent;
    for (let next = await reader.read(); !next.done; next = await reader.read())
      all += new TextDecoder().decode(next.value);
    const read = (text: string) => joinTexts("chat", eventsOf(text)).get("answer 0");
    return [read(sent), read(all)];
  };
  assert.deepEqual(await pause("figo", { output_guardrails: [deny] }, " end"), ["Hello figo", "Hello figo end"]);
  assert.deepEqual(await pause("kum", { output_guardrails: [deny] }, "quat"), ["Hello ", "Hello "]);
  assert.deepEqual(await pause("7 +", { output_guardrails: [email] }, " 1"), ["Hello 7 +", "Hello 7 + 1"]);
  assert.deepEqual(await pause("jo@ex", { output_guardrails: [email] }, "a.com"), ["Hello ", "Hello [REDACTED]"]);
});

test("the first event waits for as many characters as the window has, and no more", async () => {
  const config = {
    output_guardrails: [{ "default.contains": { words: ["0123456789"], operator: "none" }, deny: true }],
  };
  const chunk = (content: string) =>
    `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content } }] })}\n\n`;
  serve = (response) => void response.write(chunk("first ") + chunk("a".repeat(26)));
  const { response } = await open("chat", config);
  const reader = response.body?.getReader() ?? assert.fail();
  const { value } = await reader.read();
  assert.match(new TextDecoder().decode(value), /first /);
  await reader.cancel();
});

test("a pattern without a longest match holds back the stated number of characters", async () => {
  const config = { output_guardrails: [{ "default.regexReplace": { rule: "/k-[a-z]+/g" } }] };
  const chunk = (content: string) =>
    `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content } }] })}\n\n`;
  serve = (response) => {
    for (const one of ["a", "k-", "b".repeat(100), "c".repeat(100), " d"]) response.write(chunk(one));
    response.end("data: [DONE]\n\n");
  };
  const { response } = await open("chat", config);
  assert.ok(202 < unboundedWindow);
  assert.equal(joinTexts("chat", eventsOf(await response.text())).get("answer 0"), "a[REDACTED] d");
});

for (const [from, to, provider] of [
  ["messages", "chat", "anthropic"],
  ["chat", "messages", "openai"],
  ["chat", "responses", "deepseek"],
  ["chat", "gemini", "openai"],
  ["gemini", "chat", "google"],
] as const) {
  test(`redactions reach ${to} streams that are made of ${from} streams, and their log rows`, async () => {
    const parts = plantedResponse(6, from).filter(({ part, choice }) => choice === 0 && part !== "thought");
    const random = createRandom(3);
    const sent = toEvents(from, parts, random).join("");
    serve = (response) => writeSplit(response, sent, random);
    const base = provider === "deepseek" ? "/v1" : routes[from][2];
    const { response, trace } = await open(to, { output_guardrails: redact }, { provider, base });
    const text = await response.text();
    assert.match(text, /cut/);
    for (const value of plantedValues) assert.ok(!text.includes(value), value);
    const log = JSON.stringify(await waitForLog(gateway, trace));
    for (const value of plantedValues) assert.ok(!log.includes(value), `${value} is in the log row`);
  });
}

test("a check that needs the whole response and may deny holds the stream back and says so", async () => {
  const sent = toEvents("chat", [{ part: "answer", choice: 0, text: "one two three" }], createRandom(1)).join("");
  serve = (response) => void response.end(sent);
  for (const [maxWords, status] of [
    [9, 200],
    [2, 446],
  ] as const) {
    const count = { "default.wordCount": { minWords: 0, maxWords }, deny: true };
    const { response } = await open("chat", { output_guardrails: [count, deny] });
    assert.equal(response.status, status);
    if (status === 200) {
      assert.equal(response.headers.get("x-gateway-stream-held"), "default.wordCount");
      assert.equal(await response.text(), sent);
    }
  }
});

test("a value in two pieces with another part between them is denied before its end is sent", async () => {
  const chunk = (delta: object, index = 0) => `data: ${JSON.stringify({ id: "x", choices: [{ index, delta }] })}\n\n`;
  const other = chunk({ content: "a quiet thought ".repeat(40) }, 1);
  let sayRest = () => {};
  serve = (response) => {
    response.write(chunk({ content: "kum" }) + other + other);
    sayRest = () => response.end(`${chunk({ content: "quat" })}data: [DONE]\n\n`);
  };
  const { response } = await open("chat", { output_guardrails: [deny] });
  let text = "";
  for await (const bytes of response.body ?? assert.fail()) {
    text += new TextDecoder().decode(bytes);
    sayRest();
  }
  assert.equal(joinTexts("chat", eventsOf(text)).get("answer 0"), "kum");
  assert.match(text, /guardrail denied it/);
});

/** Chunks of a text completion. */
const completion = (text: string, index = 0) =>
  `data: ${JSON.stringify({ id: "x", object: "text_completion", choices: [{ index, text, finish_reason: null }] })}\n\n`;

async function complete(config: object, chunks: readonly string[]): Promise<string> {
  serve = (response) => void response.end([...chunks, "data: [DONE]\n\n"].join(""));
  const headers = requestHeaders({
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    authorization: "Bearer upstream-credential",
    "x-gateway-config": toAscii(JSON.stringify(config)),
  });
  const body = JSON.stringify({ model: "m", prompt: "hi", stream: true, n: 2 });
  const response = await gateway.gateway.fetch(
    new Request("http://gateway.test/v1/completions", { method: "POST", headers, body }),
  );
  return response.text();
}

test("text completions are denied and changed for each choice, and stay as they are without a match", async () => {
  const chunks = ["A k", "umq", "uat pie", " and some more words to end with"].flatMap((text) => [
    completion(text, 1),
    completion("fig ", 0),
  ]);
  const changed = await complete({ output_guardrails: redact }, chunks);
  assert.doesNotMatch(changed, /umq|uat/);
  assert.match(changed, /\[\\"cut\\"\]/);
  const refused = await complete({ output_guardrails: [deny] }, chunks);
  assert.match(refused, /guardrail denied it/);
  assert.doesNotMatch(refused, /uat|\[DONE\]/);
  const plain = chunks.map((chunk) => chunk.replace("umq", "omp"));
  assert.equal(await complete({ output_guardrails: [deny, ...redact] }, plain), `${plain.join("")}data: [DONE]\n\n`);
});

test("a character whose halves come in two events is found and changed", async () => {
  // each half is written as an escape sequence (RFC 8259, section 7)
  const chunk = (escaped: string) => `data: {"id":"x","choices":[{"index":0,"delta":{"content":"${escaped}"}}]}\n\n`;
  const sent = ["so ", "密码é\\ud83d", "\\ude00№", "7 and", " that is all"].map(chunk);
  serve = (response) => void response.end(`${sent.join("")}data: [DONE]\n\n`);
  const changed = await (await open("chat", { output_guardrails: redact })).response.text();
  assert.equal(joinTexts("chat", eventsOf(changed)).get("answer 0"), 'so ["cut"] and that is all');
  const refused = await (await open("chat", { output_guardrails: [deny] })).response.text();
  assert.match(refused, /guardrail denied it/);
  assert.doesNotMatch(refused, /密码/);
});

test("a long word is found wherever it is split, and nothing of it is sent", async () => {
  const word = Array.from({ length: 900 }, (_, index) => String.fromCharCode(97 + ((index * 7) % 26))).join("");
  const config = { output_guardrails: [{ "default.contains": { words: [word], operator: "none" }, deny: true }] };
  const text = `A lead of ten words. ${word} and an end`;
  for (const size of [1, 7, 64, 5_000]) {
    const events = text.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
    const chunks = events.map(
      (content) => `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content } }] })}\n\n`,
    );
    serve = (response) => void response.end(`${chunks.join("")}data: [DONE]\n\n`);
    const sent = await (await open("chat", config)).response.text();
    assert.match(sent, /guardrail denied it/);
    assert.ok("A lead of ten words. ".startsWith(joinTexts("chat", eventsOf(sent)).get("answer 0") ?? ""), sent);
  }
});

test("events that differ from the one before in more than their text are read anew", async () => {
  const chunk = (delta: object, more: object = {}) =>
    `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta, ...more }] })}\n\n`;
  const sent = [
    chunk({ content: "x" }),
    chunk({ content: "a kum" }),
    chunk({ content: "quat", refusal: "no" }),
    chunk({ content: " x" }),
    chunk({ content: 'a \\" kumquat' }),
    chunk({ content: " end" }, { finish_reason: "stop" }),
  ];
  serve = (response) => void response.end(`${sent.join("")}data: [DONE]\n\n`);
  const changed = await (await open("chat", { output_guardrails: redact })).response.text();
  const texts = joinTexts("chat", eventsOf(changed));
  assert.equal(texts.get("answer 0"), 'xa ["cut"] xa \\" ["cut"] end');
  assert.equal(texts.get("thought 0"), "no");
});

test("events with other line ends are held back and read like others", async () => {
  const chunk = (content: string) =>
    `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content } }] })}`;
  const sent = `${chunk("a kum")}\r\n\r\n${chunk("qu")}\n\n${chunk("at pie")}\r\r${chunk(" and more of it")}\n\ndata: [DONE]\n\n`;
  serve = (response) => void response.end(sent);
  const changed = await (await open("chat", { output_guardrails: redact })).response.text();
  assert.equal(joinTexts("chat", eventsOf(changed)).get("answer 0"), 'a ["cut"] pie and more of it');
});

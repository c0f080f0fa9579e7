import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { WebSocket } from "ws";
import { createRandom, createTestGateway, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";
import { configHeader } from "../support/routed.ts";
import { rounds, sampleSeed } from "../support/sample.ts";
import { eventually } from "../support/upstream.ts";
import { createSocketHost, type SocketHost } from "../support/websocket-host.ts";
import { handshakeHeaders, type SocketUpstream, startSocketUpstream } from "../support/websocket-upstream.ts";

let gateway: TestGateway;
let upstream: SocketUpstream;
/** The provider's side of the last session, and what it received. */
let provider: WebSocket;
let received: string[] = [];
before(async () => {
  gateway = await createTestGateway();
  upstream = await startSocketUpstream({
    open(socket) {
      provider = socket;
      received = [];
      socket.on("message", (data: Buffer) => received.push(data.toString()));
    },
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const word = { "default.contains": { words: ["kumquat"], operator: "none" }, deny: true };
const redact = { "default.regexReplace": { rule: "/kumquat/g", redactText: "[cut]" } };

/** Opens a session under a config. */
async function open(config: object): Promise<{ host: SocketHost; response: Response; trace: string }> {
  const host = createSocketHost();
  const trace = crypto.randomUUID();
  const headers = {
    ...handshakeHeaders,
    "x-gateway-api-key": workspaceKey,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    "x-gateway-trace-id": trace,
    ...configHeader(config),
  };
  const response = await gateway.fetch("/v1/realtime?model=m", { headers }, { upgrade: host.upgrade });
  return { host, response, trace };
}

const parse = (message: unknown) => JSON.parse(String(message)) as Record<string, unknown>;
const eventsOf = (host: SocketHost) => host.heard.map(parse);

const item = (content: object, more: object = {}) => ({
  type: "conversation.item.create",
  item: { type: "message", role: "user", content: [content], ...more },
});
/** Client events, each with the word in another field. */
const planted: readonly object[] = [
  { type: "session.update", session: { type: "realtime", instructions: "Say kumquat" } },
  { type: "session.update", session: { tools: [{ type: "function", name: "f", description: "a kumquat" }] } },
  { type: "session.update", session: { audio: { input: { transcription: { model: "m", prompt: "kumquat" } } } } },
  { type: "session.update", session: { prompt: { id: "p", variables: { fruit: "kumquat" } } } },
  item({ type: "input_text", text: "a kumquat" }),
  item({ type: "input_audio", audio: "AAAA", transcript: "a kumquat" }),
  { type: "conversation.item.create", item: { type: "function_call_output", call_id: "c", output: '{"a":"kumquat"}' } },
  { type: "response.create", response: { instructions: "kumquat" } },
  {
    type: "response.create",
    response: { input: [{ type: "message", content: [{ type: "input_text", text: "kumquat" }] }] },
  },
  { type: "some.new.event", anything: ["kumquat"] },
];

for (const event of planted) {
  test(`a client event is refused before it goes up: ${JSON.stringify(event).slice(0, 110)}`, async () => {
    const { host } = await open({ input_guardrails: [word] });
    host.say(JSON.stringify({ event_id: "e1", ...event }));
    host.say(JSON.stringify({ type: "response.create" }));
    await eventually(
      () => received.length > 0 && host.heard.length > 0,
      "the next event goes up, and the error comes down",
    );
    assert.deepEqual(received.map(parse), [{ type: "response.create" }]);
    const [error] = eventsOf(host);
    assert.equal(error?.type, "error");
    assert.deepEqual(error?.error, { ...Object(error?.error), type: "hooks_failed", event_id: "e1" });
    host.leave({ code: 1000, reason: "" });
  });
}

test("client events keep their order, and what is redacted goes up without it", async () => {
  const { host, trace } = await open({ input_guardrails: [redact] });
  const sent = Array.from({ length: 40 }, (_, index) =>
    index % 3 === 0
      ? item({ type: "input_text", text: `kumquat ${index}` })
      : { type: "input_audio_buffer.append", audio: `A${index}` },
  );
  for (const event of sent) host.say(JSON.stringify(event));
  await eventually(() => received.length === sent.length, "all events go up");
  assert.deepEqual(
    received.map(parse),
    sent.map((event) => JSON.parse(JSON.stringify(event).replace("kumquat", "[cut]"))),
  );
  host.leave({ code: 1000, reason: "" });
  const log = await waitForLog(gateway, trace);
  assert.doesNotMatch(JSON.stringify(log), /kumquat \d/);
  assert.match(JSON.stringify(log), /"transformed":true/);
});

test("a message that cannot be read does not go up where a guardrail denies, nor does a repeated field", async () => {
  const { host } = await open({ input_guardrails: [word] });
  host.say("kumquat");
  host.say('["kumquat"]');
  host.say(new TextEncoder().encode(JSON.stringify(planted[4])));
  host.say(Uint8Array.of(0, 1, 2));
  host.say('{"type":"response.create","response":{"instructions":"kumquat","instructions":"fig"}}');
  await eventually(() => received.length > 0 && host.heard.length === 4, "the last one goes up");
  assert.deepEqual(received, ['{"type":"response.create","response":{"instructions":"fig"}}']);
  host.leave({ code: 1000, reason: "" });
});

test("a check that asks for words looks at events with text alone", async () => {
  const { host } = await open({
    input_guardrails: [{ "default.contains": { words: ["please"], operator: "any" }, deny: true }],
  });
  host.say(JSON.stringify({ type: "input_audio_buffer.append", audio: "AAAA" }));
  host.say(JSON.stringify(item({ type: "input_text", text: "now" })));
  host.say(JSON.stringify(item({ type: "input_text", text: "please" })));
  await eventually(() => received.length === 2 && host.heard.length === 1, "one event is refused");
  host.leave({ code: 1000, reason: "" });
});

/** Server events that say a text in pieces. */
function said(kind: string, text: string, random: () => number, itemId = "i1"): object[] {
  const events: object[] = [];
  const field = kind.includes("arguments") ? "arguments" : kind.includes("transcript") ? "transcript" : "text";
  for (let index = 0; index < text.length; ) {
    const length = 1 + Math.floor(random() * 9);
    events.push({
      type: `${kind}.delta`,
      item_id: itemId,
      output_index: 0,
      content_index: 0,
      delta: text.slice(index, index + length),
    });
    index += length;
  }
  const ended = kind.includes("transcription") ? "completed" : "done";
  return [...events, { type: `${kind}.${ended}`, item_id: itemId, output_index: 0, content_index: 0, [field]: text }];
}

const kinds = [
  "response.output_text",
  "response.text",
  "response.output_audio_transcript",
  "response.function_call_arguments",
  "conversation.item.input_audio_transcription",
];
const audio = { type: "response.output_audio.delta", item_id: "i1", delta: "AAAA" };

for (const kind of kinds) {
  test(`the text of ${kind} is denied or changed before it comes down, wherever it is split`, async () => {
    for (let round = 0; round < rounds(40); round++) {
      const random = createRandom(sampleSeed * 50 + round);
      const call = kind.includes("arguments");
      const filler = "word ".repeat(Math.floor(random() * 30));
      const text = call ? JSON.stringify({ note: `${filler}kumquat pie` }) : `${filler}kumquat pie`;
      const done = {
        type: "response.done",
        response: {
          output: [
            {
              id: "i1",
              type: "message",
              role: "assistant",
              content: [{ type: "output_text", text: call ? "" : text }],
            },
          ],
        },
      };
      const events = [
        { type: "session.created", session: { instructions: "kumquat" } },
        ...said(kind, text, random).flatMap((one) => [audio, one]),
        done,
      ];
      const isDenied = round % 2 === 0;
      const { host, trace } = await open({ output_guardrails: [isDenied ? word : redact] });
      for (const event of events) provider.send(JSON.stringify(event));
      await eventually(() => host.closes.length > 0 || host.heard.length === events.length, "the session answers");
      const heard = eventsOf(host);
      assert.deepEqual(heard[0], events[0], "what the client set is not the model's");
      const down = heard
        .slice(1)
        .map((event) => String(event.delta ?? ""))
        .filter((delta) => delta !== "AAAA")
        .join("");
      assert.doesNotMatch(JSON.stringify(heard.slice(1)), /kumquat/);
      if (isDenied) {
        assert.ok(text.startsWith(down), down);
        assert.equal(Object(heard.at(-1)?.error).type, "hooks_failed");
        assert.equal(host.closes[0]?.code, 1008);
        await eventually(() => provider.readyState >= 2, "the provider's side is closed");
        const log = await waitForLog(gateway, trace);
        assert.deepEqual([log.status, log.error?.type], [446, "hooks_failed"]);
        assert.doesNotMatch(JSON.stringify({ ...log, hook_results: null }), /kumquat/);
      } else {
        assert.equal(down, text.replace("kumquat", "[cut]"));
        assert.equal(heard.length, events.length);
        host.leave({ code: 1000, reason: "" });
      }
    }
  });
}

test("messages without matches come down as they were, also where the provider breaks off", async () => {
  const { host } = await open({ output_guardrails: [word] });
  const messages = [
    '{ "type": "response.output_text.delta",\n "item_id":"i1", "delta":"a plain text that ends in kum" }',
    "no json",
    '{"type":"response.output_audio.delta","delta":"AAAA"}',
  ];
  for (const message of messages) provider.send(message);
  provider.close(1000);
  await eventually(() => host.closes.length > 0, "the session is closed");
  assert.deepEqual(host.heard, messages);
});

const parameters = (check: object) => ({ "default.requestParametersCheck": check, deny: true });
const blockedTool = { type: "mcp", server_label: "s", server_url: "https://mcp.example" };
/** Settings of a check, an event that it denies and one that it lets pass. Neither has text. */
const withoutText: Readonly<Record<string, readonly [check: object, refused: object, passed: object]>> = {
  "a blocked tool": [
    { tools: { blockedTypes: ["mcp"] } },
    { type: "session.update", session: { type: "realtime", tools: [blockedTool] } },
    { type: "session.update", session: { type: "realtime", tools: [{ type: "function", name: "f" }] } },
  ],
  "a blocked tool of one response": [
    { tools: { blockedTypes: ["mcp"] } },
    { type: "response.create", response: { tools: [blockedTool] } },
    { type: "response.create" },
  ],
  "a blocked parameter": [
    { params: { blockedKeys: ["speed"] } },
    { type: "session.update", session: { speed: 1.5 } },
    { type: "session.update", session: { max_output_tokens: 5 } },
  ],
  "a parameter that is not allowed": [
    { params: { allowedKeys: ["model", "max_output_tokens"] } },
    { type: "response.create", response: { max_output_tokens: 5, temperature: 1 } },
    { type: "response.create", response: { max_output_tokens: 5 } },
  ],
  "a blocked value": [
    { params: { values: { voice: { blockedValues: ["ash"] } } } },
    { type: "session.update", session: { type: "realtime", voice: "ash" } },
    { type: "input_audio_buffer.append", audio: "AAAA" },
  ],
};

for (const [name, [check, refused, passed]] of Object.entries(withoutText)) {
  test(`an event without text does not bring ${name} past requestParametersCheck`, async () => {
    const { host } = await open({ input_guardrails: [parameters(check)] });
    host.say(JSON.stringify({ event_id: "e1", ...refused }));
    host.say(JSON.stringify(passed));
    await eventually(
      () => received.length > 0 && host.heard.length > 0,
      "the next event goes up, and the error comes down",
    );
    assert.deepEqual(received.map(parse), [passed]);
    const [error] = eventsOf(host);
    assert.deepEqual(error?.error, { ...Object(error?.error), type: "hooks_failed", event_id: "e1" });
    host.leave({ code: 1000, reason: "" });
  });
}

test("an event without text is not refused by a guardrail that wants words", async () => {
  const wanted = { "default.contains": { words: ["please"], operator: "any" }, deny: true };
  const { host } = await open({ input_guardrails: [wanted, parameters({ tools: { blockedTypes: ["mcp"] } })] });
  host.say(JSON.stringify({ type: "input_audio_buffer.append", audio: "AAAA" }));
  await eventually(() => received.length > 0, "the event goes up");
  assert.deepEqual(host.heard, []);
  host.leave({ code: 1000, reason: "" });
});

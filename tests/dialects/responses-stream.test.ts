import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { InputReader } from "../../src/dialects/responses/input-reader.ts";
import { responsesDialect } from "../../src/dialects/responses/mod.ts";
import { replayEvents } from "../../src/dialects/responses/stored.ts";
import type { DialectOptions, EventMapper } from "../../src/dialects/types.ts";
import { createPlainMapper, DialectObserver } from "../../src/inference/stream/dialect-observer.ts";
import { EventBlocks } from "../../src/lib/sse.ts";
import type { ResponsesRequest, ResponsesResponse } from "../../src/schemas/responses.ts";
import { checkEvents, type Members, parseEvents, summarise } from "../support/response-events.ts";
import { seeded } from "../support/routing.ts";

const options: DialectOptions = { id: "ID", created: 11, now: () => 12, drop: () => {} };
const patch = { type: "custom", name: "apply_patch" };
const request: ResponsesRequest = { model: "m", input: "Hello", stream: true, tools: [patch] };
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

const chunk = (delta: object, finish: string | null = null): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m-1",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const call = (index: number, piece: string, head: { id?: string; name?: string } = {}): object => ({
  tool_calls: [
    { index, ...(head.id && { id: head.id }), function: { ...(head.name && { name: head.name }), arguments: piece } },
  ],
});

function run(chunks: readonly object[], end: (events: EventMapper) => readonly Members[]): Members[] {
  const events = responsesDialect.createEvents(request, options);
  return [...chunks.flatMap((one) => events.push(one)), ...end(events)];
}

const finish = (events: EventMapper) => events.end(usage);
const begin = ["created in_progress", "in_progress in_progress"];

/** Events by what the chat's stream holds. */
const golden: readonly [string, readonly object[], readonly string[]][] = [
  [
    "text",
    [chunk({ role: "assistant", content: "" }), chunk({ content: "It is " }), chunk({ content: "six." }, "stop")],
    [
      "output_item.added 0 message",
      "content_part.added 0",
      "output_text.delta 0 It is ",
      "output_text.delta 0 six.",
      "output_text.done 0",
      "content_part.done 0",
      "output_item.done 0 message",
      "completed completed",
    ],
  ],
  [
    "thoughts before the text",
    [
      chunk({ content_blocks: [{ index: 0, delta: { thinking: "Hm" } }] }),
      chunk({ content_blocks: [{ index: 0, delta: { signature: "sig" } }] }),
      chunk({ content: "Six." }, "stop"),
    ],
    [
      "output_item.added 0 reasoning",
      "reasoning_summary_part.added 0",
      "reasoning_summary_text.delta 0 Hm",
      "reasoning_summary_text.done 0",
      "reasoning_summary_part.done 0",
      "output_item.done 0 reasoning",
      "output_item.added 1 message",
      "content_part.added 1",
      "output_text.delta 1 Six.",
      "output_text.done 1",
      "content_part.done 1",
      "output_item.done 1 message",
      "completed completed",
    ],
  ],
  [
    "a call behind a text",
    [
      chunk({ content: "I look." }),
      chunk(call(0, "", { id: "c1", name: "tide" })),
      chunk(call(0, '{"a"')),
      chunk(call(0, ":1}")),
      chunk({}, "tool_calls"),
    ],
    [
      "output_item.added 0 message",
      "content_part.added 0",
      "output_text.delta 0 I look.",
      "output_text.done 0",
      "content_part.done 0",
      "output_item.done 0 message",
      "output_item.added 1 function_call",
      'function_call_arguments.delta 1 {"a"',
      "function_call_arguments.delta 1 :1}",
      "function_call_arguments.done 1",
      "output_item.done 1 function_call",
      "completed completed",
    ],
  ],
  [
    "arguments of two calls in turn",
    [
      chunk(call(0, '{"a"', { id: "c1", name: "tide" })),
      chunk(call(1, '{"b"', { id: "c2", name: "wind" })),
      chunk(call(0, ":1}")),
      chunk(call(1, ":2}"), "tool_calls"),
    ],
    [
      "output_item.added 0 function_call",
      'function_call_arguments.delta 0 {"a"',
      "function_call_arguments.delta 0 :1}",
      "function_call_arguments.done 0",
      "output_item.done 0 function_call",
      "output_item.added 1 function_call",
      'function_call_arguments.delta 1 {"b"',
      "function_call_arguments.delta 1 :2}",
      "function_call_arguments.done 1",
      "output_item.done 1 function_call",
      "completed completed",
    ],
  ],
  [
    "a custom tool",
    [
      chunk(call(0, '{"inp', { id: "c1", name: "apply_patch" })),
      chunk(call(0, 'ut": "a\\')),
      chunk(call(0, "nb\\u00")),
      chunk(call(0, 'e9"}'), "tool_calls"),
    ],
    [
      "output_item.added 0 custom_tool_call",
      "custom_tool_call_input.delta 0 a",
      "custom_tool_call_input.delta 0 \nb",
      "custom_tool_call_input.delta 0 é",
      "custom_tool_call_input.done 0",
      "output_item.done 0 custom_tool_call",
      "completed completed",
    ],
  ],
  [
    "a refusal behind a text",
    [chunk({ content: "Well," }), chunk({ refusal: "no." }, "stop")],
    [
      "output_item.added 0 message",
      "content_part.added 0",
      "output_text.delta 0 Well,",
      "output_text.done 0",
      "content_part.done 0",
      "content_part.added 0",
      "refusal.delta 0 no.",
      "refusal.done 0",
      "content_part.done 0",
      "output_item.done 0 message",
      "completed completed",
    ],
  ],
  [
    "an answer that is cut",
    [chunk({ content: "It is" }, "length")],
    [
      "output_item.added 0 message",
      "content_part.added 0",
      "output_text.delta 0 It is",
      "output_text.done 0",
      "content_part.done 0",
      "output_item.done 0 message",
      "incomplete incomplete",
    ],
  ],
];

for (const [name, chunks, wanted] of golden) {
  test(`a stream of ${name}`, () => {
    const events = run(chunks, finish);
    checkEvents(events);
    assert.deepEqual(summarise(events), [...begin, ...wanted]);
  });
}

test("a stream that breaks off closes open items, reports the error and fails", () => {
  const error = { message: "Too many requests", type: "rate_limit_error", code: null };
  const chunks = [
    chunk({ content: "It" }),
    chunk(call(0, '{"a', { id: "c1", name: "tide" })),
    chunk(call(1, "{}", { id: "c2", name: "wind" })),
  ];
  const events = run(chunks, (mapper) => mapper.fail(error));
  const response = checkEvents(events);
  assert.deepEqual(summarise(events).slice(-5), [
    'function_call_arguments.delta 1 {"a',
    "function_call_arguments.done 1",
    "output_item.done 1 function_call",
    "error Too many requests",
    "failed failed",
  ]);
  assert.deepEqual(response.error, { code: "rate_limit_exceeded", message: "Too many requests" });
  assert.deepEqual(
    (response.output as Members[]).map(({ status }) => status),
    ["completed", "incomplete"],
  );
});

test("a stream that fails before its first chunk is complete", () => {
  const events = run([], (mapper) => mapper.fail({ message: "x", type: "api_error", code: null }));
  assert.deepEqual(summarise(events), [...begin, "error x", "failed failed"]);
  checkEvents(events);
});

/** A response: reasoning, text and calls. */
const answers = fc.record({
  thoughts: fc.array(
    fc.record({ text: fc.string({ minLength: 1 }), signature: fc.option(fc.base64String({ minLength: 4 })) }),
    { maxLength: 2 },
  ),
  text: fc.string({ unit: "grapheme" }),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom("tide", "apply_patch"),
      input: fc.string({ unit: "grapheme" }),
      signature: fc.option(fc.base64String({ minLength: 4 })),
    }),
    { maxLength: 3 },
  ),
});
type Answer = typeof answers extends fc.Arbitrary<infer Value> ? Value : never;

const argumentsOf = ({ input }: Answer["calls"][number]): string => JSON.stringify({ input });

/** A text in pieces of the given lengths, again and again. */
function slice(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

function toWhole({ thoughts, text, calls }: Answer): object {
  const blocks = thoughts.map(({ text: thinking, signature }) => ({
    type: "thinking",
    thinking,
    ...(signature !== null && { signature }),
  }));
  const tool_calls = calls.map((one, index) => ({
    id: `c${index}`,
    ...(one.signature !== null && { thought_signature: one.signature }),
    function: { name: one.name, arguments: argumentsOf(one) },
  }));
  const message = { role: "assistant", content: text, content_blocks: blocks, tool_calls };
  return { model: "m-1", choices: [{ index: 0, message, finish_reason: "stop" }], usage };
}

/** The same answer as a stream: everything in pieces, the arguments of the calls in turn. */
function toChunks({ thoughts, text, calls }: Answer, lengths: readonly number[]): object[] {
  const block = (delta: object) => chunk({ content_blocks: [{ index: 0, delta }] });
  const queues = calls.map((one, index) => ({
    pieces: slice(argumentsOf(one), lengths),
    head: { id: `c${index}`, name: one.name, ...(one.signature !== null && { thought_signature: one.signature }) },
  }));
  const heads = queues.map(({ head: { id, name, ...signature } }, index) =>
    chunk({ tool_calls: [{ index, id, ...signature, function: { name, arguments: "" } }] }),
  );
  const longest = Math.max(0, ...queues.map(({ pieces }) => pieces.length));
  const turns = Array.from({ length: longest }, (_, turn) =>
    queues.flatMap(({ pieces }, index) => (pieces[turn] === undefined ? [] : [chunk(call(index, pieces[turn]))])),
  );
  return [
    ...thoughts.flatMap(({ text: thought, signature }) => [
      ...slice(thought, lengths).map((thinking) => block({ thinking })),
      ...(signature === null ? [] : [block({ signature })]),
    ]),
    ...slice(text, lengths).map((content) => chunk({ content })),
    ...heads,
    ...turns.flat(),
    chunk({}, "stop"),
  ];
}

const lengthLists = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

test(seeded("a stream adds up to the non-streaming response, however it is split"), () => {
  fc.assert(
    fc.property(answers, lengthLists, (answer, lengths) => {
      const events = run(toChunks(answer, lengths), finish);
      const response = checkEvents(events);
      const whole = responsesDialect.fromChat(toWhole(answer) as { choices: [] }, request, options);
      assert.deepEqual(response, whole);
    }),
  );
});

const encoder = new TextEncoder();

/** What a client gets of upstream bytes in pieces of the given lengths. */
function relay(bytes: Uint8Array, lengths: readonly number[]): string {
  const observer = new DialectObserver({
    mapper: createPlainMapper("p"),
    events: responsesDialect.createEvents(request, options),
    encode: responsesDialect.encode,
    provider: "p",
  });
  const blocks = new EventBlocks();
  const decoder = new TextDecoder();
  let text = "";
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    const block = blocks.push(bytes.subarray(at, at + length));
    const sent = block && observer.push(block);
    if (sent) text += decoder.decode(sent);
    at += length;
  }
  return text + decoder.decode(observer.end?.());
}

test(seeded("any split of the upstream's bytes gives the same events"), () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(answers, lengthLists, cuts, (answer, lengths, cut) => {
      const sse = toChunks(answer, lengths).map((one) => `data: ${JSON.stringify(one)}\n\n`);
      const bytes = encoder.encode(`${sse.join("")}data: [DONE]\n\n`);
      const text = relay(bytes, cut);
      assert.equal(text, relay(bytes, [bytes.length]));
      checkEvents(parseEvents(text));
    }),
    { numRuns: 50 },
  );
});

test(seeded("a response is replayed as a stream that adds up to it"), () => {
  fc.assert(
    fc.property(answers, (answer) => {
      const whole: ResponsesResponse = responsesDialect.fromChat(toWhole(answer) as { choices: [] }, request, options);
      assert.deepEqual(checkEvents(replayEvents(whole)), whole);
    }),
  );
});

test(seeded("InputReader reads a string in any pieces"), () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), lengthLists, fc.boolean(), (text, lengths, isEscaped) => {
      const plain = JSON.stringify({ input: text });
      const json = isEscaped
        ? plain.replace(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)
        : plain;
      const reader = new InputReader();
      const told = slice(json, lengths).map((piece) => reader.push(piece));
      assert.equal(told.join("") + reader.end(), text);
      assert.equal(reader.text, text);
    }),
  );
});

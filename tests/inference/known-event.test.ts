import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CompletionObserver, KnownEvent, toByteText } from "../../src/inference/stream/completion-observer.ts";
import { createReasoningRemover } from "../../src/providers/openai-compatible/without-reasoning.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const encode = (text: string) => encoder.encode(text);

const frame = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta: object, rest: object = {}) =>
  frame({ id: "c1", choices: [{ index: 0, delta, finish_reason: null }], usage: null, ...rest });
const word = (content: string, rest?: object) => chunk({ content }, rest);

/** Index behind the events of `text` that equal `learned`. */
function skip(learned: string, text: string): number {
  const known = new KnownEvent();
  known.learn(encode(learned));
  return known.skip(toByteText(encode(text)), 0);
}

for (const [title, learned, text, wanted] of [
  ["another value", word("one"), word("two"), "all"],
  ["an empty value", word("one"), word(""), "all"],
  ["several events", word("one"), word("two") + word("three") + word("four"), "all"],
  ["a value with escapes", word('say "one"'), word("two\n"), "all"],
  ["values of two fields", word("a", { obfuscation: "xy" }), word("b", { obfuscation: "z" }), "all"],
  ["a value with characters of several bytes", word("one"), word("größer 🙂"), "all"],
  ["a space behind the colon", 'data: {"content": "a"}\n\n', 'data: {"content": "b"}\n\n', "all"],
  ["a value that names a field", word("one"), word("usage"), "all"],
  ["a value with a quote", word("one"), word('"usage":{'), "none"],
  ["another field", word("one"), chunk({ reasoning_content: "two" }), "none"],
  ["a field more", word("one"), word("two", { error: { message: "x" } }), "none"],
  ["a finish reason", word("one"), word("two").replace("null}]", '"stop"}]'), "none"],
  ["the end of the stream", word("one"), "data: [DONE]\n\n", "none"],
  ["a line feed in a value", word("one"), 'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"\n\n', "none"],
  ["an event in a value", word("one"), word("x").replace('"x"', '"a\n\ndata: [DONE]\n\n"'), "none"],
  [
    "an event in a value, by carriage returns",
    word("one"),
    word("x").replace('"x"', '"a\r\rdata: [DONE]\r\r"'),
    "none",
  ],
  ["an event that is cut", word("one"), word("two").slice(0, -4), "none"],
] as const) {
  test(`KnownEvent skips ${wanted} of events with ${title}`, () => {
    assert.equal(skip(learned, text), wanted === "all" ? encode(text).length : 0);
  });
}

test("KnownEvent learns no more once four events in a row were unlike the one before", () => {
  const known = new KnownEvent();
  const events = Array.from({ length: 6 }, (_, created) => word("x", { created }));
  const text = events.join("");
  for (const event of events) {
    const wanted = known.endOfPart(text, 0);
    assert.equal(wanted, events.indexOf(event) < 4 ? (events[0]?.length ?? 0) : text.length);
    known.learn(encode(event));
  }
  assert.equal(known.skip(toByteText(encode(word("y", { created: 5 }))), 0), 0);
});

test("KnownEvent learns no event above 4,096 bytes", () => {
  const long = word("x".repeat(5_000));
  assert.equal(skip(long, long), 0);
  const short = word("x");
  assert.equal(skip(short, long), long.length);
});

/** An event and what the client gets for it without reasoning and without the chunk of usage. */
interface Sample {
  sent: string;
  wanted: string;
}
const same = (text: string): Sample => ({ sent: text, wanted: text });
const strings = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    "",
    "[DONE]",
    "usage",
    '"usage":{',
    '"error":{"',
    "reasoning",
    '"reasoning":',
    "é\\",
    "\r\n\n",
    "data: ",
  ),
);
const samples: fc.Arbitrary<Sample> = fc.oneof(
  { weight: 6, arbitrary: strings.map((text) => same(word(text))) },
  { weight: 2, arbitrary: strings.map((text) => same(word(text, { obfuscation: text.slice(1) }))) },
  strings.map((text) => same(chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }))),
  fc.nat().map((created) => same(word("x", { created }))),
  fc.constant(same(": comment\n\n")),
  strings.map((text) => ({ sent: chunk({ reasoning_content: text }), wanted: "" })),
  strings.map((text) => ({ sent: chunk({ content: `x${text}`, reasoning: "hm" }), wanted: word(`x${text}`) })),
  fc.constant({ sent: frame({ id: "c1", choices: [], usage: { prompt_tokens: 3 } }), wanted: "" }),
);
const runs = fc.array(fc.tuple(samples, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4 })), {
  maxLength: 30,
});

test("an observer gives the same bytes however events repeat and lie in blocks", () => {
  fc.assert(
    fc.property(runs, (made) => {
      const observer = new CompletionObserver({ includeUsage: false, corrector: createReasoningRemover() });
      const events = made.flatMap(([sample, count]) => Array.from({ length: count }, () => sample));
      const sizes = made.map(([, , size]) => size);
      let got = "";
      for (let index = 0, turn = 0; index < events.length; turn++) {
        const block = events.slice(index, index + (sizes[turn % sizes.length] ?? 1));
        got += decoder.decode(observer.push(encode(block.map(({ sent }) => sent).join(""))));
        index += block.length;
      }
      // a comment beside an event that is read may be left out: clients skip it
      const withoutComments = (text: string) => text.replaceAll(": comment\n\n", "");
      assert.equal(withoutComments(got), withoutComments(events.map(({ wanted }) => wanted).join("")));
      assert.equal(observer.state, "open");
    }),
    { numRuns: 2_000, seed: 17 },
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChatPiece, readChat } from "../../src/dialects/chat-reader.ts";
import { type SegmentSink, Sequencer } from "../../src/dialects/sequence.ts";
import { ArgumentsWatch } from "../../src/lib/arguments-watch.ts";
import { CallIndexes } from "../../src/providers/shared/call-indexes.ts";

const piece = (index: number, text: string): ChatPiece => ({
  kind: "call",
  index,
  id: `call_${index}`,
  name: "f",
  arguments: text,
  signature: undefined,
});

/** Arguments of each call, once it is closed. */
class Collector implements SegmentSink<string> {
  #text = "";
  open(): string[] {
    this.#text = "";
    return [];
  }
  add(added: ChatPiece): string[] {
    if (added.kind === "call") this.#text += added.arguments;
    return [];
  }
  close(): string[] {
    return [this.#text];
  }
}

test("arguments of many calls at once are ordered in one pass", () => {
  const sequencer = new Sequencer(new Collector());
  const numbers = Array.from({ length: 40_000 }, (_, index) => index);
  const pieces = [...numbers.map((one) => piece(one, `{"n":`)), ...numbers.map((one) => piece(one, `${one}}`))];
  const made = [...pieces.flatMap((one) => sequencer.push(one)), ...sequencer.end()];
  assert.deepEqual(
    made,
    numbers.map((one) => `{"n":${one}}`),
  );
});

test("long arguments are not read again at each piece of another call", () => {
  const sequencer = new Sequencer(new Collector());
  sequencer.push(piece(0, `[${"1,".repeat(1_000_000)}`));
  for (let round = 0; round < 20_000; round++) {
    sequencer.push(piece(0, "1,"));
    sequencer.push(piece(1, "["));
  }
  assert.deepEqual(
    sequencer.end().map(({ length }) => length),
    [2_040_001, 20_000],
  );
});

test("blocks of a complete message find their calls in one pass", () => {
  const numbers = Array.from({ length: 150_000 }, (_, index) => index);
  const calls = numbers.map((one) => ({ id: `c${one}`, function: { name: "f", arguments: "{}" } }));
  const blocks = calls.map(({ id }) => ({ type: "tool_use", id })).reverse();
  const content_blocks = [{ type: "text", text: "a" }, { type: "thinking", thinking: "b" }, ...blocks];
  const { pieces } = readChat({ choices: [{ message: { content_blocks, tool_calls: calls } }] } as never); // the members that are read
  assert.deepEqual([pieces.length, pieces[2]], [150_002, { ...piece(149_999, "{}"), id: "c149999" }]);
});

test("calls that a host numbers wrongly get their indexes in one pass", () => {
  const indexes = new CallIndexes();
  const calls = Array.from({ length: 150_000 }, (_, index) => ({ id: `c${index}`, index: 0 }));
  assert.deepEqual(new Set(calls.map((call) => indexes.indexOf(call))).size, 150_000);
  assert.equal(indexes.indexOf({ id: "c7", index: 0 }), 7);
  const long = new CallIndexes();
  const more = (text: string) => long.indexOf({ index: 0, function: { name: "f", arguments: text } });
  assert.equal(more(`[${"1,".repeat(1_000_000)}`), 0);
  for (let round = 0; round < 20_000; round++) more("1,");
  assert.deepEqual([more("1]"), more("[]")], [0, 1]);
});

for (const [text, isWhole] of [
  ["", false],
  ["{", false],
  ['{"a":"}', false],
  ['{"a":"\\"}', false],
  ['{"a":"\\"}"}', true],
  ['{"a":[{}]} ', true],
  ["{}", true],
  ["{} {", false],
  ["[}", false],
  ["]", false],
  ["null", true],
  ["nul", false],
  [' "text"', true],
  ['"te', false],
  ["12", true],
] as const) {
  test(`ArgumentsWatch: ${JSON.stringify(text)} is ${isWhole ? "" : "not "}whole, in pieces too`, () => {
    const [once, pieces] = [new ArgumentsWatch(), new ArgumentsWatch()];
    once.add(text);
    for (const letter of text) {
      pieces.isWhole();
      pieces.add(letter);
    }
    assert.deepEqual([once.isWhole(), pieces.isWhole()], [isWhole, isWhole]);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Conversation } from "../../console/src/pages/logs/conversation/types.ts";
import { extentOf, type SpanRow, toTree } from "../../console/src/pages/traces/spans.ts";
import { toThread } from "../../console/src/pages/traces/thread.ts";

const span = (id: string, parent = "", start = 0): SpanRow => ({ id, span: id, parent, start, duration: 5 });
const placesOf = (rows: readonly SpanRow[]) => toTree(rows).map(({ row, level }) => `${row.id}${level}`);

test("toTree() puts rows below their parents, in the order they began", () => {
  const rows = [span("d", "b", 4), span("c", "a", 3), span("b", "a", 2), span("a", "", 1), span("e", "elsewhere", 5)];
  assert.deepEqual(placesOf(rows), ["a1", "b2", "d3", "c2", "e1"]);
  assert.deepEqual(extentOf(rows), { start: 1, length: 9 });
  assert.deepEqual(placesOf([]), []);
});

test("toTree() shows each row once, whatever the ids of spans and parents are", () => {
  const name = fc.constantFrom("", "a", "b", "c", "d");
  const row = fc.record({ span: name, parent: name, start: fc.nat(9), duration: fc.nat(9) });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 12 }), (drawn) => {
      const rows = drawn.map((one, index) => ({ ...one, id: String(index) }));
      const placed = toTree(rows);
      assert.deepEqual(placed.map(({ row: { id } }) => id).toSorted(), rows.map(({ id }) => id).toSorted());
      assert.ok(placed.every(({ level }, index) => level <= (placed[index - 1]?.level ?? 0) + 1));
    }),
  );
});

const turn = (role: string, text: string) => ({ role, parts: [{ kind: "text" as const, text }] });
const call = (input: string) => ({
  role: "assistant",
  parts: [{ kind: "call" as const, id: "1", name: "look", input }],
});
const talk = (turns: Conversation["turns"], answer: Conversation["turns"][number]) => ({
  row: answer,
  conversation: { turns, answers: [answer], tools: [] },
});

test("toThread() shows what a request repeats once, also an answer that is sent back in another form", () => {
  const begin = turn("user", "Hello");
  const thread = toThread([
    talk([begin], call('{"a": 1}')),
    talk([turn("user", "Another")], turn("assistant", "One")),
    talk([begin, call('{"a":1}'), turn("tool", "2")], turn("assistant", "Two")),
  ]);
  assert.deepEqual(
    thread.map(({ repeated, turns, answers }) => [repeated, turns.length, answers.length]),
    [
      [0, 1, 1],
      [0, 1, 1],
      [2, 1, 1],
    ],
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  doneEvent,
  EventBlocks,
  EventTooLongError,
  encodeEvent,
  maxEventBytes,
  readEvent,
  readEvents,
  type SseEvent,
} from "../../src/lib/sse.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Feeds slices of a size; gives the blocks, and what was left at the end. */
function feed(bytes: Uint8Array, size: number): { blocks: string[]; rest: string | undefined } {
  const cutter = new EventBlocks();
  const blocks: string[] = [];
  for (let start = 0; start < bytes.length; start += size) {
    const block = cutter.push(bytes.slice(start, start + size));
    if (block !== undefined) blocks.push(decoder.decode(block));
  }
  const rest = cutter.takeRest();
  assert.equal(cutter.pending, 0);
  return { blocks, rest: rest === undefined || rest.length === 0 ? undefined : decoder.decode(rest) };
}

const sample = [
  "\ufeffdata: first\n\n",
  ": a comment\n\n",
  "event: named\ndata: second\ndata: line\n\n",
  "id: 5\nretry: 10\nunknown: x\ndata:no space\n\n",
  "data\n\n",
  "data:  two spaces\n\n",
  'data: {"text":"☂ é 😀"}\n\n',
  "data: [DONE]\n\n",
].join("");

const wanted: SseEvent[] = [
  { event: "", data: "first" },
  { event: "named", data: "second\nline" },
  { event: "", data: "no space" },
  { event: "", data: "" },
  { event: "", data: " two spaces" },
  { event: "", data: '{"text":"☂ é 😀"}' },
  { event: "", data: "[DONE]" },
];

for (const [name, lineEnd] of [
  ["LF", "\n"],
  ["CRLF", "\r\n"],
  ["CR", "\r"],
] as const) {
  const text = sample.replaceAll("\n", lineEnd);
  const bytes = encoder.encode(text);

  test(`S4: readEvents() reads ${name} line ends, comments, many data lines, names and a byte order mark`, () => {
    assert.deepEqual(readEvents(text), wanted);
  });

  test(`S4: EventBlocks cuts whole events in slices of every size with ${name}`, () => {
    for (let size = 1; size <= bytes.length; size++) {
      const { blocks, rest } = feed(bytes, size);
      assert.equal(blocks.join("") + (rest ?? ""), text, `no byte is lost or changed in slices of ${size}`);
      const events = blocks.flatMap((block) => readEvents(block.replace(/^\ufeff/, "")));
      assert.deepEqual(events, wanted, `slices of ${size}`);
    }
  });

  test(`S4: EventBlocks cuts whole events where the bytes are cut anywhere with ${name}`, () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const cutter = new EventBlocks();
      const blocks = [bytes.slice(0, cut), bytes.slice(cut)].map((half) => cutter.push(half));
      const rest = cutter.takeRest() ?? new Uint8Array(0);
      const joined = [...blocks, rest].map((block) => (block === undefined ? "" : decoder.decode(block)));
      assert.equal(joined.join(""), text, `cut at ${cut}`);
      assert.deepEqual(joined.slice(0, 2).flatMap(readEvents), wanted, `cut at ${cut}`);
    }
  });
}

test("EventBlocks holds back an incomplete event and reports its length", () => {
  const cutter = new EventBlocks();
  assert.equal(cutter.push(encoder.encode("data: a")), undefined);
  assert.equal(cutter.pending, 7);
  assert.equal(cutter.push(encoder.encode("bc\n")), undefined);
  assert.equal(decoder.decode(cutter.push(encoder.encode("\ndata: d"))), "data: abc\n\n");
  assert.equal(cutter.pending, 7);
  assert.equal(decoder.decode(cutter.takeRest()), "data: d");
  assert.equal(cutter.takeRest(), undefined);
});

test("EventBlocks gives back the very chunk when it ends with an event", () => {
  const chunk = encoder.encode("data: a\n\ndata: b\n\n");
  assert.equal(new EventBlocks().push(chunk), chunk);
});

for (const size of [1, 7, 100, 1_000]) {
  test(`S4: EventBlocks refuses an event longer than 4 MiB in slices of ${size} KiB`, () => {
    const cutter = new EventBlocks();
    const chunk = new Uint8Array(size * 1_024).fill(0x61);
    const slices = Math.ceil((maxEventBytes + 1) / chunk.length);
    assert.throws(() => {
      for (let count = 0; count < slices; count++) assert.equal(cutter.push(chunk), undefined);
    }, EventTooLongError);
  });
}

test("S4: EventBlocks takes events of 4 MiB in all sizes of the whole stream", () => {
  const cutter = new EventBlocks();
  const body = new Uint8Array(maxEventBytes).fill(0x61);
  assert.equal(cutter.push(body), undefined);
  assert.equal(cutter.push(encoder.encode("\n\n"))?.length, maxEventBytes + 2);
  for (let count = 0; count < 10; count++) assert.equal(cutter.push(encoder.encode(`data: ${count}\n\n`))?.length, 9);
});

test("S4: EventBlocks takes 4 MB in pieces of 16 bytes, which would take minutes if each copied the rest", () => {
  const cutter = new EventBlocks();
  const piece = new Uint8Array(16).fill(0x61);
  for (let count = 0; count < 250_000; count++) assert.equal(cutter.push(piece), undefined);
  const block = cutter.push(encoder.encode("\n\n"));
  assert.equal(block?.length, 4_000_002);
  assert.equal(block?.lastIndexOf(0x61), 3_999_999);
});

test("EventBlocks never writes to a block it handed out", () => {
  const cutter = new EventBlocks();
  const blocks: (Uint8Array | undefined)[] = [];
  for (const chunk of ["data: a", "\n\ndata: b", "b", "\n\ndata: ccc", "c", "\n\n"])
    blocks.push(cutter.push(encoder.encode(chunk)));
  const texts = blocks.map((block) => (block ? decoder.decode(block) : undefined));
  assert.deepEqual(texts, [undefined, "data: a\n\n", undefined, "data: bb\n\n", undefined, "data: cccc\n\n"]);
});

for (const [block, event] of [
  ["", undefined],
  [": comment", undefined],
  ["event: x", undefined],
  ["data", { event: "", data: "" }],
  ["data:", { event: "", data: "" }],
  ["data: ", { event: "", data: "" }],
  ["data: a:b", { event: "", data: "a:b" }],
  ["data: a\ndata\ndata: b", { event: "", data: "a\n\nb" }],
  ["datax: a", undefined],
  [" data: a", undefined],
  ["event: a\nevent: b\ndata: c", { event: "b", data: "c" }],
] as const) {
  test(`readEvent() reads ${JSON.stringify(block)}`, () => assert.deepEqual(readEvent(block), event));
}

for (const [payload, event, text] of [
  [{ a: "x\ny" }, undefined, 'data: {"a":"x\\ny"}\n\n'],
  ["\u2028", undefined, 'data: "\u2028"\n\n'],
  [null, "error", "event: error\ndata: null\n\n"],
  [1, "a\r\nb\0c", "event: a  b c\ndata: 1\n\n"],
] as const) {
  test(`S5: encodeEvent() writes ${JSON.stringify(payload)} as one line of data`, () => {
    const written = encodeEvent(payload, event);
    assert.equal(written, text);
    assert.deepEqual(
      readEvents(written).map(({ data }) => JSON.parse(data)),
      [payload],
    );
  });
}

test("doneEvent is a whole block", () => {
  assert.deepEqual(readEvents(doneEvent + doneEvent), [
    { event: "", data: "[DONE]" },
    { event: "", data: "[DONE]" },
  ]);
});

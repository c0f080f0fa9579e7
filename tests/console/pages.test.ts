import assert from "node:assert/strict";
import { test } from "node:test";
import { readEventData } from "../../console/src/lib/event-stream.ts";
import { formatJson } from "../../console/src/lib/format-json.ts";

for (const [written, wanted] of [
  ['{"a":1,"b":[],"c":{}}', '{\n  "a": 1,\n  "b": [],\n  "c": {}\n}'],
  ['[{"n":12345678901234567890},1.50e3]', '[\n  {\n    "n": 12345678901234567890\n  },\n  1.50e3\n]'],
  [
    '{"text":"a, {b}: [c] \\" \\\\","x":[true,null]}',
    '{\n  "text": "a, {b}: [c] \\" \\\\",\n  "x": [\n    true,\n    null\n  ]\n}',
  ],
  ['{ "a" : [ ] }', '{\n  "a": []\n}'],
  ['"[]{}"', '"[]{}"'],
  ["{broken", "{broken"],
  ["", ""],
] as const) {
  test(`formatJson() lays out ${written.slice(0, 30) || "an empty text"} and keeps what it says`, () => {
    assert.equal(formatJson(written), wanted);
  });
}

const stream =
  'data: {"a":1}\n\n: a comment\n\nevent: x\ndata: first\ndata: second\n\ndata:bare\r\n\r\ndata: ü\n\ndata: [DONE]\n\n';
const events = ['{"a":1}', "first\nsecond", "bare", "ü", "[DONE]"];

/** A response whose body arrives in pieces of `size` bytes. */
function inPieces(text: string, size: number, onCancel = () => {}): Response {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
    cancel: onCancel,
  });
  return new Response(body);
}

test("readEventData() reads the same events in pieces of every size, the last one also without its empty line", async () => {
  for (let size = 1; size <= stream.length; size++) {
    assert.deepEqual(await Array.fromAsync(readEventData(inPieces(stream, size))), events, `${size} bytes`);
  }
  const cut = inPieces("data: a\n\ndata: b", 4);
  assert.deepEqual(await Array.fromAsync(readEventData(cut)), ["a", "b"]);
});

test("readEventData() cancels the response when its reader stops", async () => {
  let cancelled = false;
  const endless = inPieces("data: a\n\n".repeat(10_000), 9, () => {
    cancelled = true;
  });
  for await (const data of readEventData(endless)) {
    assert.equal(data, "a");
    break;
  }
  assert.equal(cancelled, true);
});

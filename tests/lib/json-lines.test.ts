import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonLineBlocks } from "../../src/lib/json-lines.ts";
import { EventTooLongError, maxEventBytes } from "../../src/lib/sse.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function cut(pieces: readonly Uint8Array[]): string {
  const blocks = new JsonLineBlocks();
  const whole = [...pieces.map((piece) => blocks.push(piece)), blocks.takeRest()];
  return whole.map((block) => (block ? decoder.decode(block) : "")).join("");
}

const text = '{"a":1}\r\n\n: note\nevent: x\ndata: {"a":"é"}\n{"a":3}';
const events = 'data: {"a":1}\n\ndata: {"a":"é"}\n\ndata: {"a":3}\n\n';

test("JsonLineBlocks makes an event of each line with JSON, wherever the pieces end", () => {
  const bytes = encoder.encode(text);
  assert.equal(cut([bytes]), events);
  assert.equal(cut(Array.from(bytes, (byte) => Uint8Array.of(byte))), events);
  for (let at = 1; at < bytes.length; at++) assert.equal(cut([bytes.slice(0, at), bytes.slice(at)]), events);
});

test("JsonLineBlocks takes [DONE]", () => {
  assert.equal(cut([encoder.encode("data: [DONE]\n")]), "data: [DONE]\n\n");
});

test("JsonLineBlocks refuses a line that is too long", () => {
  const blocks = new JsonLineBlocks();
  const piece = encoder.encode("x".repeat(maxEventBytes / 2));
  blocks.push(piece);
  blocks.push(piece);
  assert.throws(() => blocks.push(piece), EventTooLongError);
});

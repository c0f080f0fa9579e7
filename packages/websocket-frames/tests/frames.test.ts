import assert from "node:assert/strict";
import { test } from "node:test";
import {
  encodeClose,
  encodeFrame,
  encodeMessage,
  FrameReader,
  opcodes,
  type SocketEvent,
  SocketProtocolError,
} from "../src/frames.ts";

const mask = Uint8Array.of(1, 2, 250, 4);
const bytes = (...values: number[]) => Uint8Array.from(values);
const join = (...parts: readonly Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
const reader = (options: { expectsMask?: boolean; maxMessageBytes?: number } = {}) =>
  new FrameReader({ expectsMask: false, maxMessageBytes: 1_000_000, ...options });

/** A frame that is not the last of its message. */
function unfinished(opcode: number, payload: Uint8Array): Uint8Array {
  const frame = encodeFrame(opcode, payload);
  frame[0] = opcode;
  return frame;
}

/** What is read of bytes that come in pieces of one size. */
function readInPieces(sent: Uint8Array, size: number, options?: Parameters<typeof reader>[0]): SocketEvent[] {
  const one = reader(options);
  const events: SocketEvent[] = [];
  for (let at = 0; at < sent.length; at += size) events.push(...one.push(sent.subarray(at, at + size)));
  return events;
}

test("FrameReader reads what the encoder wrote, masked or not, at any split", () => {
  const messages = ["", "a", "\ufeffé🎉", "x".repeat(125), "x".repeat(126), "x".repeat(65_536), bytes(), bytes(0, 255)];
  for (const key of [undefined, mask]) {
    const sent = join(
      ...messages.map((message) => encodeMessage(message, key)),
      encodeFrame(opcodes.ping, bytes(1), key),
      encodeClose({ code: 4001, reason: "bye ✓" }, key),
    );
    for (const size of [1, 2, 3, 7, 1_000, sent.length]) {
      const events = readInPieces(sent, size, { expectsMask: key !== undefined });
      assert.deepEqual(events, [
        ...messages.map((message) => ({ kind: "message", message })),
        { kind: "ping", payload: bytes(1) },
        { kind: "close", close: { code: 4001, reason: "bye ✓" } },
      ]);
    }
  }
});

test("FrameReader joins the parts of a message, with control frames between them", () => {
  const text = new TextEncoder().encode("é🎉");
  const sent = join(
    unfinished(opcodes.text, text.subarray(0, 1)),
    encodeFrame(opcodes.pong, bytes()),
    unfinished(opcodes.continuation, bytes()),
    unfinished(opcodes.continuation, text.subarray(1, 4)),
    encodeFrame(opcodes.continuation, text.subarray(4)),
  );
  for (const size of [1, 2, sent.length]) {
    assert.deepEqual(readInPieces(sent, size), [
      { kind: "pong", payload: bytes() },
      { kind: "message", message: "é🎉" },
    ]);
  }
});

test("FrameReader reads a close without a code as 1005", () => {
  assert.deepEqual(readInPieces(encodeClose({ code: 1005, reason: "" }), 1), [
    { kind: "close", close: { code: 1005, reason: "" } },
  ]);
});

const text = opcodes.text;
for (const [name, sent, code] of [
  ["a reserved bit", bytes(0xc1, 0), 1002],
  ["an unknown kind", bytes(0x83, 0), 1002],
  ["a masked frame of a server", encodeFrame(text, bytes(65), mask), 1002],
  ["a control frame in parts", bytes(0x09, 0), 1002],
  ["a long control frame", bytes(0x89, 126, 0, 126), 1002],
  ["a part without beginning", encodeFrame(opcodes.continuation, bytes()), 1002],
  ["a message inside another one", join(unfinished(text, bytes(65)), encodeFrame(text, bytes(65))), 1002],
  ["half a code", encodeFrame(opcodes.close, bytes(3)), 1002],
  ["a text that is not UTF-8", encodeFrame(text, bytes(0xc3, 0x28)), 1007],
  ["a reason that is not UTF-8", encodeFrame(opcodes.close, bytes(3, 232, 0xff)), 1007],
  ["a large message", encodeFrame(text, new Uint8Array(101)), 1009],
  ["a large message before it came", bytes(0x81, 127, 0, 0, 0, 0, 255, 255, 255, 255), 1009],
  ["a length beyond what numbers hold", bytes(0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255), 1009],
  [
    "parts that are large together",
    join(unfinished(text, new Uint8Array(60)), encodeFrame(0, new Uint8Array(60))),
    1009,
  ],
] as const) {
  test(`FrameReader refuses ${name} with ${code}`, () => {
    assert.throws(
      () => readInPieces(sent, sent.length, { maxMessageBytes: 100 }),
      (error) => error instanceof SocketProtocolError && error.close.code === code,
    );
  });
}

test("FrameReader returns the events before a violation", () => {
  const sent = join(encodeMessage("a"), bytes(0x83, 0));
  const heard: SocketEvent[] = [];
  assert.throws(() => {
    for (const event of reader().push(sent)) heard.push(event);
  }, SocketProtocolError);
  assert.deepEqual(heard, [{ kind: "message", message: "a" }]);
});

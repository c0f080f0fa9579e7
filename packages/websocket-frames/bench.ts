// Time to encode and read messages of a client, relative to ws.
// Usage: node scripts/run.mjs node packages/websocket-frames/bench.ts (Bun has no receiver of ws)

import { createRequire } from "node:module";
import { encodeMessage, FrameReader } from "./src/frames.ts";

/** What is used of ws; its types leave these classes out. */
interface Ws {
  Receiver: new (
    options: object,
  ) => {
    on(event: "message", listener: () => void): void;
    write(bytes: Uint8Array): void;
  };
  Sender: { frame(payload: Uint8Array, options: object): Uint8Array[] };
}
const { Receiver, Sender }: Ws = createRequire(import.meta.url)("ws");

const mask = Uint8Array.of(1, 2, 3, 4);
const count = 5_000;

/** Encodes and reads a message so many times. */
const sides = {
  ours(text: string) {
    const reader = new FrameReader({ expectsMask: true, maxMessageBytes: 1e6 });
    let messages = 0;
    for (let round = 0; round < count; round++) {
      for (const event of reader.push(encodeMessage(text, mask))) if (event.kind === "message") messages++;
    }
    return messages;
  },
  theirs(text: string) {
    const receiver = new Receiver({ isServer: true, allowSynchronousEvents: true });
    let messages = 0;
    receiver.on("message", () => messages++);
    const options = { fin: true, opcode: 1, mask: true, maskBuffer: Buffer.alloc(4), readOnly: false, rsv1: false };
    for (let round = 0; round < count; round++) {
      for (const bytes of Sender.frame(Buffer.from(text), options)) receiver.write(bytes);
    }
    return messages;
  },
};

/** The median of seven runs in milliseconds. */
function medianOf(run: (text: string) => number, text: string): number {
  const times = Array.from({ length: 7 }, () => {
    const startedAt = performance.now();
    if (run(text) === 0) throw new Error("No message was read");
    return performance.now() - startedAt;
  });
  return times.toSorted((one, other) => one - other)[3] ?? 0;
}

for (const length of [40, 2_000, 100_000]) {
  const text = "x".repeat(length);
  const [ours, theirs] = [medianOf(sides.ours, text), medianOf(sides.theirs, text)];
  console.log(`${length} bytes: ${(ours / theirs).toFixed(2)} of ws (${ours.toFixed(1)} and ${theirs.toFixed(1)} ms)`);
}

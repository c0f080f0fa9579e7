import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFrame, FrameReader } from "../../src/lib/frames.ts";
import { type Answer, Link, LinkClosedError } from "../../src/lib/link.ts";

/** Two links that are connected in this process. */
function createPair(answers: Readonly<Record<string, Answer>>) {
  const written: Uint8Array[] = [];
  const asking: Link = new Link(
    {
      write(bytes) {
        written.push(bytes);
        answering.receive(bytes);
      },
      end: () => answering.close(),
    },
    {},
  );
  const answering: Link = new Link({ write: (bytes) => asking.receive(bytes), end: () => asking.close() }, answers);
  return { asking, answering, written };
}

test("frames are found in pieces of every size", () => {
  const bytes = Uint8Array.from({ length: 300 }, (_, index) => index);
  const frames = [encodeFrame(["one", { text: "é" }]), encodeFrame([2], bytes), encodeFrame(null)];
  const whole = Uint8Array.from(frames.flatMap((frame) => [...frame]));
  for (let size = 1; size <= whole.length; size++) {
    const reader = new FrameReader();
    const found: unknown[] = [];
    for (let at = 0; at < whole.length; at += size) {
      for (const { head, bytes: more } of reader.push(whole.subarray(at, at + size))) found.push([head, more.length]);
    }
    assert.deepEqual(found, [
      [["one", { text: "é" }], 0],
      [[2], 300],
      [null, 0],
    ]);
  }
});

test("FrameReader.push() refuses what is not of the protocol", () => {
  assert.throws(() => new FrameReader().push(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n")), RangeError);
});

test("Link.ask() resolves with the answer, or rejects as it fails", async () => {
  const { asking, written } = createPair({
    double: ({ value }) => Number(value) * 2,
    later: async ({ bytes }) => bytes.length,
    fail() {
      throw new Error("No");
    },
  });
  const [two, three] = [asking.ask("double", 1), asking.ask("later", null, new Uint8Array(3))];
  assert.deepEqual(await Promise.all([two, three]), [2, 3]);
  assert.equal(written.length, 1, "what is sent in one turn goes out together");
  await assert.rejects(asking.ask("fail", null), /^Error: No$/);
  await assert.rejects(asking.ask("unknown", null), /not known/);
});

test("Link.close() on either side ends what waits", async () => {
  const { asking, answering } = createPair({ silent: () => new Promise(() => {}) });
  const ends: string[] = [];
  asking.onClose(() => ends.push("asking"));
  const asked = asking.ask("silent", null);
  await Promise.resolve();
  answering.close();
  await assert.rejects(asked, LinkClosedError);
  await assert.rejects(asking.ask("silent", null), LinkClosedError);
  asking.onClose(() => ends.push("late"));
  assert.deepEqual(ends, ["asking", "late"]);
});

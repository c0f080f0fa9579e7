import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 as zlibCrc32 } from "node:zlib";
import { AwsEventBlocks, DamagedMessageError } from "../../src/lib/aws-events.ts";
import { EventTooLongError, readEvents } from "../../src/lib/sse.ts";
import { message } from "../support/aws-message.ts";

const decoder = new TextDecoder();

const event = (type: string, payload: string) =>
  message({ ":event-type": type, ":content-type": "application/json", ":message-type": "event" }, payload);

/** Events that come out when the bytes go in as these pieces. */
function replay(pieces: Iterable<Uint8Array>): { event: string; data: string }[] {
  const blocks = new AwsEventBlocks();
  let text = "";
  for (const piece of pieces) text += decoder.decode(blocks.push(piece));
  assert.equal(blocks.takeRest(), undefined);
  return readEvents(text);
}

const stream = Buffer.concat([event("start", '{"a":"é ☂"}'), event("delta", "{}"), event("stop", '{"b":1}')]);
const wanted = [
  { event: "start", data: '{"a":"é ☂"}' },
  { event: "delta", data: "{}" },
  { event: "stop", data: '{"b":1}' },
];

test("AwsEventBlocks names events by their type", () => assert.deepEqual(replay([stream]), wanted));

test("AwsEventBlocks takes single bytes", () => {
  assert.deepEqual(replay(Array.from(stream, (byte) => Uint8Array.of(byte))), wanted);
});

test("AwsEventBlocks takes a cut at every byte", () => {
  for (let cut = 0; cut <= stream.length; cut++) {
    assert.deepEqual(replay([stream.subarray(0, cut), stream.subarray(cut)]), wanted, `cut at ${cut}`);
  }
});

test("AwsEventBlocks does not hand out bytes that change later", () => {
  const blocks = new AwsEventBlocks();
  const first = blocks.push(event("one", '{"x":1}'));
  const seen = decoder.decode(first);
  blocks.push(event("two", '{"y":2}'));
  assert.equal(decoder.decode(first), seen);
});

test("AwsEventBlocks finds damage at every byte, and hands out what came before it", () => {
  const good = event("start", "{}");
  const bad = event("delta", '{"text":"x"}');
  for (let index = 0; index < bad.length; index++) {
    const damaged = Buffer.from(bad);
    damaged[index] = (damaged[index] ?? 0) ^ 0x55;
    const blocks = new AwsEventBlocks();
    assert.deepEqual(readEvents(decoder.decode(blocks.push(Buffer.concat([good, damaged])))), [
      { event: "start", data: "{}" },
    ]);
    assert.throws(() => blocks.push(good), DamagedMessageError, `byte ${index}`);
    assert.throws(() => blocks.takeRest(), DamagedMessageError);
  }
});

for (const [name, bytes] of [
  ["headers that are longer than the message", message({}, "{}", (all) => withPrelude(all, all.length + 4, 400))],
  ["a header that is longer than the headers", message({ a: Buffer.from([7, 0xff, 0xff]) }, "{}")],
  ["a header that ends within its length", message({ a: Buffer.from([7]) }, "")],
  ["a length below that of an empty message", withPrelude(Buffer.alloc(20), 15, 0)],
] as const) {
  test(`AwsEventBlocks calls damage: ${name}`, () => {
    assert.throws(() => new AwsEventBlocks().push(bytes), DamagedMessageError);
  });
}

function withPrelude(bytes: Buffer, length: number, headers: number): Buffer {
  bytes.writeUInt32BE(length, 0);
  bytes.writeUInt32BE(headers, 4);
  bytes.writeUInt32BE(zlibCrc32(bytes.subarray(0, 8)), 8);
  return bytes;
}

test("AwsEventBlocks refuses a message that is too long before it is there", () => {
  assert.throws(() => new AwsEventBlocks().push(withPrelude(Buffer.alloc(12), 5 * 1024 * 1024, 0)), EventTooLongError);
});

test("AwsEventBlocks passes over headers of other types", () => {
  const headers = {
    t: Buffer.from([0]),
    f: Buffer.from([1]),
    byte: Buffer.from([2, 9]),
    short: Buffer.from([3, 0, 9]),
    int: Buffer.from([4, 0, 0, 0, 9]),
    long: Buffer.concat([Buffer.from([5]), Buffer.alloc(8)]),
    bytes: Buffer.from([6, 0, 2, 1, 2]),
    time: Buffer.concat([Buffer.from([8]), Buffer.alloc(8)]),
    uuid: Buffer.concat([Buffer.from([9]), Buffer.alloc(16)]),
    ":event-type": "delta",
    ":message-type": "event",
  };
  assert.deepEqual(replay([message(headers, "{}")]), [{ event: "delta", data: "{}" }]);
});

test("AwsEventBlocks keeps line breaks of names and payloads out of the events", () => {
  assert.deepEqual(replay([event("a\n\ndata: x", '{\n"a":\r\n1}')]), [{ event: "a  data: x", data: '{ "a": 1}' }]);
});

for (const [headers, payload, type, error] of [
  [
    { ":message-type": "exception", ":exception-type": "throttlingException" },
    '{"message":"slow \\"down\\"\\n"}',
    "throttlingException",
    { message: 'slow "down"\n', status: 429 },
  ],
  [
    { ":message-type": "exception", ":exception-type": "modelStreamErrorException" },
    '{"originalMessage":"model broke","originalStatusCode":500}',
    "modelStreamErrorException",
    { message: "model broke", status: 424 },
  ],
  [
    { ":message-type": "error", ":error-code": "InternalError", ":error-message": "broken" },
    "",
    "InternalError",
    { message: "broken" },
  ],
  [{ ":message-type": "exception", ":exception-type": "constructor" }, "text", "constructor", { message: "text" }],
  [{ ":message-type": "exception" }, "{}", "error", { message: "{}" }],
] as const) {
  test(`AwsEventBlocks makes an error of ${type}`, () => {
    const [found, ...more] = replay([message(headers, payload)]);
    assert.deepEqual(more, []);
    assert.equal(found?.event, type);
    assert.deepEqual(JSON.parse(found.data), { error: { type, code: type, ...error } });
  });
}

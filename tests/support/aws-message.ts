import { crc32 as zlibCrc32 } from "node:zlib";

/** A message as AWS writes it: framing and checksums made here, not by the code under test. */
export function message(
  headers: Record<string, string | Buffer>,
  payload: string,
  change = (bytes: Buffer) => bytes,
): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const named = Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name)]);
      if (typeof value !== "string") return Buffer.concat([named, value]);
      const text = Buffer.from(value);
      return Buffer.concat([named, Buffer.from([7, text.length >> 8, text.length & 0xff]), text]);
    }),
  );
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + head.length + body.length, 0);
  prelude.writeUInt32BE(head.length, 4);
  prelude.writeUInt32BE(zlibCrc32(prelude.subarray(0, 8)), 8);
  const signed = change(Buffer.concat([prelude, head, body]));
  const end = Buffer.alloc(4);
  end.writeUInt32BE(zlibCrc32(signed));
  return Buffer.concat([signed, end]);
}

/** A stream of events, each with the name of its type. */
export function awsStream(events: readonly { type: string; data: object }[]): Uint8Array<ArrayBuffer> {
  const messages = events.map(({ type, data }) =>
    message(
      { ":event-type": type, ":content-type": "application/json", ":message-type": "event" },
      JSON.stringify(data),
    ),
  );
  return Uint8Array.from(Buffer.concat(messages));
}

/** A stream of InvokeModelWithResponseStream: what a model says, event by event. */
export function chunkStream(events: readonly object[]): Uint8Array<ArrayBuffer> {
  return awsStream(
    events.map((said) => ({
      type: "chunk",
      data: { bytes: Buffer.from(JSON.stringify(said)).toString("base64") },
    })),
  );
}

/** The bytes that were already read, then the rest. */
export function continued<Bytes extends Uint8Array>(
  pieces: Bytes[],
  reader: ReadableStreamDefaultReader<Bytes>,
): ReadableStream<Bytes> {
  return new ReadableStream<Bytes>(
    {
      async pull(controller) {
        const piece = pieces.shift();
        if (piece) return controller.enqueue(piece);
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

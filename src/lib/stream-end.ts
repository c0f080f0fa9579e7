/**
 * A body that reports its end once, whether it was read, failed or was cancelled.
 *
 * @param strategy How much is read ahead; default: nothing.
 */
export function withEnd<Chunk>(
  body: ReadableStream<Chunk>,
  onEnd: () => void,
  strategy: QueuingStrategy<Chunk> = { highWaterMark: 0 },
): ReadableStream<Chunk> {
  const reader = body.getReader();
  return new ReadableStream<Chunk>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          onEnd();
          controller.close();
        } catch (error) {
          onEnd();
          controller.error(error);
        }
      },
      cancel(reason) {
        onEnd();
        return reader.cancel(reason);
      },
    },
    strategy,
  );
}

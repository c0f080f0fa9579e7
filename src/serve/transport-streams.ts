import type { Readable } from "node:stream";
import { OutboundError, toOutboundError } from "../lib/outbound.ts";

/** Bytes a body stream holds before its source is paused. */
const bufferedBytes = 65_536;

/** Counts the queue of a body stream in bytes. */
export const byteStrategy: QueuingStrategy<Uint8Array> = {
  highWaterMark: bufferedBytes,
  size: (chunk) => chunk.byteLength,
};

/** Statuses whose answers have no body (https://fetch.spec.whatwg.org/#null-body-status). */
const bodiless = new Set([101, 204, 205, 304]);

/** Whether an answer has a body to stream. */
export function hasBody(method: string, status: number): boolean {
  return method !== "HEAD" && !bodiless.has(status);
}

/**
 * A Node stream of bytes as a web stream, read only as fast as the web stream is.
 *
 * @param options.isComplete Asked at the end; false turns the end into an error.
 * @param options.onCancel Called when the reader loses interest.
 */
export function toWebStream(
  source: Readable,
  options: { isComplete: () => boolean; onCancel: () => void; signal?: AbortSignal },
): ReadableStream<Uint8Array> {
  let open = true;
  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, error: unknown) => {
    if (!open) return;
    open = false;
    controller.error(toOutboundError(error, options.signal));
  };
  const earlyEnd = () => new OutboundError("reset", "Cannot read the answer: it ended early");
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        source.on("data", (chunk: Uint8Array) => {
          if (!open) return;
          controller.enqueue(chunk);
          if ((controller.desiredSize ?? 0) <= 0) source.pause();
        });
        source.on("end", () => {
          if (!options.isComplete()) return fail(controller, earlyEnd());
          if (open) controller.close();
          open = false;
        });
        source.on("error", (error) => fail(controller, error));
        source.on("close", () => fail(controller, earlyEnd()));
      },
      pull() {
        source.resume();
      },
      cancel() {
        open = false;
        options.onCancel();
      },
    },
    byteStrategy,
  );
}

/** Value of a header whatever the case of its name. */
export function findHeader(headers: Readonly<Record<string, string>>, name: string): string | undefined {
  if (Object.hasOwn(headers, name)) return headers[name];
  for (const key in headers) if (key.length === name.length && key.toLowerCase() === name) return headers[key];
  return undefined;
}

/** Chunks of a web stream. Unlike the stream's own iterator, `return` cancels at once, also while a chunk is awaited. */
export function iterateChunks(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const reader = stream.getReader();
      return {
        async next(): Promise<IteratorResult<Uint8Array>> {
          const { done, value } = await reader.read();
          return done ? { done, value: undefined } : { done, value };
        },
        async return(): Promise<IteratorResult<Uint8Array>> {
          await reader.cancel().catch(() => {});
          return { done: true, value: undefined };
        },
      };
    },
  };
}

const formats: Readonly<Record<string, string>> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  deflate: "deflate",
  br: "brotli",
};

const maxCodings = 2;

/**
 * The answer with its content codings undone and their header removed; the same object when it has none.
 *
 * @throws {OutboundError} Of kind `bad_answer`, when there are more than two codings or an unknown one.
 */
export function decodeAnswer(answer: Response, signal?: AbortSignal): Response {
  const header = answer.headers.get("content-encoding");
  if (header === null) return answer;
  const codings = header
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  const names = codings.map((coding) => (Object.hasOwn(formats, coding) ? formats[coding] : undefined));
  if (codings.length > maxCodings || names.includes(undefined)) {
    answer.body?.cancel().catch(() => {});
    throw new OutboundError("bad_answer", "Cannot read the answer: its content coding is not supported");
  }
  let body: Bytes | null = answer.body;
  for (const name of names.reverse()) if (body && name) body = decode(body, name, signal);
  const headers = new Headers(answer.headers);
  headers.delete("content-encoding");
  if (body) headers.delete("content-length");
  return new Response(body, { status: answer.status, statusText: answer.statusText, headers });
}

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

/** Undoes one coding. `pipeThrough` is not used: on Node its cancel does not reach the source while it waits for data. */
function decode(body: Bytes, format: string, signal?: AbortSignal): Bytes {
  const decoder = new DecompressionStream(format as CompressionFormat); // the DOM types do not list "brotli" yet
  const reader = decoder.readable.getReader();
  const stop = new AbortController();
  body.pipeTo(decoder.writable, { signal: stop.signal }).catch(() => {}); // the reader sees the same error
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          controller.error(toDecodingError(error, signal));
        }
      },
      async cancel(reason) {
        stop.abort(reason);
        await reader.cancel(reason).catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

/** Errors of the upstream's stream keep their class; what is left comes from the decoder. */
function toDecodingError(error: unknown, signal?: AbortSignal): OutboundError {
  const classified = toOutboundError(error, signal);
  if (classified.kind !== "invalid_request" && classified.kind !== "unreachable") return classified;
  return new OutboundError("bad_answer", "Cannot read the answer: its content coding is broken", { cause: error });
}

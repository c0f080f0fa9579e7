import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { OutboundError, toOutboundError } from "../lib/outbound.ts";

/** Bytes buffered by a body stream before its source is paused. */
const bufferedBytes = 65_536;

/** Measures the queue of a body stream in bytes. */
export const byteStrategy: QueuingStrategy<Uint8Array> = {
  highWaterMark: bufferedBytes,
  size: (chunk) => chunk.byteLength,
};

/** Statuses without a response body (https://fetch.spec.whatwg.org/#null-body-status). */
const bodiless = new Set([101, 204, 205, 304]);

/** Whether a response has a body. */
export function hasBody(method: string, status: number): boolean {
  return method !== "HEAD" && !bodiless.has(status);
}

/**
 * Converts a Node stream of bytes to a web stream with backpressure.
 *
 * @param options.isComplete Called at the end; false turns the end into an error.
 * @param options.onCancel Called when the reader cancels.
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
  const earlyEnd = () => new OutboundError("reset", "Cannot read the response: it ended early");
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

/** Headers of a message as sent, repeated ones joined. */
export function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  }
  return headers;
}

/** Value of a header; names are case-insensitive. */
export function findHeader(headers: Readonly<Record<string, string>>, name: string): string | undefined {
  if (Object.hasOwn(headers, name)) return headers[name];
  for (const key in headers) if (key.length === name.length && key.toLowerCase() === name) return headers[key];
  return undefined;
}

/**
 * Chunks of a request's body. Unlike the stream's own iterator, `return` cancels at once, even while a chunk is awaited.
 * A body that fails ends the request like an abort.
 *
 * @param length Announced length; another length would desynchronise the connection and is an error.
 */
export function iterateChunks(stream: ReadableStream<Uint8Array>, length?: number): AsyncIterableIterator<Uint8Array> {
  const reader = stream.getReader();
  let sent = 0;
  const read = () =>
    reader.read().catch((cause: unknown) => {
      throw new OutboundError("aborted", "Cannot finish the request: its body broke off", { cause });
    });
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const { done, value } = await read();
      sent += value?.byteLength ?? 0;
      if (length !== undefined && (done ? sent !== length : sent > length)) {
        throw new OutboundError("invalid_request", "Cannot send the body: it is not as long as announced");
      }
      return done ? { done, value: undefined } : { done, value };
    },
    async return() {
      await reader.cancel().catch(() => {});
      return { done: true, value: undefined };
    },
  };
}

/** Length that a request announces for its body, if any. */
export function announcedLength(headers: Readonly<Record<string, string>>): number | undefined {
  const length = findHeader(headers, "content-length");
  return length === undefined ? undefined : Number(length);
}

/** The same body for `fetch`, with its errors marked, so that they are not taken for connection errors. */
export function markBody(stream: ReadableStream<Uint8Array>, length?: number): ReadableStream<Uint8Array> {
  const chunks = iterateChunks(stream, length);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

const formats: Readonly<Record<string, string>> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  deflate: "deflate",
  br: "brotli",
};

const maxCodings = 2;

/**
 * The response without content codings; the same object if it has none.
 *
 * @throws {OutboundError} With `bad_answer`, for more than two codings or an unknown one.
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
    throw new OutboundError("bad_answer", "Cannot read the response: its content coding is not supported");
  }
  let body: Bytes | null = answer.body;
  for (const name of names.reverse()) if (body && name) body = decode(body, name, signal);
  const headers = new Headers(answer.headers);
  headers.delete("content-encoding");
  if (body) headers.delete("content-length");
  return new Response(body, { status: answer.status, statusText: answer.statusText, headers });
}

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

/** Decodes one coding. `pipeThrough` is not used: on Node its cancel does not reach a waiting source. */
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

/** Errors of the upstream's stream keep their class; all others come from the decoder. */
function toDecodingError(error: unknown, signal?: AbortSignal): OutboundError {
  const classified = toOutboundError(error, signal);
  if (classified.kind !== "invalid_request" && classified.kind !== "unreachable") return classified;
  return new OutboundError("bad_answer", "Cannot read the response: its content coding is broken", { cause: error });
}

import { joinBytes } from "./bytes.ts";
import { startTimer } from "./clock.ts";
import { giveWay } from "./pace.ts";
import type { Timers } from "./timers.ts";

/** Why a body could not be read. */
export type BodyProblem = "too_large" | "expands" | "timeout" | "broken" | "busy";

/** A body could not be read. */
export class BodyError extends Error {
  override readonly name = "BodyError";
  readonly problem: BodyProblem;
  constructor(problem: BodyProblem, options?: ErrorOptions) {
    super(`Cannot read the body: ${problem}`, options);
    this.problem = problem;
  }
}

/** Limits of reading a body. */
export interface BodyBounds {
  /** Largest size in bytes. */
  bytes: number;
  /** Time limit for the whole body in milliseconds; may be infinite. */
  totalMs: number;
  /** Idle limit between two chunks in milliseconds; may be infinite. */
  silenceMs: number;
  /** Shared timers; without them each body has separate ones. */
  timers?: Timers;
  /** Reserves memory for a body of this many bytes, called before they are read; not called for small bodies. */
  reserve?: (bytes: number) => Promise<void> | undefined;
}

/** Time limits for clients sending a body. */
export const receiveTimes = { totalMs: 60_000, silenceMs: 15_000 };

/** Time limits for clients sending a file. */
export const uploadTimes = { totalMs: 30 * 60_000, silenceMs: 60_000 };

/** A body this small is read at once, within the idle limit. */
const smallBody = 64 * 1024;

/** Room for the beginning of a body whose length is not declared: most responses of models are not much longer. */
const firstRoom = 4 * 1024;

/** Parsing a body this large takes milliseconds. */
const largeBody = 1024 * 1024;

const empty = new Uint8Array(0);

/**
 * Reads the bytes of a body, counting them regardless of its headers.
 *
 * @throws {BodyError}
 */
export function readBytes(message: Request | Response, bounds: BodyBounds): Promise<Uint8Array> {
  const declared = message.headers.get("content-length");
  const length = declared === null ? Number.NaN : Number(declared);
  if (length > bounds.bytes) return Promise.reject(new BodyError("too_large"));
  // this comes before any access to `body`, which on Bun converts buffered bytes to a stream
  if (length <= smallBody) return readAtOnce(message, bounds);
  if (message.body === null) return Promise.resolve(empty);
  return readCounted(message.body, bounds, Number.isSafeInteger(length) ? length : undefined);
}

/** The beginning of a text, at most `maxBytes` without a partial character; the rest is not read. */
export async function readBeginning(message: Response, maxBytes: number): Promise<Uint8Array> {
  const reader = message.body?.getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  while (reader && length <= maxBytes) {
    const { done, value } = await reader.read();
    if (done) return joinBytes(pieces);
    pieces.push(value);
    length += value.length;
  }
  reader?.cancel().catch(() => {});
  const bytes = joinBytes(pieces);
  let end = Math.min(maxBytes, length);
  // continuation bytes of UTF-8 begin with the bits 10
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.slice(0, end);
}

/** Reads a small body at once; a client that stalls is not waited for. */
function readAtOnce(message: Request | Response, { bytes, silenceMs, timers }: BodyBounds): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const isTimed = silenceMs !== Number.POSITIVE_INFINITY;
    const cancel = isTimed ? start(timers, silenceMs, () => reject(new BodyError("timeout"))) : undefined;
    message.arrayBuffer().then(
      (buffer) => {
        cancel?.();
        if (buffer.byteLength > bytes) reject(new BodyError("too_large"));
        else resolve(new Uint8Array(buffer));
      },
      (cause) => {
        cancel?.();
        reject(new BodyError("broken", { cause }));
      },
    );
  });
}

/** Starts a timer, a shared one if available. */
function start(timers: Timers | undefined, delayMs: number, action: () => void): () => void {
  return timers ? timers.start(delayMs, action) : startTimer(delayMs, action);
}

/** Reads a body of any length, within the idle limit and the total limit. */
async function readCounted(
  body: ReadableStream<Uint8Array>,
  bounds: BodyBounds,
  expected: number | undefined,
): Promise<Uint8Array> {
  const { reserve } = bounds;
  if (expected !== undefined) await makeRoom(reserve, expected, body);
  let bytes = new Uint8Array(expected ?? firstRoom);
  let length = 0;
  const reader = body.getReader();
  const clock = watchReader(reader, bounds);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (clock.expired) throw new BodyError("timeout");
      // the result may be stored, so it must not occupy much more memory than its size
      if (done) {
        if (bytes.length > smallBody) reserve?.(length);
        // parsing takes a while: several large bodies that are complete at once must not be parsed without a pause
        if (length > largeBody) await giveWay();
        return length * 2 < bytes.length ? bytes.slice(0, length) : bytes.subarray(0, length);
      }
      if (length + value.length > bounds.bytes) throw new BodyError("too_large");
      if (length + value.length > bytes.length) {
        const room = Math.max(Math.min(bytes.length * 2, bounds.bytes), length + value.length);
        if (room > smallBody) await makeRoom(reserve, room, reader);
        const larger = new Uint8Array(room);
        larger.set(bytes.subarray(0, length));
        bytes = larger;
      }
      bytes.set(value, length);
      length += value.length;
      clock.lastByteAt = performance.now();
    }
  } catch (cause) {
    reader.cancel(cause).catch(() => {});
    throw cause instanceof BodyError ? cause : new BodyError(clock.expired ? "timeout" : "broken", { cause });
  } finally {
    clock.stop();
  }
}

/** Waits for memory; a body that gets none is not read any further. */
async function makeRoom(
  reserve: BodyBounds["reserve"],
  bytes: number,
  source: ReadableStream<Uint8Array> | ReadableStreamDefaultReader<Uint8Array>,
): Promise<void> {
  if (!reserve) return;
  try {
    const room = reserve(bytes);
    if (room) await room.then(giveWay);
  } catch (cause) {
    source.cancel(cause).catch(() => {});
    throw new BodyError("busy", { cause });
  }
}

/** Cancels a reader when the idle limit or the total limit is exceeded. */
function watchReader(reader: ReadableStreamDefaultReader<Uint8Array>, { totalMs, silenceMs, timers }: BodyBounds) {
  const startedAt = performance.now();
  let stop: (() => void) | undefined;
  const watch = { expired: false, lastByteAt: startedAt, stop: () => stop?.() };
  const arm = () => {
    const delayMs = Math.min(startedAt + totalMs, watch.lastByteAt + silenceMs) - performance.now();
    if (delayMs === Number.POSITIVE_INFINITY) return;
    if (delayMs <= 0) {
      watch.expired = true;
      reader.cancel().catch(() => {});
    } else stop = start(timers, delayMs, arm);
  };
  arm();
  return watch;
}

/** The same bytes on demand; fails with a `BodyError` when a limit is exceeded. */
export function countBytes(body: ReadableStream<Uint8Array>, bounds: BodyBounds): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const deadline = performance.now() + bounds.totalMs;
  let count = 0;
  const fail = (error: BodyError): never => {
    reader.cancel(error).catch(() => {});
    throw error;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let expired = false;
        const cancelTimer = start(bounds.timers, Math.min(bounds.silenceMs, deadline - performance.now()), () => {
          expired = true;
          reader.cancel().catch(() => {});
        });
        try {
          const { done, value } = await reader.read();
          if (expired) fail(new BodyError("timeout"));
          if (done) return controller.close();
          count += value.length;
          if (count > bounds.bytes) fail(new BodyError("too_large"));
          controller.enqueue(value);
        } catch (cause) {
          throw cause instanceof BodyError ? cause : new BodyError("broken", { cause });
        } finally {
          cancelTimer();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Largest expansion of a compressed body when decoded, above `freeExpansion`. */
const maxExpansion = 20;
const freeExpansion = 1024 * 1024;

/**
 * Decodes one gzip or deflate layer within the same limits. JSON seldom compresses to less than a tenth; a body that
 * expands far more is treated as an attack.
 *
 * @throws {BodyError}
 */
export async function inflate(bytes: Uint8Array, coding: "gzip" | "deflate", bounds: BodyBounds): Promise<Uint8Array> {
  const expanded = Math.max(freeExpansion, bytes.length * maxExpansion);
  const source = new Response(Uint8Array.from(bytes)).body ?? new ReadableStream<Uint8Array<ArrayBuffer>>();
  const limited = { ...bounds, bytes: Math.min(bounds.bytes, expanded) };
  try {
    return await readCounted(source.pipeThrough(new DecompressionStream(coding)), limited, undefined);
  } catch (error) {
    const isTooLarge = error instanceof BodyError && error.problem === "too_large";
    throw isTooLarge && expanded < bounds.bytes ? new BodyError("expands", { cause: error }) : error;
  }
}

/** Chunks of a response body. The body is cancelled when the reader stops early. */
export async function* readChunks({ body }: Response): AsyncGenerator<Uint8Array, void> {
  const reader = body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

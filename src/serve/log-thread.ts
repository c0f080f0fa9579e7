import { Worker } from "node:worker_threads";
import type { DatabaseLocation } from "../db/client.ts";
import { type PackedBatch, packRecords } from "../logs/pack.ts";
import { createRedactor, type RedactionSettings } from "../logs/redact.ts";
import type { LogWriter } from "../logs/writer.ts";
import { nodeMac } from "./environment.ts";

/** Initial data of the thread. */
export interface WorkerSettings {
  location: DatabaseLocation;
  /** Without the key for hiding headers: that is done before. */
  redaction: Omit<RedactionSettings, "key">;
}

/** A message to the thread. */
export type WorkerRequest =
  | { id: number; kind: "append"; batches: readonly PackedBatch[] }
  | { id: number; kind: "purge"; time: number; limit: number }
  | { id: number; kind: "close" };

/** A message without its id. */
type Ask = WorkerRequest extends infer Request ? (Request extends WorkerRequest ? Omit<Request, "id"> : never) : never;

/** A reply of the thread. */
export type WorkerReply = { id: number; count: number } | { id: number; failure: string };

interface Waiting {
  resolve(count: number): void;
  reject(error: Error): void;
}

/**
 * A reply is only processed when the busy request loop gets to it: with small batches, large bodies would arrive faster
 * than they are written, and be dropped.
 */
const threadBatchBytes = 4 * 1024 * 1024;

/** Location of the thread's code: beside this file, or in a compiled program below the root of the sources. */
const workerUrl = import.meta.url.endsWith("/log-thread.ts")
  ? new URL("./log-worker.ts", import.meta.url)
  : new URL("./src/serve/log-worker.js", import.meta.url);

/** A running thread and its pending messages. */
class LogThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  ended = false;

  constructor(settings: WorkerSettings) {
    this.#worker = new Worker(workerUrl, { workerData: settings });
    this.#worker.on("message", (reply: WorkerReply) => this.#settle(reply));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new Error("Cannot write log rows: the thread ended")));
    this.#worker.unref();
  }

  /** @param handedOver Memory that is transferred to the thread. */
  ask(request: Ask, handedOver: ArrayBuffer[] = []): Promise<number> {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.ref(); // at the end only this keeps the process alive until the last rows are stored
      this.#worker.postMessage({ ...request, id }, handedOver);
    });
  }

  async close(): Promise<void> {
    if (!this.ended) await this.ask({ kind: "close" });
    this.ended = true;
    await this.#worker.terminate();
  }

  #settle(reply: WorkerReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ("failure" in reply) waiting?.reject(new Error(reply.failure));
    else waiting?.resolve(reply.count);
  }

  #fail(error: Error): void {
    this.ended = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/**
 * A log writer on a separate thread: the request loop hides headers and transfers the records; the thread masks other
 * secrets. If the thread ends, the next write starts a new one.
 */
export function createLogThread(location: DatabaseLocation, redaction: RedactionSettings): LogWriter {
  const { key, ...names } = redaction;
  const redactor = createRedactor({ ...names, mac: nodeMac(key) });
  const settings: WorkerSettings = { location, redaction: names };
  // started early: until it runs, a killed process loses the waiting rows
  let thread = new LogThread(settings);
  const running = (): LogThread => {
    if (thread.ended) thread = new LogThread(settings);
    return thread;
  };
  return {
    batchBytes: threadBatchBytes,
    async append(records) {
      const packed = packRecords(records, redactor);
      const batches = packed instanceof Promise ? await packed : packed;
      const memory = batches.map(({ bodies }) => bodies.buffer);
      await running().ask({ kind: "append", batches }, memory);
    },
    purge: (time, limit) => running().ask({ kind: "purge", time, limit }),
    async close() {
      await thread.close();
    },
  };
}

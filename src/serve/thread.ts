import { parentPort, Worker } from "node:worker_threads";
import { DatabaseAwayError, isDatabaseAway } from "../lib/database-away.ts";

/** A message to a thread, without the id under which its reply comes. */
export type Ask<Request> = Request extends { id: number } ? Omit<Request, "id"> : never;

/** A reply of a thread: each message gets one. */
type ThreadReply = { id: number; value: unknown } | { id: number; failure: string; isAway: boolean };

/** Errors of a thread are new ones here. Of what they were, it matters whether the database is away. */
function toError({ failure, isAway }: { failure: string; isAway: boolean }): Error {
  const error = new Error(failure);
  return isAway ? new DatabaseAwayError(error) : error;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Location of a thread's code: beside this file, or in a compiled program below the root of the sources. */
function locate(name: string): URL {
  // `.js` in the npm package
  const [, ending] = /\/thread(\.[jt]s)$/.exec(import.meta.url) ?? [];
  return new URL(ending === undefined ? `./src/serve/${name}.js` : `./${name}${ending}`, import.meta.url);
}

/** A running thread and its pending messages. It does not keep the process alive, but its pending messages do. */
export class Thread<Request extends { id: number; kind: string }> {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  ended = false;

  /**
   * @param name File of its code in this folder, without extension.
   * @param data What its code gets as `workerData`.
   */
  constructor(name: string, data?: unknown) {
    this.#worker = new Worker(locate(name), { workerData: data });
    this.#worker.on("message", (reply: ThreadReply) => this.#settle(reply));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new Error(`The thread ${name} ended`)));
    this.#worker.unref();
  }

  /** @param handedOver Memory that is transferred to the thread. */
  ask<Value = number>(request: Ask<Request>, handedOver: ArrayBuffer[] = []): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      const id = this.#next++;
      // the code of the thread gives each kind of message its kind of reply
      this.#waiting.set(id, { resolve: (value) => resolve(value as Value), reject });
      this.#worker.ref(); // at the end only this keeps the process alive until the last messages are done
      this.#worker.postMessage({ ...request, id }, handedOver);
    });
  }

  async end(): Promise<void> {
    this.ended = true;
    await this.#worker.terminate();
  }

  #settle(reply: ThreadReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ("failure" in reply) waiting?.reject(toError(reply));
    else waiting?.resolve(reply.value);
  }

  #fail(error: Error): void {
    this.ended = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** Runs the messages of the thread that calls this: each gets one reply. */
export function serveThread<Request extends { id: number }>(run: (request: Request) => Promise<unknown>): void {
  parentPort?.on("message", (request: Request) => {
    const { id } = request;
    const reply = (message: ThreadReply) => parentPort?.postMessage(message);
    run(request).then(
      (value) => reply({ id, value }),
      (error: unknown) => reply({ id, failure: String(error), isAway: isDatabaseAway(error) }),
    );
  });
}

import type { Services } from "../../context.ts";
import { isConflict } from "../../db/client.ts";
import type { Lease } from "../../db/stores/batches.ts";
import type { VectorStoreFileRow } from "../../db/tables/vector-stores.ts";
import { indexFile, LaterError, leaseMs } from "./index-file.ts";

/** Files that this process works on at once; at most half of them belong to one organisation. */
const atOnce = 4;
/** Milliseconds between two searches for files without a runner. */
const lookEveryMs = 5_000;
const renewEveryMs = 15_000;
/** Files examined in one search. */
const maxExamined = 50;
/** A file that fails for a time is continued after this long, and twice as long after each further failure. */
const retryAfterMs = 10_000;
const maxRetryMs = 5 * 60_000;

/** What the runner is made from. */
interface VectorRunnerOptions {
  readonly services: Services;
  warn(message: string, error: unknown): void;
}

/** Makes the vectors of files in the background. */
export interface VectorRunner {
  /** Starts nothing more and ends running calls: files are continued from their last block. May be called again. */
  stop(): Promise<void>;
}

/** A file that this process works on. */
interface Run {
  readonly row: VectorStoreFileRow;
  /** Ends its calls when another runner holds it, or it was removed. */
  readonly lost: AbortController;
}

class Runner implements VectorRunner {
  readonly #options: VectorRunnerOptions;
  /** Names this runner among those of all processes. */
  readonly #owner = crypto.randomUUID();
  readonly #running = new Map<string, Run & { readonly done: Promise<void> }>();
  readonly #aborter = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;
  #looking: Promise<void> | undefined;
  #looksAgain = false;

  constructor(options: VectorRunnerOptions) {
    this.#options = options;
    options.services.vectorStores.onWake(() => {
      for (const run of this.#running.values()) this.#hold(run);
      this.#look();
    });
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
    this.#look();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#aborter.abort();
    await this.#looking;
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Searches for files without a runner; a request to search that arrives meanwhile is served afterwards. */
  #look(): void {
    if (this.#aborter.signal.aborted) return;
    this.#looksAgain = this.#looking !== undefined;
    this.#looking ??= this.#takeFree()
      .catch((error) => this.#options.warn("Cannot search for files of vector stores", error))
      .finally(() => {
        this.#looking = undefined;
        if (this.#looksAgain) this.#look();
      });
  }

  async #takeFree(): Promise<void> {
    const { clock, vectorStores } = this.#options.services;
    for (const row of await vectorStores.store.listFree(clock.now(), maxExamined)) {
      const name = `${row.storeId} ${row.id}`;
      if (this.#aborter.signal.aborted) return;
      if (this.#running.has(name) || !this.#hasRoomFor(row)) continue;
      const lease = this.#lease(leaseMs);
      if (!(await vectorStores.store.claim(row, lease, clock.now()))) continue;
      const run = { row: { ...row, leaseOwner: lease.owner, leaseUntil: lease.until }, lost: new AbortController() };
      const done = this.#run(run).finally(() => {
        this.#running.delete(name);
        this.#look();
      });
      this.#running.set(name, { ...run, done });
    }
  }

  #hasRoomFor({ organisationId }: VectorStoreFileRow): boolean {
    const own = [...this.#running.values()].filter(({ row }) => row.organisationId === organisationId).length;
    return this.#running.size < atOnce && own < atOnce / 2;
  }

  #lease(milliseconds: number): Lease {
    return { owner: this.#owner, until: this.#options.services.clock.now() + milliseconds };
  }

  /** Extends the hold on a file, or ends its calls. */
  #hold({ row, lost }: Run): void {
    this.#options.services.vectorStores.store.renew(row, this.#lease(leaseMs)).then(
      (isHeld) => {
        if (!isHeld) lost.abort();
      },
      (error) => this.#options.warn("Cannot hold a file of a vector store", error),
    );
  }

  async #run(run: Run): Promise<void> {
    const { row, lost } = run;
    const { services } = this.#options;
    const signal = AbortSignal.any([this.#aborter.signal, lost.signal]);
    const renewal = setInterval(() => this.#hold(run), renewEveryMs);
    try {
      await indexFile(row, { services, owner: this.#owner, signal, wait: (ms) => pause(ms, signal) });
    } catch (error) {
      await this.#putBack(run, error);
    } finally {
      clearInterval(renewal);
    }
  }

  /** Lets a file be continued: at once by another process where this one stops, later after a failure. */
  async #putBack({ row, lost }: Run, error: unknown): Promise<void> {
    // a conflict means that another runner has it, or nobody wants it
    if (isConflict(error) || lost.signal.aborted) return;
    const { warn, services } = this.#options;
    const { store } = services.vectorStores;
    const isStopping = this.#aborter.signal.aborted;
    if (!isStopping && !(error instanceof LaterError)) warn(`Cannot continue a file of ${row.storeId} now`, error);
    const file = await store.file({ ...row, id: row.storeId }, row.id, services.clock.now()).catch(() => undefined);
    const attempts = (file?.attempts ?? row.attempts) + (isStopping ? 0 : 1);
    const delay = isStopping ? 0 : Math.min(retryAfterMs * 2 ** (attempts - 1), maxRetryMs);
    await store.renew(row, this.#lease(delay), attempts).catch(() => {});
  }
}

/** Waits, until a signal ends it. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    signal.addEventListener("abort", finish);
  });
}

/** Creates the runner of a process and starts it. */
export function createVectorRunner(options: VectorRunnerOptions): VectorRunner {
  return new Runner(options);
}

import type { Services } from "../../context.ts";
import { LeasedRunner } from "../../control/leased-runner.ts";
import { isConflict } from "../../db/client.ts";
import type { VectorStoreFileRow } from "../../db/tables/vector-stores.ts";
import { indexFile, LaterError } from "./index-file.ts";

/** Files that this process works on at once; at most half of them belong to one organisation. */
const atOnce = 4;
/** Milliseconds between two searches for files without a runner. */
const lookEveryMs = 5_000;
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
  /** Starts nothing more, waits this many milliseconds, then ends running calls: files are continued from their last block. */
  stop(timeoutMs: number): Promise<void>;
}

class Runner extends LeasedRunner<VectorStoreFileRow> implements VectorRunner {
  readonly #options: VectorRunnerOptions;

  constructor(options: VectorRunnerOptions) {
    const { services, warn } = options;
    const { store } = services.vectorStores;
    const nouns = { one: "a file of a vector store", many: "files of vector stores" };
    super({ store, clock: services.clock, warn, nouns, atOnce, lookEveryMs });
    this.#options = options;
    services.vectorStores.onWake(() => this.wake());
  }

  /** A file may be in several stores. */
  protected override nameOf({ storeId, id }: VectorStoreFileRow): string {
    return `${storeId} ${id}`;
  }

  protected work(row: VectorStoreFileRow, signal: AbortSignal): Promise<void> {
    const { services } = this.#options;
    return indexFile(row, { services, owner: this.owner, signal, wait: (ms) => pause(ms, signal) });
  }

  /** At once by another process where this one stops, later after a failure. */
  protected async putBack(row: VectorStoreFileRow, error: unknown): Promise<void> {
    // a conflict means that another runner has it, or nobody wants it
    if (isConflict(error)) return;
    const { warn, services } = this.#options;
    const { store } = services.vectorStores;
    const { isStopping } = this;
    if (!isStopping && !(error instanceof LaterError)) warn(`Cannot continue a file of ${row.storeId} now`, error);
    const file = await store.file({ ...row, id: row.storeId }, row.id, services.clock.now()).catch(() => undefined);
    const attempts = (file?.attempts ?? row.attempts) + (isStopping ? 0 : 1);
    const delay = isStopping ? 0 : Math.min(retryAfterMs * 2 ** (attempts - 1), maxRetryMs);
    await store.renew(row, this.lease(delay), attempts).catch(() => {});
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
  const runner = new Runner(options);
  runner.start();
  return runner;
}

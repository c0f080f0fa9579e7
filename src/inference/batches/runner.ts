import type { Services } from "../../context.ts";
import { isConflict } from "../../db/client.ts";
import { type BatchStore, type Lease, openStates } from "../../db/stores/batches.ts";
import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import { takeStep } from "./step.ts";

/** How batches are run. */
export interface BatchRunnerSettings {
  /** Milliseconds between the starts of two buckets of a batch. */
  pauseMs: number;
  /** Most batches this process runs at once; at most half of them belong to one organisation. */
  atOnce: number;
  /** Milliseconds between two searches for batches without a runner. */
  lookEveryMs: number;
  /** Milliseconds between two requests for the state of a provider's batch. */
  statusCheckMs: number;
}

/** What the runner is made from. */
interface BatchRunnerOptions extends BatchRunnerSettings {
  services: Services;
  warn(message: string, error: unknown): void;
}

/** Runs batches in the background. */
export interface BatchRunner {
  /** Starts nothing more, waits this many milliseconds for running batches, then ends them. May be called again. */
  stop(timeoutMs: number): Promise<void>;
}

/** A runner that is silent for this long has lost its batches. */
const leaseMs = 60_000;
const renewEveryMs = 15_000;
/** Batches examined in one search. */
const maxExamined = 50;
/** A batch that fails because of the gateway is retried after this long. */
const retryAfterMs = 10_000;

/** Waits that can all be ended early. */
function createSleep() {
  const ends = new Set<() => void>();
  return {
    for(milliseconds: number): Promise<void> {
      if (milliseconds <= 0) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = () => {
          clearTimeout(timer);
          ends.delete(finish);
          resolve();
        };
        const timer = setTimeout(finish, milliseconds);
        ends.add(finish);
      });
    },
    wake(): void {
      for (const finish of [...ends]) finish();
    },
  };
}

/** A batch that runs here. */
interface Run {
  row: GatewayBatchRow;
  /** Ends its calls when another runner holds it or it was deleted. */
  lost: AbortController;
}

class Runner implements BatchRunner {
  readonly #options: BatchRunnerOptions;
  readonly #store: BatchStore;
  /** Names this runner among those of all processes. */
  readonly #owner = crypto.randomUUID();
  readonly #running = new Map<string, Run & { done: Promise<void> }>();
  readonly #pauses = createSleep();
  readonly #retries = createSleep();
  readonly #aborter = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;
  #isStopping = false;
  #looking: Promise<void> | undefined;
  #looksAgain = false;

  constructor(options: BatchRunnerOptions) {
    this.#options = options;
    this.#store = options.services.batches.store;
    options.services.batches.onWake(() => {
      this.#pauses.wake();
      for (const run of this.#running.values()) this.#hold(run);
      this.#look();
    });
    this.#timer = setInterval(() => this.#look(), options.lookEveryMs);
    this.#look();
  }

  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    this.#pauses.wake();
    this.#retries.wake();
    await this.#looking;
    const done = Promise.all([...this.#running.values()].map((one) => one.done));
    const deadline = createSleep();
    await Promise.race([done, deadline.for(timeoutMs)]);
    deadline.wake();
    this.#aborter.abort();
    await done;
  }

  /** Searches for batches without a runner; a request to search that arrives meanwhile is served afterwards. */
  #look(): void {
    if (this.#isStopping) return;
    this.#looksAgain = this.#looking !== undefined;
    this.#looking ??= this.#takeFree()
      .catch((error) => this.#options.warn("Cannot search for batches", error))
      .finally(() => {
        this.#looking = undefined;
        if (this.#looksAgain) this.#look();
      });
  }

  async #takeFree(): Promise<void> {
    const { clock } = this.#options.services;
    for (const row of await this.#store.listFree(clock.now(), maxExamined)) {
      if (this.#isStopping) return;
      if (this.#running.has(row.id) || !this.#hasRoomFor(row)) continue;
      if (!(await this.#store.claim(row, this.#lease(leaseMs), clock.now()))) continue;
      const run = { row, lost: new AbortController() };
      const done = this.#run(run).finally(() => {
        this.#running.delete(row.id);
        this.#look();
      });
      this.#running.set(row.id, { ...run, done });
    }
  }

  #hasRoomFor({ organisationId }: GatewayBatchRow): boolean {
    const { atOnce } = this.#options;
    const own = [...this.#running.values()].filter(({ row }) => row.organisationId === organisationId).length;
    return this.#running.size < atOnce && own < Math.max(1, Math.floor(atOnce / 2));
  }

  #lease(milliseconds: number): Lease {
    return { owner: this.#owner, until: this.#options.services.clock.now() + milliseconds };
  }

  /** Extends the hold on a batch, or ends its calls. */
  #hold({ row, lost }: Run): void {
    this.#store.renew(row, this.#lease(leaseMs)).then(
      (isHeld) => {
        if (!isHeld) lost.abort();
      },
      (error) => this.#options.warn("Cannot hold a batch", error),
    );
  }

  async #run(run: Run): Promise<void> {
    const { row, lost } = run;
    const { warn } = this.#options;
    const renewal = setInterval(() => this.#hold(run), renewEveryMs);
    try {
      await this.#takeSteps(run);
      await this.#store.release(row, this.#owner);
    } catch (error) {
      // a conflict means that another node has it
      if (!isConflict(error) && !lost.signal.aborted) {
        warn(`Cannot continue the batch ${row.id} now`, error);
        await this.#store.renew(row, this.#lease(retryAfterMs)).catch(() => {});
      }
    } finally {
      clearInterval(renewal);
    }
  }

  /** Takes steps until the batch is over, another runner holds it, or the process stops. */
  async #takeSteps({ row: first, lost }: Run): Promise<void> {
    const { services, pauseMs, statusCheckMs } = this.#options;
    const wait = (milliseconds: number) => this.#retries.for(this.#isStopping ? 0 : Math.min(milliseconds, pauseMs));
    const signal = AbortSignal.any([this.#aborter.signal, lost.signal]);
    const parts = { services, owner: this.#owner, signal, wait, statusCheckMs };
    let notBefore = 0;
    for (;;) {
      const row = await this.#reload(first);
      if (!row || this.#isStopping) return;
      const pause = row.status === "in_progress" ? notBefore - performance.now() : 0;
      if (pause > 0) {
        await this.#pauses.for(pause);
        continue;
      }
      const startedAt = performance.now();
      await takeStep(row, parts);
      if (await this.#hasMore(row)) notBefore = startedAt + pauseMs;
    }
  }

  /** The batch as it is now, while it is open and held by this runner. */
  async #reload({ organisationId, workspaceId, id }: GatewayBatchRow): Promise<GatewayBatchRow | undefined> {
    const { gatewayBatches } = this.#options.services.control.stores;
    const row = await gatewayBatches.find({ organisationId, workspaceId }, { id });
    const isOpen = openStates.some((state) => state === row?.status);
    return row && isOpen && row.leaseOwner === this.#owner ? row : undefined;
  }

  /** Whether a step called lines and left others. Only then the next step waits: the end of a batch is not delayed. */
  async #hasMore(before: GatewayBatchRow): Promise<boolean> {
    const row = await this.#reload(before);
    if (!row || row.position === before.position) return false;
    const { organisationId, workspaceId, inputFileId } = row;
    const input = await this.#options.services.files.find({ organisationId, workspaceId }, inputFileId);
    return input !== undefined && row.position < input.bytes;
  }
}

/** Creates the runner of a process and starts it. */
export function createBatchRunner(options: BatchRunnerOptions): BatchRunner {
  return new Runner(options);
}

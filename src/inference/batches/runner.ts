import type { Services } from "../../context.ts";
import { createSleep, LeasedRunner } from "../../control/leased-runner.ts";
import { isConflict } from "../../db/client.ts";
import { type BatchStore, openStates } from "../../db/stores/batches.ts";
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

/** A batch that fails because of the gateway is retried after this long. */
const retryAfterMs = 10_000;

class Runner extends LeasedRunner<GatewayBatchRow> implements BatchRunner {
  readonly #options: BatchRunnerOptions;
  readonly #store: BatchStore;
  readonly #pauses = createSleep();
  readonly #retries = createSleep();

  constructor(options: BatchRunnerOptions) {
    const { services, warn, atOnce, lookEveryMs } = options;
    const { store } = services.batches;
    const nouns = { one: "a batch", many: "batches" };
    super({ store, clock: services.clock, warn, nouns, atOnce, lookEveryMs });
    this.#options = options;
    this.#store = store;
    services.batches.onWake(() => {
      this.#pauses.wake();
      this.wake();
    });
  }

  override stop(timeoutMs: number): Promise<void> {
    const stopped = super.stop(timeoutMs);
    this.#pauses.wake();
    this.#retries.wake();
    return stopped;
  }

  protected async work(row: GatewayBatchRow, signal: AbortSignal): Promise<void> {
    await this.#takeSteps(row, signal);
    await this.#store.release(row, this.owner);
  }

  protected async putBack(row: GatewayBatchRow, error: unknown): Promise<void> {
    // a conflict means that another node has it
    if (isConflict(error)) return;
    this.#options.warn(`Cannot continue the batch ${row.id} now`, error);
    await this.#store.renew(row, this.lease(retryAfterMs)).catch(() => {});
  }

  /** Takes steps until the batch is over, another runner holds it, or the process stops. */
  async #takeSteps(first: GatewayBatchRow, signal: AbortSignal): Promise<void> {
    const { services, pauseMs, statusCheckMs } = this.#options;
    const wait = (milliseconds: number) => this.#retries.for(this.isStopping ? 0 : Math.min(milliseconds, pauseMs));
    const parts = { services, owner: this.owner, signal, wait, statusCheckMs };
    let notBefore = 0;
    for (;;) {
      const row = await this.#reload(first);
      if (!row || this.isStopping) return;
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
    return row && isOpen && row.leaseOwner === this.owner ? row : undefined;
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
  const runner = new Runner(options);
  runner.start();
  return runner;
}

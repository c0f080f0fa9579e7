import type { Services } from "../../context.ts";
import { LeasedRunner } from "../../control/leased-runner.ts";
import { isConflict, isUnreachable } from "../../db/client.ts";
import { ContentsAwayError } from "../../db/stores/logs.ts";
import type { LogExportRow } from "../../db/tables/log-exports.ts";
import { giveWay } from "../../lib/pace.ts";
import { failExport, takeSlice } from "./slice.ts";

/** What the runner is made from. */
interface LogExportRunnerOptions {
  readonly services: Services;
  warn(message: string, error: unknown): void;
}

/** Writes the files of exports in the background, one export of a process at a time. */
export interface LogExportRunner {
  /** Takes no further step, and waits for the running one. */
  stop(): Promise<void>;
}

/** A process that is silent for this long has lost its export. Two processes never add the same rows: each step names its turn. */
const leaseMs = 6_000;
/** How often it is looked for exports of processes that ended. */
const lookEveryMs = 2_000;
/** Steps after which another export has its turn. */
const stepsInTurn = 50;
/** A step that fails is repeated after this long, so many times. */
const retryAfterMs = 5_000;
const maxFailures = 5;
/** Exports that ended are removed after this long. */
const storedForMs = 90 * 24 * 60 * 60_000;

class Runner extends LeasedRunner<LogExportRow> implements LogExportRunner {
  readonly #options: LogExportRunnerOptions;

  constructor(options: LogExportRunnerOptions) {
    const { services, warn } = options;
    const { store } = services.logExports;
    const nouns = { one: "an export", many: "exports" };
    const purge = (now: number) => store.purge(now - storedForMs);
    super({ store, clock: services.clock, warn, nouns, atOnce: 1, lookEveryMs, leaseMs, purge });
    this.#options = options;
    services.logExports.onWake(() => this.wake());
  }

  override stop(): Promise<void> {
    return super.stop(0);
  }

  /** Takes the steps of one turn. */
  protected async work(row: LogExportRow): Promise<void> {
    const { logExports, clock } = this.#options.services;
    await this.#takeSteps(row);
    await logExports.store.release(row, this.owner, clock.now());
  }

  async #takeSteps(first: LogExportRow): Promise<void> {
    const { services } = this.#options;
    const { clock, logExports } = services;
    for (let steps = 0; steps < stepsInTurn && !this.isStopping; steps++) {
      const row = await logExports.store.reload(first, this.owner);
      if (!row) return;
      await takeSlice(row, { services, owner: this.owner }, clock.now() + leaseMs);
      await giveWay();
    }
  }

  protected async putBack(first: LogExportRow, error: unknown): Promise<void> {
    // a conflict means that it was cancelled, or that another process has it
    if (isConflict(error)) return;
    const { warn } = this.#options;
    warn(`Cannot continue the export ${first.id} now`, error);
    await this.#retryLater(first, error).catch((failure) => warn(`Cannot put the export ${first.id} back`, failure));
  }

  async #retryLater(first: LogExportRow, error: unknown): Promise<void> {
    const { services } = this.#options;
    const { store } = services.logExports;
    const row = await store.reload(first, this.owner).catch(() => undefined);
    if (!row) return;
    const parts = { services, owner: this.owner };
    const isAway = isUnreachable(error) || error instanceof ContentsAwayError;
    if (row.failures + 1 >= maxFailures && !isAway) {
      await failExport(row, "The gateway could not write the file", parts);
      return;
    }
    const change = { failures: row.failures + 1, leaseOwner: null, leaseUntil: services.clock.now() + retryAfterMs };
    await store.write([store.step(row, this.owner, change)]);
  }
}

/** Creates the runner of a process and starts it. */
export function createLogExportRunner(options: LogExportRunnerOptions): LogExportRunner {
  const runner = new Runner(options);
  runner.start();
  return runner;
}

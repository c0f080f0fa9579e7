import type { Services } from "../../context.ts";
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
/** How often the lease of a running export is renewed, as a step may take longer. */
const renewEveryMs = 2_000;
/** How often it is looked for exports of processes that ended. */
const lookEveryMs = 2_000;
/** Steps after which another export has its turn. */
const stepsInTurn = 50;
/** A step that fails is repeated after this long, so many times. */
const retryAfterMs = 5_000;
const maxFailures = 5;
/** Exports that ended are removed after this long. */
const keptForMs = 90 * 24 * 60 * 60_000;
const purgeEveryMs = 60 * 60_000;

class Runner implements LogExportRunner {
  readonly #options: LogExportRunnerOptions;
  /** Names this runner among those of all processes. */
  readonly #owner = crypto.randomUUID();
  readonly #timers: ReturnType<typeof setInterval>[];
  #isStopping = false;
  #working: Promise<void> | undefined;
  #looksAgain = false;

  constructor(options: LogExportRunnerOptions) {
    this.#options = options;
    options.services.logExports.onWake(() => this.#look());
    this.#timers = [setInterval(() => this.#look(), lookEveryMs), setInterval(() => this.#purge(), purgeEveryMs)];
    this.#look();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#working;
  }

  #purge(): void {
    const { services, warn } = this.#options;
    services.logExports.store
      .purge(services.clock.now() - keptForMs)
      .catch((error) => warn("Cannot remove old exports", error));
  }

  #look(): void {
    if (this.#isStopping) return;
    this.#looksAgain = this.#working !== undefined;
    this.#working ??= this.#workAll()
      .catch((error) => this.#options.warn("Cannot continue exports", error))
      .finally(() => {
        this.#working = undefined;
        if (this.#looksAgain) this.#look();
      });
  }

  async #workAll(): Promise<void> {
    const { logExports, clock } = this.#options.services;
    while (!this.#isStopping) {
      const [row] = await logExports.store.listFree(clock.now(), 1);
      if (!row) return;
      const lease = { owner: this.#owner, until: clock.now() + leaseMs };
      const claimed = await logExports.store.claim(row, lease, clock.now());
      if (claimed) await this.#work(claimed);
    }
  }

  /** Takes the steps of one turn. */
  async #work(row: LogExportRow): Promise<void> {
    const { logExports, clock } = this.#options.services;
    const renewal = setInterval(() => {
      // where that fails, the step fails too
      logExports.store.renew(row, this.#owner, clock.now() + leaseMs).catch(() => {});
    }, renewEveryMs);
    try {
      await this.#takeSteps(row);
      await logExports.store.release(row, this.#owner, clock.now());
    } catch (error) {
      // a conflict means that it was cancelled, or that another process has it
      if (!isConflict(error)) await this.#retryLater(row, error);
    } finally {
      clearInterval(renewal);
    }
  }

  async #takeSteps(first: LogExportRow): Promise<void> {
    const { services } = this.#options;
    const { clock, logExports } = services;
    for (let steps = 0; steps < stepsInTurn && !this.#isStopping; steps++) {
      const row = await logExports.store.reload(first, this.#owner);
      if (!row) return;
      await takeSlice(row, { services, owner: this.#owner }, clock.now() + leaseMs);
      await giveWay();
    }
  }

  async #retryLater(first: LogExportRow, error: unknown): Promise<void> {
    const { services, warn } = this.#options;
    const { store } = services.logExports;
    warn(`Cannot continue the export ${first.id} now`, error);
    const row = await store.reload(first, this.#owner).catch(() => undefined);
    if (!row) return;
    const parts = { services, owner: this.#owner };
    const isAway = isUnreachable(error) || error instanceof ContentsAwayError;
    if (row.failures + 1 >= maxFailures && !isAway) {
      await failExport(row, "The gateway could not write the file", parts);
      return;
    }
    const change = { failures: row.failures + 1, leaseOwner: null, leaseUntil: services.clock.now() + retryAfterMs };
    await store.write([store.step(row, this.#owner, change)]);
  }
}

/** Creates the runner of a process and starts it. */
export function createLogExportRunner(options: LogExportRunnerOptions): LogExportRunner {
  return new Runner(options);
}

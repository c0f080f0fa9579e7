import type { Services } from "../../context.ts";
import { LeasedRunner } from "../../control/leased-runner.ts";
import { isConflict } from "../../db/client.ts";
import type { EvalRunRow } from "../../db/tables/evals.ts";
import { GatewayError } from "../../errors.ts";
import { openRun, type RunOutcome } from "./run-answers.ts";

/** What the runner is made from. */
interface EvalRunnerOptions {
  readonly services: Services;
  warn(message: string, error: unknown): void;
}

/** Runs evals in the background. */
export interface EvalRunner {
  /** Starts nothing more, waits this many milliseconds for running requests, then ends them. May be called again. */
  stop(timeoutMs: number): Promise<void>;
}

/** Runs that a process works on at once; at most half of them belong to one organisation. */
const atOnce = 4;
/** Milliseconds between two searches for runs of processes that ended. */
const lookEveryMs = 2_000;
/** A run that fails because of the gateway is continued after this long. */
const retryAfterMs = 10_000;

class Runner extends LeasedRunner<EvalRunRow> implements EvalRunner {
  readonly #options: EvalRunnerOptions;

  constructor(options: EvalRunnerOptions) {
    const { services, warn } = options;
    const { store } = services.evalRuns;
    super({
      store,
      clock: services.clock,
      warn,
      nouns: { one: "an eval run", many: "eval runs" },
      atOnce,
      lookEveryMs,
      purge: (now) => store.purge(now),
    });
    this.#options = options;
    services.evalRuns.onWake(() => this.wake());
  }

  protected async work(row: EvalRunRow, signal: AbortSignal): Promise<void> {
    const { services } = this.#options;
    const { store } = services.evalRuns;
    const outcome = await this.#answer(row, signal);
    if (signal.aborted || outcome === "paused") await store.release(row, this.owner);
    else await store.end(row, this.owner, { ...outcome, endedAt: services.clock.now() });
  }

  async #answer(row: EvalRunRow, signal: AbortSignal): Promise<RunOutcome> {
    const { services } = this.#options;
    try {
      const run = await openRun(row, { services, owner: this.owner, signal, isStopping: () => this.isStopping });
      return await run.answerAll();
    } catch (error) {
      // what a caller would be refused, such as examples that were deleted
      if (!(error instanceof GatewayError) || error.status >= 500) throw error;
      return { status: "failed", failure: error.message };
    }
  }

  protected async putBack(row: EvalRunRow, error: unknown): Promise<void> {
    // a conflict means that it was cancelled, or that another process has it
    if (isConflict(error)) return;
    this.#options.warn(`Cannot continue the eval run ${row.id} now`, error);
    await this.#options.services.evalRuns.store.renew(row, this.lease(retryAfterMs)).catch(() => {});
  }
}

/** Creates the runner of a process and starts it. */
export function createEvalRunner(options: EvalRunnerOptions): EvalRunner {
  const runner = new Runner(options);
  runner.start();
  return runner;
}

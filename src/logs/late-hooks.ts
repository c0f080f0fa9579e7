import { startTimer } from "../lib/clock.ts";
import { writeApart } from "../lib/write-apart.ts";
import type { LateHooks } from "../schemas/logs.ts";

/** Accepts results without delaying anyone, and stores them in batches. */
export interface LateHookQueue {
  add(hooks: LateHooks): void;
  /** Results that could not be stored. */
  lost(): number;
  /** Stores waiting results; each batch is attempted once. */
  close(): Promise<void>;
}

/** Dependencies of the queue. */
interface LateHookQueueOptions {
  /** Stores results, all or none; those that are stored already stay as they are. */
  store(hooks: readonly LateHooks[]): Promise<void>;
  /** Whether an error means that the results can never be stored. Absent: they are retried. */
  isPermanent?(error: unknown): boolean;
  /** Called once for each series of failing writes, and for what is never stored. */
  warn(message: string, error: unknown): void;
  /** Longest time results wait for others, in milliseconds; default 250. */
  flushAfterMs?: number | undefined;
  /** For tests; by default the constants of the module. */
  limits?: { results: number; characters: number };
}

/** Most results of one write, and most characters unless a single one has more. */
const batchResults = 64;
const batchCharacters = 1024 * 1024;
const defaultFlushMs = 250;
const maxPauseMs = 5_000;
/** What waits while the database is away. Above that the oldest results are lost. */
const mostWaiting = { results: 10_000, characters: 16 * 1024 * 1024 };

class BatchingLateHooks implements LateHookQueue {
  readonly #options: LateHookQueueOptions;
  #waiting: LateHooks[] = [];
  #characters = 0;
  #lost = 0;
  #failures = 0;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: LateHookQueueOptions) {
    this.#options = options;
  }

  add(hooks: LateHooks): void {
    this.#waiting.push(hooks);
    this.#characters += hooks.results.length;
    this.#bound();
    this.#schedule();
  }

  lost(): number {
    return this.#lost;
  }

  async close(): Promise<void> {
    this.#stopTimer();
    await this.#writing;
    while (this.#waiting.length > 0 && (await this.#writeBatch()));
    this.#stopTimer();
    this.#lost += this.#waiting.length;
    this.#waiting = [];
  }

  #bound(): void {
    const { results, characters } = this.#options.limits ?? mostWaiting;
    let dropped = 0;
    while (
      this.#waiting.length - dropped > results ||
      (this.#characters > characters && this.#waiting.length - dropped > 1)
    ) {
      this.#characters -= this.#waiting[dropped]?.results.length ?? 0;
      dropped++;
    }
    if (dropped > 0) this.#waiting.splice(0, dropped);
    this.#lost += dropped;
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #schedule(): void {
    const { flushAfterMs = defaultFlushMs } = this.#options;
    const pauseMs = this.#failures === 0 ? flushAfterMs : Math.min(flushAfterMs * 2 ** this.#failures, maxPauseMs);
    this.#cancelTimer ??= startTimer(pauseMs, () => {
      this.#cancelTimer = undefined;
      this.#writing ??= this.#drain().finally(() => {
        this.#writing = undefined;
        if (this.#waiting.length > 0) this.#schedule();
      });
    });
  }

  async #drain(): Promise<void> {
    do {
      if (!(await this.#writeBatch())) return;
    } while (this.#waiting.length >= batchResults);
  }

  #take(): LateHooks[] {
    let [count, characters] = [0, 0];
    for (const { results } of this.#waiting) {
      if (count === batchResults || (count > 0 && characters + results.length > batchCharacters)) break;
      characters += results.length;
      count++;
    }
    this.#characters -= characters;
    return this.#waiting.splice(0, count);
  }

  /** False if the write failed: its results wait again. */
  async #writeBatch(): Promise<boolean> {
    const batch = this.#take();
    if (batch.length === 0) return true;
    try {
      const { store, isPermanent = () => false, warn } = this.#options;
      for (const { error } of await writeApart(batch, store, isPermanent)) {
        this.#lost++;
        warn("Cannot store results of guardrails: the database rejected them", error);
      }
      this.#failures = 0;
      return true;
    } catch (error) {
      if (this.#failures++ === 0) this.#options.warn("Cannot store results of guardrails: they wait in memory", error);
      this.#waiting = [...batch, ...this.#waiting];
      for (const { results } of batch) this.#characters += results.length;
      this.#bound();
      return false;
    }
  }
}

/** Creates the queue between guardrails that run after a response and the log store. */
export function createLateHookQueue(options: LateHookQueueOptions): LateHookQueue {
  return new BatchingLateHooks(options);
}

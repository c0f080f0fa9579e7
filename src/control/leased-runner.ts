import type { Lease } from "../db/stores/batches.ts";
import type { Clock } from "../lib/clock.ts";

/** A runner that is silent for this long has lost its rows, in milliseconds. */
export const leaseMs = 60_000;
/** Part of this time after which the lease of a row is renewed, as a step may take longer. */
const renewalShare = 1 / 4;
/** How often rows that expired are removed, in milliseconds. */
const purgeEveryMs = 60 * 60_000;
/** Rows examined in one search. */
const maxExamined = 50;

/** A row that one runner holds at a time. */
interface LeasedRow {
  readonly id: string;
  readonly organisationId: string;
}

/** Queries on such rows. */
interface LeasedStore<Row> {
  /** Rows that nobody holds. */
  listFree(now: number, limit: number): Promise<Row[]>;
  /** @returns Whether the row is held now. */
  claim(row: Row, lease: Lease, now: number): Promise<boolean>;
  /** @returns Whether it is still held. */
  renew(row: Row, lease: Lease): Promise<boolean>;
}

/** What a runner is made from. */
interface LeasedRunnerOptions<Row> {
  readonly store: LeasedStore<Row>;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
  /** Names the rows in warnings: one, and all of them. */
  readonly nouns: { readonly one: string; readonly many: string };
  /** Most rows this process works on at once; at most half of them belong to one organisation. */
  readonly atOnce: number;
  /** Milliseconds between two searches for rows without a runner. */
  readonly lookEveryMs: number;
  /** A runner that is silent for this long has lost its rows, in milliseconds. Default: `leaseMs`. */
  readonly leaseMs?: number;
  /** Removes rows that expired, once an hour. Absent: rows stay. */
  readonly purge?: (now: number) => Promise<unknown>;
}

/** A row that this process works on. */
interface Run<Row> {
  readonly row: Row;
  /** Ends its calls when another runner holds it, or it was removed. */
  readonly lost: AbortController;
}

/** Waits that can all be ended early. */
export function createSleep() {
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

/** Works on rows in the background. All processes share them: each row is held by a lease while one works on it. */
export abstract class LeasedRunner<Row extends LeasedRow> {
  readonly #options: LeasedRunnerOptions<Row>;
  readonly #leaseMs: number;
  /** Names this runner among those of all processes. */
  protected readonly owner = crypto.randomUUID();
  readonly #running = new Map<string, Run<Row> & { readonly done: Promise<void> }>();
  readonly #aborter = new AbortController();
  #timers: readonly ReturnType<typeof setInterval>[] = [];
  #isStopping = false;
  #looking: Promise<void> | undefined;
  #looksAgain = false;

  constructor(options: LeasedRunnerOptions<Row>) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? leaseMs;
  }

  /**
   * Works on a row until nothing is left to do, or the runner stops.
   *
   * @param signal Ends its calls.
   */
  protected abstract work(row: Row, signal: AbortSignal): Promise<void>;

  /** Lets a row be continued after an error, unless another runner holds it. */
  protected abstract putBack(row: Row, error: unknown): Promise<void>;

  /** What distinguishes a row from all others. */
  protected nameOf({ id }: Row): string {
    return id;
  }

  protected get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Begins to search. */
  start(): void {
    const { lookEveryMs, purge } = this.#options;
    this.#timers = [
      setInterval(() => this.#look(), lookEveryMs),
      ...(purge ? [setInterval(() => this.#purge(purge), purgeEveryMs)] : []),
    ];
    this.#look();
  }

  /** Searches at once, and finds out which rows it still holds: something changed. */
  protected wake(): void {
    for (const run of this.#running.values()) this.#hold(run);
    this.#look();
  }

  /** Starts nothing more, waits this many milliseconds for running work, then ends its calls. May be called again. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#looking;
    const done = Promise.all([...this.#running.values()].map((one) => one.done));
    const deadline = createSleep();
    await Promise.race([done, deadline.for(timeoutMs)]);
    deadline.wake();
    this.#aborter.abort();
    await done;
  }

  /** A lease of this runner from now on. */
  protected lease(milliseconds: number): Lease {
    return { owner: this.owner, until: this.#options.clock.now() + milliseconds };
  }

  /** Searches for rows without a runner; a request to search that arrives meanwhile is served afterwards. */
  #look(): void {
    if (this.#isStopping) return;
    const { warn, nouns } = this.#options;
    this.#looksAgain = this.#looking !== undefined;
    this.#looking ??= this.#takeFree()
      .catch((error) => warn(`Cannot search for ${nouns.many}`, error))
      .finally(() => {
        this.#looking = undefined;
        if (this.#looksAgain) this.#look();
      });
  }

  async #takeFree(): Promise<void> {
    const { clock, store } = this.#options;
    for (const free of await store.listFree(clock.now(), maxExamined)) {
      if (this.#isStopping) return;
      const name = this.nameOf(free);
      if (this.#running.has(name) || !this.#hasRoomFor(free)) continue;
      const { owner: leaseOwner, until: leaseUntil } = this.lease(this.#leaseMs);
      if (!(await store.claim(free, { owner: leaseOwner, until: leaseUntil }, clock.now()))) continue;
      const run = { row: { ...free, leaseOwner, leaseUntil }, lost: new AbortController() };
      const done = this.#run(run).finally(() => {
        this.#running.delete(name);
        this.#look();
      });
      this.#running.set(name, { ...run, done });
    }
  }

  #purge(purge: (now: number) => Promise<unknown>): void {
    const { clock, warn, nouns } = this.#options;
    purge(clock.now()).catch((error) => warn(`Cannot remove ${nouns.many} that expired`, error));
  }

  #hasRoomFor({ organisationId }: Row): boolean {
    const { atOnce } = this.#options;
    const own = [...this.#running.values()].filter(({ row }) => row.organisationId === organisationId).length;
    return this.#running.size < atOnce && own < Math.max(1, Math.floor(atOnce / 2));
  }

  /** Extends the hold on a row, or ends its calls. */
  #hold({ row, lost }: Run<Row>): void {
    const { store, warn, nouns } = this.#options;
    store.renew(row, this.lease(this.#leaseMs)).then(
      (isHeld) => {
        if (!isHeld) lost.abort();
      },
      (error) => warn(`Cannot hold ${nouns.one}`, error),
    );
  }

  async #run(run: Run<Row>): Promise<void> {
    const { row, lost } = run;
    const renewal = setInterval(() => this.#hold(run), this.#leaseMs * renewalShare);
    try {
      await this.work(row, AbortSignal.any([this.#aborter.signal, lost.signal]));
    } catch (error) {
      if (!lost.signal.aborted) await this.putBack(row, error);
    } finally {
      clearInterval(renewal);
    }
  }
}

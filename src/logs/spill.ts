import { giveWay } from "../lib/pace.ts";
import type { LogBatch } from "../schemas/logs.ts";

/** Longest time a batch may take before it goes to the file. */
const defaultPatienceMs = 1_000;
/** Longest wait for a write of what is in the file, in milliseconds: then it is written again, and stored once. */
const defaultReplayPatienceMs = 30_000;
/** Between two attempts to store what waits in the file. */
const firstPauseMs = 250;
const maxPauseMs = 5_000;

/** Batches in the file; undefined where it is damaged. */
interface SpilledBatches {
  id: number;
  rows: number;
  batches: readonly LogBatch[] | undefined;
}

/** A file in which batches wait; `openLogSpill` opens one. */
interface SpillFile {
  /** False if there is no room. */
  add(batches: readonly LogBatch[], rows: number): Promise<boolean>;
  /** What has waited longest, in order; empty if nothing waits. */
  oldest(): Promise<SpilledBatches[]>;
  remove(ids: readonly number[]): Promise<void>;
  state(): Promise<{ rows: number; bytes: number }>;
  close(): Promise<void>;
}

/** What waits in the file, and what of it was lost. */
export interface SpillState {
  rows: number;
  bytes: number;
  /** Rows that were in the file and can never be stored. */
  lostRows: number;
}

/** Dependencies of a log that outlives an outage of its database. */
interface SpillingLogOptions {
  file: SpillFile;
  /** Stores batches, all or none; those that are stored already stay as they are. */
  store(batches: readonly LogBatch[]): Promise<void>;
  /** Whether an error means that the batches can never be stored. */
  isPermanent(error: unknown): boolean;
  /** Called when an outage begins, and for batches that are lost. */
  warn(message: string, error: unknown): void;
  /** Called when everything is stored that waited in the file. */
  log(line: string): void;
  /** Longest time a write may take before its batches go to the file, in milliseconds; default 1,000. */
  patienceMs?: number | undefined;
  /** The same for batches in the file. Default: 30,000. */
  replayPatienceMs?: number | undefined;
  /** First pause between two attempts to store what waits, in milliseconds; default 250. Each pause doubles it. */
  pauseMs?: number | undefined;
}

/** Stores batches, or writes them to a file until the database is back. */
export interface SpillingLog {
  /**
   * Resolves once the batches are stored or in the file.
   *
   * @throws If neither is possible.
   */
  append(batches: readonly LogBatch[]): Promise<void>;
  /**
   * Stores what an earlier process left in the file.
   *
   * @throws If the database is away.
   */
  recover(): Promise<void>;
  state(): Promise<SpillState>;
  /** Ends the attempts; what waits stays in the file. */
  close(): Promise<void>;
}

/** The batches are neither in the database nor in the file. */
class SpillFullError extends Error {
  constructor() {
    super("Cannot keep log rows: the database is away, and the file for them is full");
  }
}

function countRows(batch: LogBatch): number {
  const rows: unknown = JSON.parse(batch.details); // written by `sealBatch`
  return Array.isArray(rows) ? rows.length : 0;
}

const sumRows = (batches: readonly LogBatch[]) => batches.reduce((sum, batch) => sum + countRows(batch), 0);

/** Whether `work` is done within a time. Rejects as it does. */
async function isDoneWithin(work: Promise<void>, delayMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), delayMs);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

class FileBackedLog implements SpillingLog {
  readonly #options: SpillingLogOptions;
  /** Whether new batches go behind those in the file. */
  #isSpilling = false;
  /** Batches ever added to the file, and those that are being added. */
  #added = 0;
  #adding = 0;
  #lostRows = 0;
  #isClosed = false;
  #endPause: (() => void) | undefined;
  #draining: Promise<void> | undefined;
  #replaying: Promise<void> | undefined;
  readonly #opened: Promise<void>;

  constructor(options: SpillingLogOptions) {
    this.#options = options;
    this.#opened = this.#open();
    this.#opened.catch(() => {}); // the first batch reports it
  }

  async #open(): Promise<void> {
    const { rows } = await this.#options.file.state();
    if (rows === 0) return;
    this.#isSpilling = true;
    this.#startReplay();
  }

  async append(batches: readonly LogBatch[]): Promise<void> {
    await this.#opened;
    if (this.#isSpilling) {
      if (await this.#keep(batches)) return;
      throw new SpillFullError();
    }
    const { store, isPermanent, patienceMs = defaultPatienceMs } = this.#options;
    const writing = store(batches);
    try {
      if (await isDoneWithin(writing, patienceMs)) return;
    } catch (error) {
      if (isPermanent(error) || !(await this.#beginSpilling(batches, error))) throw error;
      return;
    }
    // it may still succeed: then its batches are stored already when those in the file are to be
    if (await this.#beginSpilling(batches, new Error(`A write took longer than ${patienceMs} ms`))) {
      writing.catch(() => {});
    } else await writing;
  }

  async recover(): Promise<void> {
    await this.#opened;
    if (this.#isSpilling) await this.#drain();
  }

  async state(): Promise<SpillState> {
    return { ...(await this.#options.file.state()), lostRows: this.#lostRows };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endPause?.();
    await this.#opened.catch(() => {});
    await this.#replaying;
    await this.#options.file.close();
  }

  async #beginSpilling(batches: readonly LogBatch[], error: unknown): Promise<boolean> {
    const isFirst = !this.#isSpilling;
    this.#isSpilling = true;
    const isKept = await this.#keep(batches);
    if (isKept && isFirst) this.#options.warn("Cannot write log rows to the database: they wait in a file", error);
    this.#startReplay();
    return isKept;
  }

  async #keep(batches: readonly LogBatch[]): Promise<boolean> {
    this.#adding++;
    try {
      return await this.#options.file.add(batches, sumRows(batches));
    } finally {
      this.#adding--;
      this.#added++;
    }
  }

  /** Stores what is in the file until nothing is left, with pauses while the database is away. */
  #startReplay(): void {
    this.#replaying ??= this.#replay().finally(() => {
      this.#replaying = undefined;
    });
  }

  async #replay(): Promise<void> {
    let pauseMs = this.#options.pauseMs ?? firstPauseMs;
    while (!this.#isClosed && this.#isSpilling) {
      try {
        await this.#drain();
      } catch {
        await this.#pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, maxPauseMs);
      }
    }
  }

  #pause(delayMs: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Stores what is in the file, in order; rejects as soon as the database does not take it. */
  #drain(): Promise<void> {
    this.#draining ??= this.#storeAll().finally(() => {
      this.#draining = undefined;
    });
    return this.#draining;
  }

  async #storeAll(): Promise<void> {
    const { file, log } = this.#options;
    let rows = 0;
    while (!this.#isClosed) {
      // new batches come in between
      await giveWay();
      const added = this.#added;
      const entries = await file.oldest();
      if (entries.length > 0) {
        await this.#storeSome(entries);
        await file.remove(entries.map(({ id }) => id));
        for (const entry of entries) rows += entry.rows;
      } else if (added === this.#added && this.#adding === 0) {
        this.#isSpilling = false;
        if (rows > 0) log(`The ${rows} log rows that waited in a file are in the database`);
        return;
      }
    }
  }

  async #storeSome(entries: readonly SpilledBatches[]): Promise<void> {
    for (const { rows, batches } of entries) if (!batches) this.#lose(rows, undefined);
    const whole = entries.flatMap(({ batches }) => batches ?? []);
    if (whole.length > 0) await this.#storeBatches(whole);
  }

  /** Together, or one by one if the database refuses some of them. */
  async #storeBatches(batches: readonly LogBatch[]): Promise<void> {
    const { store, isPermanent, replayPatienceMs = defaultReplayPatienceMs } = this.#options;
    const writing = store(batches);
    try {
      if (await isDoneWithin(writing, replayPatienceMs)) return;
      writing.catch(() => {});
      throw new Error(`A write took longer than ${replayPatienceMs} ms`);
    } catch (error) {
      if (!isPermanent(error)) throw error;
      const [only, ...others] = batches;
      if (only && others.length === 0) return this.#lose(countRows(only), error);
      for (const batch of batches) await this.#storeBatches([batch]);
    }
  }

  #lose(rows: number, error: unknown): void {
    this.#lostRows += rows;
    this.#options.warn(`Cannot store ${rows} log rows that waited in a file: they are lost`, error);
  }
}

/** A log that writes batches to a file while its database is away. */
export function createSpillingLog(options: SpillingLogOptions): SpillingLog {
  return new FileBackedLog(options);
}

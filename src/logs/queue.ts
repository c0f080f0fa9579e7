import { startTimer } from "../lib/clock.ts";
import type { LogEntry } from "../schemas/logs.ts";

/** Rows of one write, small enough not to hold the event loop. */
const batchRows = 64;
const batchBytes = 1024 * 1024;
/** Longest a row waits for others. */
const flushAfterMs = 250;
const maxRows = 10_000;
const maxBytes = 64 * 1024 * 1024;
const maxPauseMs = 5_000;

/** What the queue needs of the outside. */
export interface LogQueueOptions {
  /** Stores rows, all or none. */
  store(entries: readonly LogEntry[]): Promise<void>;
  /** The row that tells a tenant how many of its rows were lost. */
  describeLoss(sample: LogEntry, rows: number): LogEntry;
  /** Told once for each failing series of writes. */
  warn(message: string, error: unknown): void;
  /** For tests; by default the figures of the module. */
  limits?: { rows: number; bytes: number };
}

/** What the queue holds and has lost. */
export interface LogQueueState {
  rows: number;
  bytes: number;
  lostRows: number;
  lostBodies: number;
}

/** Takes rows without making the caller wait and stores them in batches. */
export interface LogQueue {
  add(entry: LogEntry): void;
  state(): LogQueueState;
  /** Stores what is waiting; gives up after one failed try of each batch. */
  close(): Promise<void>;
}

function sizeOf(entry: LogEntry): number {
  return entry.details.length + bodySizeOf(entry) + 256;
}

function bodySizeOf(entry: LogEntry): number {
  return entry.content?.length ?? 0;
}

/** Rows that wait, in order, with their size; drops bodies, then rows, when too much waits. */
class WaitingRows {
  #rows: LogEntry[] = [];
  #bytes = 0;
  /** Rows before this one have lost their bodies already. */
  #bodiless = 0;
  readonly #limits: { rows: number; bytes: number };
  lostBodies = 0;
  readonly lost = new Map<string, { sample: LogEntry; rows: number }>();

  constructor(limits: { rows: number; bytes: number }) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#rows.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(entry: LogEntry): void {
    this.#rows.push(entry);
    this.#bytes += sizeOf(entry);
    while (this.#bytes > this.#limits.bytes && this.#bodiless < this.#rows.length) this.#dropBodies();
    while (this.#rows.length > this.#limits.rows || (this.#bytes > this.#limits.bytes && this.#rows.length > 1)) {
      this.#dropRow();
    }
  }

  #dropBodies(): void {
    const entry = this.#rows[this.#bodiless];
    if (entry && bodySizeOf(entry) > 0) {
      this.#bytes -= bodySizeOf(entry);
      this.#rows[this.#bodiless] = { ...entry, content: null };
      this.lostBodies++;
    }
    this.#bodiless++;
  }

  #dropRow(): void {
    const entry = this.#rows.shift();
    if (!entry) return;
    this.#bodiless = Math.max(0, this.#bodiless - 1);
    this.#bytes -= sizeOf(entry);
    const tenant = JSON.stringify([entry.organisationId, entry.workspaceId]);
    const counted = this.lost.get(tenant);
    if (counted) counted.rows++;
    else this.lost.set(tenant, { sample: entry, rows: 1 });
  }

  take(): LogEntry[] {
    let bytes = 0;
    let count = 0;
    for (const entry of this.#rows) {
      if (count === batchRows || (count > 0 && bytes + sizeOf(entry) > batchBytes)) break;
      bytes += sizeOf(entry);
      count++;
    }
    this.#bytes -= bytes;
    this.#bodiless = Math.max(0, this.#bodiless - count);
    return this.#rows.splice(0, count);
  }

  putBack(entries: readonly LogEntry[]): void {
    const later = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    this.#bodiless = 0;
    for (const entry of [...entries, ...later]) this.push(entry);
  }

  /** Rows that tell of losses, each once. */
  takeLosses(describe: LogQueueOptions["describeLoss"]): LogEntry[] {
    const entries = [...this.lost.values()].map(({ sample, rows }) => describe(sample, rows));
    this.lost.clear();
    return entries;
  }
}

/** The queue between requests and the log store. */
export function createLogQueue(options: LogQueueOptions): LogQueue {
  const waiting = new WaitingRows(options.limits ?? { rows: maxRows, bytes: maxBytes });
  let cancelTimer: (() => void) | undefined;
  let writing: Promise<void> | undefined;
  let failures = 0;
  let lostRows = 0;

  const schedule = (delayMs: number) => {
    cancelTimer ??= startTimer(delayMs, () => {
      cancelTimer = undefined;
      writing ??= drain().finally(() => {
        writing = undefined;
        if (waiting.length > 0) schedule(pauseMs());
      });
    });
  };
  const pauseMs = () => (failures === 0 ? flushAfterMs : Math.min(flushAfterMs * 2 ** failures, maxPauseMs));

  const writeBatch = async (entries: LogEntry[]): Promise<boolean> => {
    try {
      await options.store(entries);
      failures = 0;
      return true;
    } catch (error) {
      if (failures++ === 0) options.warn("Cannot write log rows: they wait in memory", error);
      waiting.putBack(entries);
      return false;
    }
  };
  /** Writes full batches, and the rest when `all` or when its time has come. */
  const drain = async () => {
    do {
      for (const { rows } of waiting.lost.values()) lostRows += rows;
      const entries = [...waiting.takeLosses(options.describeLoss), ...waiting.take()];
      if (entries.length === 0 || !(await writeBatch(entries))) return;
    } while (waiting.length >= batchRows);
  };

  return {
    add(entry) {
      waiting.push(entry);
      if (failures === 0 && (waiting.length === batchRows || waiting.bytes > batchBytes)) {
        cancelTimer?.();
        cancelTimer = undefined;
        schedule(0);
      } else schedule(pauseMs());
    },
    state: () => ({ rows: waiting.length, bytes: waiting.bytes, lostRows, lostBodies: waiting.lostBodies }),
    async close() {
      cancelTimer?.();
      await writing;
      cancelTimer?.();
      while (waiting.length > 0) {
        if (!(await writeBatch(waiting.take()))) break;
      }
    },
  };
}

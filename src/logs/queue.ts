import { startTimer } from "../lib/clock.ts";
import type { LogRecord } from "./record.ts";

/** Rows of one write, few enough not to block the event loop. */
const batchRows = 64;
const batchBytes = 1024 * 1024;
/** Longest time a row waits for others, unless configured. */
const defaultFlushMs = 250;
const maxRows = 10_000;
const maxBytes = 64 * 1024 * 1024;
const maxPauseMs = 5_000;

/** Dependencies of the queue. */
export interface LogQueueOptions {
  /** Stores rows, all or none. */
  store(entries: readonly LogRecord[]): Promise<void>;
  /** A row that reports how many rows of a tenant were lost. */
  describeLoss(sample: LogRecord, rows: number): LogRecord;
  /** Whether an error means that the rows can never be stored. Absent: they are retried. */
  isPermanent?(error: unknown): boolean;
  /** Called once for each series of failing writes. */
  warn(message: string, error: unknown): void;
  /** Most bytes of one write, unless a single row has more; default 1 MiB, a short time on the event loop. */
  batchBytes?: number | undefined;
  /** Longest time a row waits for others, in milliseconds; default 250. */
  flushAfterMs?: number | undefined;
  /** For tests; by default the constants of the module. */
  limits?: { rows: number; bytes: number };
}

/** Rows the queue holds and has lost. */
interface LogQueueState {
  rows: number;
  bytes: number;
  lostRows: number;
  lostBodies: number;
}

/** Accepts rows without blocking the caller, and stores them in batches. */
export interface LogQueue {
  add(entry: LogRecord): void;
  state(): LogQueueState;
  /** Stores waiting rows; each batch is attempted once. */
  close(): Promise<void>;
}

/** Size of a record without bodies and headers, roughly. */
const plainSize = 1024;

function sizeOf(entry: LogRecord): number {
  return plainSize + contentSizeOf(entry);
}

function contentSizeOf({ content }: LogRecord): number {
  if (content === null) return 0;
  return plainSize + (content.requestBody?.length ?? 0) + (content.responseBody?.length ?? 0);
}

/** Waiting rows in order, with their size; drops bodies, then rows, when there are too many. */
class WaitingRows {
  #rows: LogRecord[] = [];
  #bytes = 0;
  /** Rows before this index have lost their bodies already. */
  #bodiless = 0;
  readonly #limits: { rows: number; bytes: number };
  lostBodies = 0;
  lostRows = 0;
  readonly #lost = new Map<string, { sample: LogRecord; rows: number }>();

  constructor(limits: { rows: number; bytes: number }) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#rows.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(entry: LogRecord): void {
    this.#rows.push(entry);
    this.#bytes += sizeOf(entry);
    while (this.#bytes > this.#limits.bytes && this.#bodiless < this.#rows.length) this.#dropBodies();
    while (this.#rows.length > this.#limits.rows || (this.#bytes > this.#limits.bytes && this.#rows.length > 1)) {
      this.#dropRow();
    }
  }

  #dropBodies(): void {
    const entry = this.#rows[this.#bodiless];
    if (entry && contentSizeOf(entry) > 0) {
      this.#bytes -= contentSizeOf(entry);
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
    this.countLost(entry);
  }

  /** Counts a row that is not stored. */
  countLost(entry: LogRecord): void {
    const tenant = JSON.stringify([entry.details.organisation_id, entry.details.workspace_id]);
    const counted = this.#lost.get(tenant);
    if (counted) counted.rows++;
    else this.#lost.set(tenant, { sample: entry, rows: 1 });
    this.lostRows++;
  }

  /** The oldest rows, at most `limit`, with at most `bytesLimit` bytes unless one alone has more. */
  take(limit: number, bytesLimit: number): LogRecord[] {
    let bytes = 0;
    let count = 0;
    for (const entry of this.#rows) {
      if (count === limit || (count > 0 && bytes + sizeOf(entry) > bytesLimit)) break;
      bytes += sizeOf(entry);
      count++;
    }
    this.#bytes -= bytes;
    this.#bodiless = Math.max(0, this.#bodiless - count);
    return this.#rows.splice(0, count);
  }

  putBack(entries: readonly LogRecord[]): void {
    const later = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    this.#bodiless = 0;
    for (const entry of [...entries, ...later]) this.push(entry);
  }

  /** Rows that report losses, at most `limit`; call `confirm` once they are stored. */
  describeLosses(describe: LogQueueOptions["describeLoss"], limit: number): { entries: LogRecord[]; confirm(): void } {
    const told = [...this.#lost].slice(0, limit).map(([tenant, { sample, rows }]) => ({ tenant, sample, rows }));
    return {
      entries: told.map(({ sample, rows }) => describe(sample, rows)),
      confirm: () => {
        for (const { tenant, rows } of told) {
          const counted = this.#lost.get(tenant);
          if (!counted) continue;
          counted.rows -= rows;
          if (counted.rows === 0) this.#lost.delete(tenant);
        }
      },
    };
  }

  get hasLosses(): boolean {
    return this.#lost.size > 0;
  }
}

/** Creates the queue between requests and the log store. */
export function createLogQueue(options: LogQueueOptions): LogQueue {
  const waiting = new WaitingRows(options.limits ?? { rows: maxRows, bytes: maxBytes });
  const { flushAfterMs = defaultFlushMs } = options;
  let cancelTimer: (() => void) | undefined;
  let writing: Promise<void> | undefined;
  let failures = 0;
  /** Rows of the next batch: a single one after a batch was rejected for good. */
  let nextRows = batchRows;

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

  /** After a failure: retryable rows wait, others count as lost. */
  const handleFailure = (rows: readonly LogRecord[], error: unknown) => {
    const hopeless = options.isPermanent?.(error) === true;
    const [only] = rows;
    if (hopeless && rows.length === 1 && only) {
      options.warn("Cannot write a log row: the store rejected it", error);
      waiting.countLost(only);
      return;
    }
    if (hopeless) nextRows = 1;
    else if (failures++ === 0) options.warn("Cannot write log rows: they wait in memory", error);
    waiting.putBack(rows);
  };
  /** Writes one batch, losses first; false if the write failed. */
  const writeBatch = async (): Promise<boolean> => {
    const losses = waiting.describeLosses(options.describeLoss, Math.min(nextRows, batchRows / 2));
    const rows = waiting.take(
      Math.max(nextRows - losses.entries.length, nextRows === 1 ? 1 : 0),
      options.batchBytes ?? batchBytes,
    );
    const entries = [...losses.entries, ...rows];
    if (entries.length === 0) return true;
    try {
      await options.store(entries);
    } catch (error) {
      handleFailure(rows, error);
      return failures === 0;
    }
    losses.confirm();
    failures = 0;
    nextRows = Math.min(batchRows, nextRows * 2);
    return true;
  };
  /** Writes rows that waited long enough, then full batches. */
  const drain = async () => {
    do {
      if (!(await writeBatch())) return;
    } while (waiting.length >= batchRows || (waiting.length > 0 && nextRows < batchRows));
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
    state: () => ({
      rows: waiting.length,
      bytes: waiting.bytes,
      lostRows: waiting.lostRows,
      lostBodies: waiting.lostBodies,
    }),
    async close() {
      cancelTimer?.();
      await writing;
      cancelTimer?.();
      while (waiting.length > 0 || waiting.hasLosses) {
        if (!(await writeBatch())) break;
      }
    },
  };
}

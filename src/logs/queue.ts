import { startTimer } from "../lib/clock.ts";
import { bodiesOf, type LogRecord } from "./record.ts";

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

/** Size of a record without bodies, headers and counters, roughly. */
const plainSize = 1024;

/** Size of what a record adds to one counter without the name of its bucket, roughly. */
const incrementSize = 256;

function sizeOf(entry: LogRecord): number {
  return plainSize + countedSizeOf(entry) + contentSizeOf(entry);
}

function countedSizeOf({ counted }: LogRecord): number {
  if (!counted) return 0;
  let size = 0;
  for (const { bucket } of counted) size += incrementSize + bucket.length;
  return size;
}

function contentSizeOf({ content }: LogRecord): number {
  if (content === null) return 0;
  let size = plainSize + (content.requestBody?.length ?? 0) + (content.responseBody?.length ?? 0);
  if (content.phases) for (const body of bodiesOf(content).slice(2)) size += body?.length ?? 0;
  return size;
}

/** Rows that report losses; `confirm` is called once they are stored. */
interface Losses {
  readonly entries: readonly LogRecord[];
  confirm(): void;
}

/** Waiting rows in order, with their size; drops bodies, then rows, when there are too many. */
class WaitingRows {
  #rows: LogRecord[] = [];
  /** Size of each row. */
  #sizes: number[] = [];
  #bytes = 0;
  /** Rows before this index have lost their bodies already. */
  #bodiless = 0;
  /** So many of the oldest rows are written again together. */
  #repeated = 0;
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
    const size = sizeOf(entry);
    this.#rows.push(entry);
    this.#sizes.push(size);
    this.#bytes += size;
    while (this.#bytes > this.#limits.bytes && this.#bodiless < this.#rows.length) this.#dropBodies();
    while (this.#rows.length > this.#limits.rows || (this.#bytes > this.#limits.bytes && this.#rows.length > 1)) {
      this.#dropRow();
    }
  }

  #dropBodies(): void {
    const entry = this.#rows[this.#bodiless];
    const size = entry && contentSizeOf(entry);
    if (size) {
      this.#bytes -= size;
      this.#rows[this.#bodiless] = { ...entry, content: null };
      this.#sizes[this.#bodiless] = sizeOf(entry) - size;
      this.lostBodies++;
    }
    this.#bodiless++;
  }

  /** Drops the oldest row, but none that is written again: it may be stored. */
  #dropRow(): void {
    const index = this.#repeated < this.#rows.length ? this.#repeated : 0;
    const [entry] = this.#rows.splice(index, 1);
    if (!entry) return;
    if (index < this.#bodiless) this.#bodiless--;
    this.#bytes -= this.#sizes.splice(index, 1)[0] ?? 0;
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
    for (const size of this.#sizes) {
      if (count === limit) break;
      if (count > 0 && bytes + size > bytesLimit) break;
      bytes += size;
      count++;
    }
    return this.#takeOldest(count);
  }

  /** The rows that are written again. */
  takeRepeated(): LogRecord[] {
    const count = this.#repeated;
    this.#repeated = 0;
    return this.#takeOldest(count);
  }

  #takeOldest(count: number): LogRecord[] {
    for (const size of this.#sizes.splice(0, count)) this.#bytes -= size;
    this.#bodiless = Math.max(0, this.#bodiless - count);
    return this.#rows.splice(0, count);
  }

  /** Takes rows back, in front of the others. `isRepeated`: they are written again together. */
  putBack(entries: readonly LogRecord[], isRepeated: boolean): void {
    const later = this.#rows;
    this.#repeated = isRepeated ? entries.length : 0;
    this.#rows = [];
    this.#sizes = [];
    this.#bytes = 0;
    this.#bodiless = 0;
    for (const entry of [...entries, ...later]) this.push(entry);
  }

  /** Rows that report losses, at most `limit`. */
  describeLosses(describe: LogQueueOptions["describeLoss"], limit: number): Losses {
    const reported = [...this.#lost].slice(0, limit).map(([tenant, { sample, rows }]) => ({ tenant, sample, rows }));
    return {
      entries: reported.map(({ sample, rows }) => describe(sample, rows)),
      confirm: () => {
        for (const { tenant, rows } of reported) {
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

/** Stores rows in batches, and retries after failures. */
class BatchingQueue implements LogQueue {
  readonly #options: LogQueueOptions;
  readonly #waiting: WaitingRows;
  readonly #flushAfterMs: number;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  #failures = 0;
  #isClosed = false;
  /** Rows of the next batch: a single one after a batch was rejected for good. */
  #nextRows = batchRows;
  /** Losses that the batch to write again reports; undefined when no write is repeated. */
  #repeatedLosses: Losses | undefined;

  constructor(options: LogQueueOptions) {
    this.#options = options;
    this.#waiting = new WaitingRows(options.limits ?? { rows: maxRows, bytes: maxBytes });
    this.#flushAfterMs = options.flushAfterMs ?? defaultFlushMs;
  }

  add(entry: LogRecord): void {
    const waiting = this.#waiting;
    if (this.#isClosed) {
      this.#options.warn("Cannot write a log row: the gateway is closed", undefined);
      waiting.countLost(entry);
      return;
    }
    waiting.push(entry);
    if (this.#failures === 0 && (waiting.length === batchRows || waiting.bytes > batchBytes)) {
      this.#stopTimer();
      this.#schedule(0);
    } else this.#schedule(this.#pauseMs());
  }

  state(): ReturnType<LogQueue["state"]> {
    const { length: rows, bytes, lostRows, lostBodies } = this.#waiting;
    return { rows, bytes, lostRows, lostBodies };
  }

  async close(): Promise<void> {
    this.#stopTimer();
    await this.#writing;
    this.#stopTimer();
    while (this.#waiting.length > 0 || this.#waiting.hasLosses) {
      if (!(await this.#writeBatch())) break;
    }
    this.#isClosed = true;
    this.#stopTimer();
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer ??= startTimer(delayMs, () => {
      this.#cancelTimer = undefined;
      this.#writing ??= this.#drain().finally(() => {
        this.#writing = undefined;
        if (this.#waiting.length > 0) this.#schedule(this.#pauseMs());
      });
    });
  }

  #pauseMs(): number {
    return this.#failures === 0 ? this.#flushAfterMs : Math.min(this.#flushAfterMs * 2 ** this.#failures, maxPauseMs);
  }

  /** Writes rows that waited long enough, then full batches. */
  async #drain(): Promise<void> {
    do {
      if (!(await this.#writeBatch())) return;
    } while (this.#waiting.length >= batchRows || (this.#waiting.length > 0 && this.#nextRows < batchRows));
  }

  /** Writes one batch, losses first; false if the write failed. */
  async #writeBatch(): Promise<boolean> {
    const { describeLoss, store, batchBytes: bytes = batchBytes } = this.#options;
    const repeated = this.#repeatedLosses;
    this.#repeatedLosses = undefined;
    const losses = repeated ?? this.#waiting.describeLosses(describeLoss, Math.min(this.#nextRows, batchRows / 2));
    const left = Math.max(this.#nextRows - losses.entries.length, this.#nextRows === 1 ? 1 : 0);
    const rows = repeated ? this.#waiting.takeRepeated() : this.#waiting.take(left, bytes);
    const entries = [...losses.entries, ...rows];
    if (entries.length === 0) return true;
    try {
      await store(entries);
    } catch (error) {
      this.#handleFailure(rows, losses, error);
      return this.#failures === 0;
    }
    losses.confirm();
    this.#failures = 0;
    this.#nextRows = Math.min(batchRows, this.#nextRows * 2);
    return true;
  }

  /**
   * After a failure: retryable rows wait, others count as lost. A write whose response got lost may have stored them, so
   * they are written again as the same batch: by its ids the store knows it.
   */
  #handleFailure(rows: readonly LogRecord[], losses: Losses, error: unknown): void {
    const { isPermanent, warn } = this.#options;
    const hopeless = isPermanent?.(error) === true;
    const [only] = rows;
    if (hopeless && rows.length === 1 && only) {
      warn("Cannot write a log row: the store rejected it", error);
      this.#waiting.countLost(only);
      return;
    }
    if (hopeless) this.#nextRows = 1;
    else {
      if (this.#failures++ === 0) warn("Cannot write log rows: they wait in memory", error);
      this.#repeatedLosses = losses;
    }
    this.#waiting.putBack(rows, !hopeless);
  }
}

/** Creates the queue between requests and the log store. */
export function createLogQueue(options: LogQueueOptions): LogQueue {
  return new BatchingQueue(options);
}

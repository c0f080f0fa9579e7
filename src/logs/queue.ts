import { startTimer } from "../lib/clock.ts";
import { Tally } from "../lib/tally.ts";
import type { LogDetails } from "../schemas/logs.ts";
import { Losses } from "./losses.ts";
import type { LogRecord, Loss } from "./record.ts";
import { type WaitingLimits, WaitingRows } from "./waiting-rows.ts";

/** Rows that wait only a little for others while nothing is being written, and for how many milliseconds at most. */
const fewRows = 64;
const gatherMs = 20;
/** Rows that are written at once, also beside other writes. Fewer wait for others, as each write has its costs. */
const manyRows = 512;
const manyBytes = 1024 * 1024;
/** Most rows and bytes of one write, unless configured. */
const defaultBatchRows = 1_024;
const defaultBatchBytes = 1024 * 1024;
/** Longest time a row waits for others, unless configured. */
const defaultFlushMs = 250;
const maxPauseMs = 5_000;

/** Most rows and bytes that wait, unless configured. */
export const defaultWaitingLimits: WaitingLimits = { rows: 20_000, bytes: 64 * 1024 * 1024 };

/** Most of the bytes that may wait which are being written beside each other: bodies that are cannot be dropped. */
const mostWriting = 1 / 2;

/**
 * Shares of the bounds. From the first on, requests that are refused for their number leave no row: they come again at once.
 * From the second on, requests that count in limits are refused, and from the third on all.
 */
const sharesOfLoad = { some: 1 / 8, limited: 1 / 2, all: 3 / 4 };

/** Which requests would leave rows for which there may be no room. */
type LogLoad = "none" | "some" | "limited" | "all";

/** Dependencies of the queue. */
export interface LogQueueOptions {
  /** Stores rows, all or none. Several calls may run at once, up to `writesAtOnce`. */
  store(entries: readonly LogRecord[]): Promise<void>;
  /** A row that reports what a tenant lost. */
  describeLoss(loss: Loss): LogRecord;
  /** Whether an error means that the rows can never be stored. Absent: they are retried. */
  isPermanent?(error: unknown): boolean;
  /** Called once for each series of failing writes, and at most every ten seconds for what is lost or refused. */
  warn(message: string, error: unknown): void;
  /** Most bytes of one write, unless a single row has more; default 1 MiB, a short time on the event loop. */
  batchBytes?: number | undefined;
  /** Most rows of one write; default 1,024. */
  batchRows?: number | undefined;
  /** Most writes at a time; default 1. */
  writesAtOnce?: number | undefined;
  /** Longest time a row waits for others, in milliseconds; default 250. */
  flushAfterMs?: number | undefined;
  /** Most rows and bytes that wait, those that are being written included; default `defaultWaitingLimits`. */
  limits?: WaitingLimits | undefined;
}

/** Rows the queue holds and has lost. */
interface LogQueueState {
  rows: number;
  bytes: number;
  lostRows: number;
  lostBodies: number;
  /** Requests that were refused because there was no room for their rows. */
  refused: number;
}

/** Accepts rows without blocking the caller, and stores them in batches. */
export interface LogQueue {
  add(entry: LogRecord): void;
  /** Which requests should not begin now: their rows might be lost. */
  load(): LogLoad;
  /** Notes that a request of a tenant was refused because of `load`. It leaves no other row. */
  noteRefused(tenant: Pick<LogDetails, "organisation_id" | "workspace_id">): void;
  state(): LogQueueState;
  /** Stores waiting rows; each batch is attempted once. */
  close(): Promise<void>;
}

/** What is written together, also again. */
interface Batch {
  readonly rows: readonly LogRecord[];
  readonly bytes: number;
  readonly losses: readonly Loss[];
  readonly entries: readonly LogRecord[];
}

/** Stores rows in batches, several at a time, and retries after failures. */
class BatchingQueue implements LogQueue {
  readonly #options: LogQueueOptions;
  readonly #waiting: WaitingRows;
  readonly #losses = new Losses();
  readonly #flushAfterMs: number;
  readonly #batchBytes: number;
  readonly #batchRows: number;
  readonly #writesAtOnce: number;
  readonly #counts = { lostRows: 0, lostBodies: 0, refused: 0 };
  readonly #tallies: { readonly rows: Tally; readonly bodies: Tally; readonly refused: Tally };
  #cancelTimer: (() => void) | undefined;
  /** How long the timer runs, and when it ends, in monotonic milliseconds. */
  #timerMs = Number.POSITIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;
  readonly #running = new Set<Promise<void>>();
  /** Batches that failed. They are written again as they were: the store may have them. */
  #repeats: Batch[] = [];
  #failures = 0;
  #phase: "open" | "closing" | "closed" = "open";
  /** Rows of the next batch: a single one after a batch was rejected for good. */
  #nextRows: number;

  constructor(options: LogQueueOptions) {
    this.#options = options;
    const { limits = defaultWaitingLimits, warn } = options;
    this.#waiting = new WaitingRows({
      limits,
      onLostBody: () => {
        this.#counts.lostBodies++;
        this.#tallies.bodies.note();
      },
      onLostRow: (row) => this.#lose(row),
    });
    this.#flushAfterMs = options.flushAfterMs ?? defaultFlushMs;
    this.#batchBytes = options.batchBytes ?? defaultBatchBytes;
    this.#batchRows = options.batchRows ?? defaultBatchRows;
    this.#nextRows = this.#batchRows;
    this.#writesAtOnce = options.writesAtOnce ?? 1;
    const report = (line: (count: number) => string) => new Tally((count) => warn(line(count), undefined));
    this.#tallies = {
      rows: report((count) => `Log rows are lost: ${count} could not be stored`),
      bodies: report((count) => `No room for headers and bodies: ${count} log rows are stored without them`),
      refused: report((count) => `Too many log rows wait: ${count} requests are refused with 503`),
    };
  }

  add(entry: LogRecord): void {
    if (this.#phase === "closed") {
      this.#options.warn("Cannot write a log row: the gateway is closed", undefined);
      this.#counts.lostRows++;
      return;
    }
    this.#waiting.push(entry);
    // a timer runs already, and so few rows need none that ends earlier
    const isFew = this.#waiting.length < fewRows && this.#waiting.bytes <= Math.min(manyBytes, this.#batchBytes);
    if (!isFew || !this.#cancelTimer) this.#plan();
  }

  load(): LogLoad {
    const share = this.#waiting.share();
    if (share < sharesOfLoad.some) return "none";
    if (share < sharesOfLoad.limited) return "some";
    return share < sharesOfLoad.all ? "limited" : "all";
  }

  noteRefused(tenant: Parameters<LogQueue["noteRefused"]>[0]): void {
    this.#counts.refused++;
    this.#losses.addRefused(tenant);
    this.#tallies.refused.note();
    this.#plan();
  }

  state(): LogQueueState {
    return { ...this.#waiting.state(), ...this.#counts };
  }

  async close(): Promise<void> {
    this.#phase = "closing";
    this.#stopTimer();
    await Promise.all(this.#running);
    do {
      while (this.#hasRoom() && this.#startNext());
      await Promise.all(this.#running);
    } while (this.#failures === 0 && (this.#waiting.length > 0 || this.#repeats.length > 0 || !this.#losses.isEmpty));
    this.#phase = "closed";
    for (const tally of Object.values(this.#tallies)) tally.close();
  }

  #lose(row: LogRecord): void {
    this.#counts.lostRows++;
    this.#losses.addRow(row);
    this.#tallies.rows.note();
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerMs = Number.POSITIVE_INFINITY;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  /** Starts a timer for what waits, unless one ends earlier. */
  #plan(): void {
    if (this.#phase !== "open") return;
    const waitMs = this.#waitMs();
    // a timer that is no longer and started before
    if (waitMs >= this.#timerMs) return;
    const dueAt = performance.now() + waitMs;
    if (dueAt >= this.#dueAt) return;
    this.#stopTimer();
    this.#timerMs = waitMs;
    this.#dueAt = dueAt;
    this.#cancelTimer = startTimer(waitMs, () => {
      this.#stopTimer();
      this.#write();
    });
  }

  /** How long what waits now waits for others. */
  #waitMs(): number {
    if (!this.#isEnough()) return this.#pauseMs();
    const { length, bytes } = this.#waiting;
    const isPart = this.#repeats.length === 0 && this.#nextRows === this.#batchRows;
    return isPart && length < manyRows && bytes <= manyBytes ? Math.min(gatherMs, this.#flushAfterMs) : 0;
  }

  #pauseMs(): number {
    return this.#failures === 0 ? this.#flushAfterMs : Math.min(this.#flushAfterMs * 2 ** this.#failures, maxPauseMs);
  }

  /** Whether one more write may run. After a failure, batches are tested one by one. */
  #hasRoom(): boolean {
    const isSound = this.#failures === 0 && this.#nextRows === this.#batchRows;
    if (this.#running.size === 0 || !isSound) return this.#running.size === 0;
    return this.#running.size < this.#writesAtOnce && this.#waiting.writingShare() < mostWriting;
  }

  /** Whether what waits is enough for a write now, beside those that run. */
  #isEnough(): boolean {
    if (this.#failures > 0 || !this.#hasRoom()) return false;
    const { length, bytes } = this.#waiting;
    if (this.#repeats.length > 0 || (length > 0 && this.#nextRows < this.#batchRows)) return true;
    if (this.#running.size > 0) return length >= manyRows || bytes > this.#batchBytes;
    return length >= fewRows || bytes > manyBytes;
  }

  /** Writes rows that waited long enough, then full batches. */
  #write(): void {
    if (this.#hasRoom()) this.#startNext();
    while (this.#isEnough() && this.#startNext());
    if (this.#waiting.length > 0) this.#plan();
  }

  /** Starts the next write; false if there is nothing to write. */
  #startNext(): boolean {
    const batch = this.#repeats.shift() ?? this.#nextBatch();
    if (!batch) return false;
    const running = this.#store(batch).finally(() => {
      this.#running.delete(running);
      if (this.#waiting.length > 0 || this.#repeats.length > 0) this.#plan();
    });
    this.#running.add(running);
    return true;
  }

  /** Losses first, then the oldest rows. */
  #nextBatch(): Batch | undefined {
    const losses = this.#losses.take(Math.min(this.#nextRows, this.#batchRows / 2));
    // one by one: which of them is rejected for good is to be seen
    const most = this.#nextRows === 1 && losses.length > 0 ? 0 : Math.max(1, this.#nextRows - losses.length);
    const { rows, bytes } = this.#waiting.take(most, this.#batchBytes);
    if (losses.length === 0 && rows.length === 0) return undefined;
    return { rows, bytes, losses, entries: [...losses.map(this.#options.describeLoss), ...rows] };
  }

  async #store(batch: Batch): Promise<void> {
    try {
      await this.#options.store(batch.entries);
    } catch (error) {
      if (this.#options.isPermanent?.(error) === true) this.#handleRejection(batch, error);
      else this.#handleFailure(batch, error);
      return;
    }
    this.#waiting.settle(batch);
    this.#failures = 0;
    this.#nextRows = Math.min(this.#batchRows, this.#nextRows * 2);
  }

  /**
   * A write whose response got lost may have stored its rows, so they are written again as the same batch: by its ids the
   * store knows it.
   */
  #handleFailure(batch: Batch, error: unknown): void {
    if (this.#failures++ === 0) this.#options.warn("Cannot write log rows: they wait in memory", error);
    this.#repeats.push(batch);
  }

  /**
   * The store will never take the batch: its rows are written one by one. One that is rejected alone is written without its
   * bodies, and lost if that is rejected too.
   */
  #handleRejection(batch: Batch, error: unknown): void {
    const { rows, losses } = batch;
    if (rows.length + losses.length > 1) {
      this.#losses.putBack(losses);
      this.#waiting.putBack(batch);
      this.#nextRows = 1;
      return;
    }
    const [[row], [loss]] = [rows, losses];
    if (row && row.content !== null) {
      this.#options.warn("Cannot write a log row with its bodies: the store rejected it", error);
      this.#counts.lostBodies++;
      this.#tallies.bodies.note();
      this.#waiting.putBack({ rows: [{ ...row, content: null }], bytes: batch.bytes });
      return;
    }
    this.#options.warn("Cannot write a log row: the store rejected it", error);
    this.#waiting.settle(batch);
    if (row) this.#lose(row);
    // once more without what may be the reason
    if (loss && loss.counted.length > 0) this.#losses.putBack([{ ...loss, counted: [] }]);
  }
}

/** Creates the queue between requests and the log store. */
export function createLogQueue(options: LogQueueOptions): LogQueue {
  return new BatchingQueue(options);
}

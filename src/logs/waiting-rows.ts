import { bodiesOf, type LogRecord } from "./record.ts";

/** Most rows and bytes that wait. */
export interface WaitingLimits {
  readonly rows: number;
  readonly bytes: number;
}

/** Size of a record without bodies, headers and counters, roughly. */
const plainSize = 1024;

/** Size of what a record adds to one counter without the name of its bucket, roughly. */
const incrementSize = 256;

function figuresSizeOf({ counted }: LogRecord): number {
  let size = plainSize;
  if (counted) for (const { bucket } of counted) size += incrementSize + bucket.length;
  return size;
}

function contentSizeOf({ content }: LogRecord): number {
  if (content === null) return 0;
  let size = plainSize + (content.requestBody?.length ?? 0) + (content.responseBody?.length ?? 0);
  if (content.phases) for (const body of bodiesOf(content).slice(2)) size += body?.length ?? 0;
  return size;
}

/** Rows with their sizes. */
interface Taken {
  readonly rows: readonly LogRecord[];
  readonly bytes: number;
}

/** What waiting rows report. */
interface WaitingRowsEvents {
  readonly limits: WaitingLimits;
  onLostBody(): void;
  onLostRow(row: LogRecord): void;
}

/** Waiting rows in order, with their size; drops bodies, then rows, when there are too many. */
export class WaitingRows {
  #rows: LogRecord[] = [];
  /** Size of each row. */
  #sizes: number[] = [];
  #bytes = 0;
  /** Bytes of what cannot be dropped without its row. */
  #figureBytes = 0;
  /** Rows before this index have lost their bodies already. */
  #bodiless = 0;
  /** Rows and bytes that are being written: they count, and are not dropped. */
  #writing = { rows: 0, bytes: 0 };
  readonly #events: WaitingRowsEvents;

  constructor(events: WaitingRowsEvents) {
    this.#events = events;
  }

  /** Rows that are not being written. */
  get length(): number {
    return this.#rows.length;
  }

  /** Their bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Rows and bytes in all. */
  state(): { rows: number; bytes: number } {
    return { rows: this.#rows.length + this.#writing.rows, bytes: this.#bytes + this.#writing.bytes };
  }

  /** How full it is, apart from bodies that can be dropped: 1 is full. */
  share(): number {
    const { rows, bytes } = this.#events.limits;
    return Math.max((this.#rows.length + this.#writing.rows) / rows, this.#figureBytes / bytes);
  }

  /** How much of the bytes that may wait is being written. */
  writingShare(): number {
    return this.#writing.bytes / this.#events.limits.bytes;
  }

  push(entry: LogRecord): void {
    const figures = figuresSizeOf(entry);
    const size = figures + contentSizeOf(entry);
    this.#rows.push(entry);
    this.#sizes.push(size);
    this.#bytes += size;
    this.#figureBytes += figures;
    const { rows: mostRows, bytes: mostBytes } = this.#events.limits;
    const [rows, bytes] = [mostRows - this.#writing.rows, mostBytes - this.#writing.bytes];
    while (this.#bytes > bytes && this.#bodiless < this.#rows.length) this.#dropBodies();
    while (this.#rows.length > rows || (this.#bytes > bytes && this.#rows.length > 1)) this.#dropRow();
  }

  #dropBodies(): void {
    const entry = this.#rows[this.#bodiless];
    const size = entry && contentSizeOf(entry);
    if (size) {
      this.#bytes -= size;
      this.#rows[this.#bodiless] = { ...entry, content: null };
      this.#sizes[this.#bodiless] = figuresSizeOf(entry);
      this.#events.onLostBody();
    }
    this.#bodiless++;
  }

  /** Drops the oldest row that is not being written. */
  #dropRow(): void {
    const entry = this.#rows.shift();
    if (!entry) return;
    if (this.#bodiless > 0) this.#bodiless--;
    this.#bytes -= this.#sizes.shift() ?? 0;
    this.#figureBytes -= figuresSizeOf(entry);
    this.#events.onLostRow(entry);
  }

  /** The oldest rows, at most `limit`, with at most `bytesLimit` bytes unless one alone has more. */
  take(limit: number, bytesLimit: number): Taken {
    let bytes = 0;
    let count = 0;
    for (const size of this.#sizes) {
      if (count === limit) break;
      if (count > 0 && bytes + size > bytesLimit) break;
      bytes += size;
      count++;
    }
    this.#sizes.splice(0, count);
    this.#bytes -= bytes;
    this.#bodiless = Math.max(0, this.#bodiless - count);
    const rows = this.#rows.splice(0, count);
    for (const row of rows) this.#figureBytes -= figuresSizeOf(row);
    this.#writing.rows += count;
    this.#writing.bytes += bytes;
    return { rows, bytes };
  }

  /** Rows that were taken are stored or lost. */
  settle({ rows, bytes }: Taken): void {
    this.#writing.rows -= rows.length;
    this.#writing.bytes -= bytes;
  }

  /** Takes rows back, in front of the others. */
  putBack(taken: Taken): void {
    this.settle(taken);
    const later = this.#rows;
    this.#rows = [];
    this.#sizes = [];
    this.#bytes = 0;
    this.#figureBytes = 0;
    this.#bodiless = 0;
    for (const entry of [...taken.rows, ...later]) this.push(entry);
  }
}

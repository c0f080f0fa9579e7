import type { Draft, LogSealingStore } from "../../db/stores/log-sealing.ts";
import { type Column, decodeColumn, encodeColumn } from "../../lib/columns.ts";
import { firstIdOf } from "../../lib/ids.ts";
import { createPause, giveWay, runPaced } from "../../lib/pace.ts";
import type { BatchRange, IndexState } from "../../schemas/log-segments.ts";
import { addToGroups, type BatchGroup } from "./batch-groups.ts";
import { type OrderedRows, RowTable } from "./row-table.ts";

/** Bytes of rows in a segment, at least, unless the log ends: about 18,000 usual rows. */
const segmentBytes = 16 * 2 ** 20;
/** Bytes of the rows that are read at a time: about a millisecond. */
const readBytes = 256 * 1024;
/** Batches whose sizes are read at a time. */
const pageBatches = 1_024;
/** Slices that are written at a time. */
const pageSlices = 256;

/**
 * Rows leave a segment so long after they became too old, at most, and segments are looked at so often: together less than
 * a day. A segment of more than half a day is made anew at most twice a day, and others are removed as a whole.
 */
const trimDelayMs = 12 * 60 * 60_000;
const trimEveryMs = 60 * 60_000;

/** Batches that have no segment yet. */
interface Waiting {
  /** Number of the last batch that has one. */
  readonly sealed: number;
  lastSeq: number;
  bytes: number;
  readonly groups: BatchGroup[];
}

/**
 * Makes segments of the log's index. It may run in several processes at once, and be killed at any time: a segment becomes
 * visible as a whole, and never two of the same batch.
 */
export class LogSealer {
  readonly #store: LogSealingStore;
  readonly #now: () => number;
  #waiting: Waiting = { sealed: 0, lastSeq: 0, bytes: 0, groups: [] };
  /** The last segment that was looked at for rows that are too old, and when the last one of all was. */
  #trimmedId = 0;
  #trimmedAt = Number.NEGATIVE_INFINITY;
  #running: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** @param now Unix milliseconds. */
  constructor(store: LogSealingStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * Makes one segment: anew where rows were changed, else of batches that have none, if they are enough.
   *
   * @param leastBytes Bytes of rows that are enough.
   * @returns Whether there may be more to do.
   */
  run(leastBytes = segmentBytes): Promise<boolean> {
    const run = this.#running.then(() => this.#run(leastBytes));
    this.#running = run.catch(() => {});
    return run;
  }

  /**
   * Makes a segment anew without the rows that are older than others may be, if it has any.
   *
   * @param time Unix milliseconds: rows of requests that began before leave the segment.
   * @returns Whether there may be more to do.
   */
  trim(time: number): Promise<boolean> {
    const run = this.#running.then(() => this.#trim(time));
    this.#running = run.catch(() => {});
    return run;
  }

  /** Removes a segment that no reader needs any more; returns whether there was one. */
  cleanUp(): Promise<boolean> {
    return this.#store.cleanUp(this.#now());
  }

  /** Gives up a segment that is being made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(leastBytes: number): Promise<boolean> {
    if (this.#isClosed) return false;
    const state = await this.#store.readState();
    if (state.change > 0 && (await this.#renew(state))) return true;
    const waiting = await this.#count(state.sealed);
    if (waiting.bytes === 0 || waiting.bytes < leastBytes) return false;
    const range = { firstSeq: waiting.sealed + 1, lastSeq: waiting.lastSeq };
    return this.#make({ ...range, change: state.change, replaces: null }, waiting.groups);
  }

  /** Makes a segment anew that lacks changes of its rows. */
  async #renew({ change }: IndexState): Promise<boolean> {
    const stale = await this.#store.findStale();
    if (!stale) return false;
    const { id, firstSeq, lastSeq } = stale;
    const groups: BatchGroup[] = [];
    for (let after = firstSeq - 1; ; ) {
      const sizes = await this.#store.readSizes(after, pageBatches);
      addToGroups(
        groups,
        sizes.filter(({ seq }) => seq <= lastSeq),
        readBytes,
      );
      after = sizes.at(-1)?.seq ?? lastSeq;
      if (after >= lastSeq) break;
      await giveWay();
    }
    return this.#make({ firstSeq, lastSeq, change, replaces: id }, groups);
  }

  /** Looks at a few segments, one after the other. After the last one it rests. */
  async #trim(time: number): Promise<boolean> {
    const now = this.#now();
    // a clock may be set back
    if (this.#isClosed || Math.abs(now - this.#trimmedAt) < trimEveryMs) return false;
    const { found, next } = await this.#store.findOld(firstIdOf(time - trimDelayMs), this.#trimmedId);
    // one that cannot be made now does not hold up the others
    this.#trimmedId = found?.id ?? next ?? 0;
    if (found) {
      const { id: replaces, firstSeq, lastSeq, change } = found;
      await this.#make({ firstSeq, lastSeq, change, replaces }, [], firstIdOf(time));
    } else if (next === undefined) this.#trimmedAt = now;
    return found !== undefined || next !== undefined;
  }

  /** Adds batches that were written since the last time, until they are enough for a segment. */
  async #count(sealed: number): Promise<Waiting> {
    if (this.#waiting.sealed !== sealed) this.#waiting = { sealed, lastSeq: sealed, bytes: 0, groups: [] };
    const waiting = this.#waiting;
    while (waiting.bytes < segmentBytes) {
      const sizes = await this.#store.readSizes(waiting.lastSeq, pageBatches);
      for (const size of sizes) {
        if (waiting.bytes >= segmentBytes) return waiting;
        addToGroups(waiting.groups, [size], readBytes);
        waiting.bytes += size.bytes;
        waiting.lastSeq = size.seq;
      }
      if (sizes.length < pageBatches) break;
      await giveWay();
    }
    return waiting;
  }

  /** @param firstId Rows with a smaller id are not copied from the segment that it replaces. */
  async #make(draft: Draft, groups: readonly BatchRange[], firstId = ""): Promise<boolean> {
    const id = await this.#store.begin(draft, this.#now());
    if (id === undefined) return false;
    const table = new RowTable(await this.#store.readDeclaredKeys());
    const read = new Set<number>();
    for (const group of groups) {
      await giveWay();
      if (this.#isClosed) return false;
      const pause = createPause();
      for (const batch of await this.#store.readBatches(group)) {
        table.add(batch);
        read.add(batch.seq);
        await pause();
      }
    }
    await giveWay();
    const isWanted = (seq: number, rowId: string) => rowId >= firstId && !read.has(seq);
    if (draft.replaces !== null && !(await this.#copyRows(draft.replaces, table, isWanted))) return false;
    const rows = table.finish();
    await giveWay();
    return (await this.#write(id, rows)) && this.#store.publish(id, rows.rows, this.#now());
  }

  /** Copies the wanted rows of a segment; false if it is gone. */
  async #copyRows(id: number, table: RowTable, isWanted: (seq: number, rowId: string) => boolean): Promise<boolean> {
    const stored = await this.#store.readSegment(id);
    if (!stored) return false;
    const columns = new Map<string, Column>();
    const pause = createPause();
    for (const [name, bytes] of stored.columns) {
      columns.set(name, decodeColumn(bytes));
      await pause();
    }
    await runPaced(table.copy({ slices: stored.slices, columns }, isWanted));
    await giveWay();
    return true;
  }

  /** Writes the parts of a segment. Other work runs between them. */
  async #write(id: number, { slices, names, columnInSteps }: OrderedRows): Promise<boolean> {
    for (const name of names) {
      await giveWay();
      if (this.#isClosed) return false;
      // thousands of strings take a while, and without a log thread this runs where requests are served
      const made = await runPaced(columnInSteps(name));
      if (made) await this.#store.addColumn(id, name, encodeColumn(made));
    }
    for (let start = 0; start < slices.length; start += pageSlices) {
      await giveWay();
      await this.#store.addSlices(id, slices.slice(start, start + pageSlices));
    }
    return !this.#isClosed;
  }
}

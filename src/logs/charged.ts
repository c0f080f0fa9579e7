import type { LimitCounter } from "../schemas/logs.ts";

/** Counters of money of the rows of a batch: each counter once, and the indexes of those of each row. */
interface ChargedRows {
  readonly counters: readonly LimitCounter[];
  readonly rows: readonly (readonly number[])[];
}

/** As batches were stored before: the counters of each row, or null. */
type FormerRows = readonly (readonly LimitCounter[] | null)[];

const none: readonly LimitCounter[] = [];

/** Gives each counter its index: those of several rows are written once. */
class Numbering {
  readonly counters: LimitCounter[] = [];
  /** Indexes of counters by their limit. */
  readonly #known = new Map<string, number[]>();

  indexOf(counter: LimitCounter): number {
    const { limitId, bucket, windowStart, windowEnd } = counter;
    const ofLimit = this.#known.get(limitId) ?? [];
    if (ofLimit.length === 0) this.#known.set(limitId, ofLimit);
    for (const index of ofLimit) {
      const known = this.counters[index];
      if (known?.bucket === bucket && known.windowStart === windowStart) return index;
    }
    ofLimit.push(this.counters.length);
    // what was added to it belongs to the row
    return this.counters.push({ limitId, bucket, windowStart, windowEnd }) - 1;
  }
}

const noIndexes: readonly number[] = [];

function isSameCounters(row: readonly LimitCounter[], other: readonly LimitCounter[]): boolean {
  if (row.length !== other.length) return false;
  for (let index = 0; index < row.length; index++) {
    const [one, two] = [row[index], other[index]];
    if (one?.limitId !== two?.limitId || one?.bucket !== two?.bucket || one?.windowStart !== two?.windowStart)
      return false;
  }
  return true;
}

/** The counters of money that each row of a batch counts in, as `log_batches` stores them. Empty without any. */
export function packCharged(rows: readonly (readonly LimitCounter[])[]): string {
  if (rows.every(({ length }) => length === 0)) return "";
  const numbering = new Numbering();
  let [former, formerIndexes] = [none, noIndexes];
  const indexes = rows.map((row) => {
    // most rows count where the one before them did
    if (!isSameCounters(row, former)) formerIndexes = row.map((counter) => numbering.indexOf(counter));
    former = row;
    return formerIndexes;
  });
  const packed: ChargedRows = { counters: numbering.counters, rows: indexes };
  return JSON.stringify(packed);
}

/**
 * Reads the counters of each row of a batch, also as earlier versions stored them. A row without any has an empty list.
 *
 * @param charged What `packCharged` returned, or null.
 */
export function readCharged(charged: string | null): readonly (readonly LimitCounter[])[] {
  if (charged === null || charged === "") return [];
  const stored = JSON.parse(charged) as ChargedRows | FormerRows; // only the log writes this column
  if (!("rows" in stored)) return stored.map((row) => row ?? none);
  return stored.rows.map((row) => row.flatMap((index) => stored.counters[index] ?? none));
}

/** A mean; 0 over nothing. */
export const meanOf = (sum: number, count: number): number => (count === 0 ? 0 : sum / count);

/** Lets other requests run where the work has taken a while. */
export type Pause = () => Promise<void> | undefined;

/** Most numbers that are sorted, or looked at between two pauses. */
const sortedAtOnce = 1_024;
const passedAtOnce = 131_072;
/** Ranges that numbers are counted in. */
const ranges = 4_096;

/** Numbers of which percentiles are asked, by group. They are all stored, so that percentiles are exact. */
export class GroupedNumbers {
  readonly #blocks: { readonly groups: Uint32Array; readonly values: Float64Array }[] = [];

  /** Adds numbers, each with its group. Both arrays must stay as they are. */
  add(groups: Uint32Array, values: Float64Array): void {
    this.#blocks.push({ groups, values });
  }

  /**
   * All numbers, those of a group next to each other.
   *
   * @param count How many groups there are.
   */
  async collect(count: number, pause: Pause): Promise<{ all: Float64Array; of(group: number): Float64Array }> {
    const ends = new Float64Array(count + 1);
    for (const { groups } of this.#blocks) {
      for (let row = 0; row < groups.length; row++) {
        const after = (groups[row] ?? 0) + 1;
        ends[after] = (ends[after] ?? 0) + 1;
      }
      await pause();
    }
    for (let group = 0; group < count; group++) ends[group + 1] = (ends[group + 1] ?? 0) + (ends[group] ?? 0);
    const starts = ends.slice();
    const all = new Float64Array(ends[count] ?? 0);
    for (const { groups, values } of this.#blocks) {
      for (let row = 0; row < groups.length; row++) {
        const group = groups[row] ?? 0;
        const at = starts[group] ?? 0;
        all[at] = values[row] ?? Number.NaN;
        starts[group] = at + 1;
      }
      await pause();
    }
    return { all, of: (group) => all.subarray(ends[group], ends[group + 1]) };
  }
}

/** Numbers in pieces that are passed without a pause. */
function toPieces(values: Float64Array): Float64Array[] {
  const pieces: Float64Array[] = [];
  for (let start = 0; start < values.length; start += passedAtOnce) {
    pieces.push(values.subarray(start, start + passedAtOnce));
  }
  return pieces;
}

/** Counts of numbers in equal ranges between the least and the most of them. */
interface Histogram {
  readonly least: number;
  readonly most: number;
  readonly counts: Uint32Array;
}

async function countRanges(pieces: readonly Float64Array[], pause: Pause): Promise<Histogram> {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at++) {
      const value = piece[at] ?? 0;
      if (value < least) least = value;
      if (value > most) most = value;
    }
    await pause();
  }
  const counts = new Uint32Array(ranges);
  const span = most - least;
  if (span === 0) return { least, most, counts };
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at++) {
      const value = piece[at] ?? 0;
      const range = (((value - least) / span) * (ranges - 1)) | 0;
      counts[range] = (counts[range] ?? 0) + 1;
    }
    await pause();
  }
  return { least, most, counts };
}

/** The numbers of one range. */
async function takeRange(
  pieces: readonly Float64Array[],
  { least, most, counts }: Histogram,
  { wanted, pause }: { wanted: number; pause: Pause },
): Promise<Float64Array> {
  const found = new Float64Array(counts[wanted] ?? 0);
  const span = most - least;
  let at = 0;
  for (const piece of pieces) {
    for (let place = 0; place < piece.length; place++) {
      const value = piece[place] ?? 0;
      if (((((value - least) / span) * (ranges - 1)) | 0) === wanted) found[at++] = value;
    }
    await pause();
  }
  return found;
}

/**
 * The numbers with some ranks, from 0. Finds the ranges of numbers that hold them, then looks within these: no step takes
 * longer than one pass over a piece.
 */
async function selectRanks(values: Float64Array, ranks: readonly number[], pause: Pause): Promise<number[]> {
  if (values.length <= sortedAtOnce) {
    const sorted = values.toSorted();
    return ranks.map((rank) => sorted[rank] ?? Number.NaN);
  }
  const pieces = toPieces(values);
  const histogram = await countRanges(pieces, pause);
  const { least, most, counts } = histogram;
  if (least === most) return ranks.map(() => least);
  const found: number[] = [];
  for (const rank of ranks) {
    let wanted = 0;
    let below = 0;
    while (below + (counts[wanted] ?? 0) <= rank) below += counts[wanted++] ?? 0;
    const taken = await takeRange(pieces, histogram, { wanted, pause });
    found.push(...(await selectRanks(taken, [rank - below], pause)));
  }
  return found;
}

/**
 * Percentiles: for each part the smallest number that at least this part of all numbers does not exceed.
 *
 * @param parts From 0 to 1.
 * @returns Null without numbers.
 */
export async function percentilesOf(
  values: Float64Array,
  parts: readonly number[],
  pause: Pause,
): Promise<(number | null)[]> {
  if (values.length === 0) return parts.map(() => null);
  const ranks = parts.map((part) => Math.max(0, Math.ceil(part * values.length) - 1));
  return selectRanks(values, ranks, pause);
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Width of the points of a graph, in milliseconds: minutes up to an hour, hours up to a day, days up to 90, then weeks. */
export function widthOf(from: number, to: number): number {
  const span = to - from;
  if (span <= hourMs) return minuteMs;
  if (span <= dayMs) return hourMs;
  return span <= 90 * dayMs ? dayMs : 7 * dayMs;
}

/** Monday 00:00 UTC, 5 January 1970, from which weeks are counted; the other widths divide it. */
const firstMonday = 4 * dayMs;

/** Start of the point a time belongs to. */
export function startOfPoint(time: number, width: number): number {
  return Math.floor((time - firstMonday) / width) * width + firstMonday;
}

/** Starts of all points between two times, both inclusive. */
export function pointsBetween(from: number, to: number, width: number): number[] {
  const first = startOfPoint(from, width);
  const count = Math.floor((startOfPoint(to, width) - first) / width) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, index) => first + index * width);
}

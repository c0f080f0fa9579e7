/** What is added up over some rows. */
export interface Sums {
  requests: number;
  errors: number;
  /** US cents. */
  cost: number;
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
}

/** Sums over no rows. */
export const createSums = (): Sums => ({
  requests: 0,
  errors: 0,
  cost: 0,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
});

/** A mean; 0 over nothing. */
export const meanOf = (sum: number, count: number): number => (count === 0 ? 0 : sum / count);

/** Numbers of which percentiles are asked. They are all stored, so that percentiles are exact. */
export class Samples {
  #values = new Float64Array(64);
  #count = 0;
  #sum = 0;
  #isSorted = true;

  add(value: number): void {
    if (Number.isNaN(value)) return;
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#count * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value;
    this.#sum += value;
    this.#isSorted = false;
  }

  get mean(): number {
    return meanOf(this.#sum, this.#count);
  }

  /**
   * The smallest value that at least this part of all values does not exceed.
   *
   * @param part From 0 to 1.
   * @returns Null without values.
   */
  percentile(part: number): number | null {
    if (this.#count === 0) return null;
    if (!this.#isSorted) this.#values.subarray(0, this.#count).sort();
    this.#isSorted = true;
    return this.#values[Math.max(0, Math.ceil(part * this.#count) - 1)] ?? null;
  }
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

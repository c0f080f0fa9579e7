/** Age at which a sample counts for a third, in milliseconds. */
const fadingMs = 15_000;
/** Least share of the past in a new value: one sample does not replace all. */
const leastPast = 0.4;

/** An average whose samples count less the older they are. */
export class MovingAverage {
  #value = 0;
  #samples = 0;
  #at = 0;

  /** Undefined before the first sample. */
  get value(): number | undefined {
    return this.#samples === 0 ? undefined : this.#value;
  }

  /** Time of the last sample. */
  get at(): number {
    return this.#samples === 0 ? Number.NEGATIVE_INFINITY : this.#at;
  }

  /** Number of samples, each by what it still counts. */
  samplesAt(now: number): number {
    return this.#samples * Math.exp(-Math.max(0, now - this.#at) / fadingMs);
  }

  add(sample: number, now: number): void {
    const past = this.#samples === 0 ? 0 : Math.max(this.samplesAt(now), leastPast);
    this.#samples = past + 1;
    this.#value += (sample - this.#value) / this.#samples;
    this.#at = now;
  }
}

/** An average of another process. */
export interface SharedAverage {
  readonly value: number;
  readonly samples: number;
}

/** The average of this process and of others; undefined where nobody has one. */
export function joinAverages(own: MovingAverage, other: SharedAverage | undefined, now: number): number | undefined {
  const { value } = own;
  if (!other || other.samples === 0) return value;
  if (value === undefined) return other.value;
  const samples = own.samplesAt(now);
  return (value * samples + other.value * other.samples) / (samples + other.samples);
}

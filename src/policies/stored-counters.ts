/** Name of one stored counter. */
interface CounterName {
  readonly organisationId: string;
  readonly limitId: string;
  readonly bucket: string;
  /** Unix milliseconds; 0 for limits that never reset. */
  readonly windowStart: number;
}

/** What is stored of a counter. */
export interface StoredCount {
  readonly used: number;
  /** What re-priced rows have added to it so far. */
  readonly corrected: number;
}

/** The counters that are stored with the log rows of all processes: what is counted elsewhere agrees with them in the end. */
export interface StoredCounters {
  /** What was used, in the order of the names; 0 where nothing is stored. */
  readUsed(names: readonly CounterName[]): Promise<StoredCount[]>;
  /** Buckets of a limit in one window, and what was used of them. */
  list(limit: Omit<CounterName, "bucket">): Promise<{ bucket: string; used: number }[]>;
}

import { Ledger, type LedgerOptions } from "./ledger.ts";

/** What a process counts by while it cannot reach the counters it shares with others. */
interface LocalShareOptions extends Pick<LedgerOptions, "now" | "onUsed"> {
  /** What all processes together had used or reserved of a bucket when that was last heard; 0 where it never was. */
  readonly lastKnown: NonNullable<LedgerOptions["usedBefore"]>;
  /** How many processes share the limits, as last known. */
  readonly nodes: () => number;
}

/**
 * Counters of one process while the shared ones are away. Of what was left of a limit, each process may use an equal part:
 * together they stay within the limit, as far as they heard of each other.
 */
export function createLocalShare({ now, onUsed, lastKnown, nodes }: LocalShareOptions): Ledger {
  return new Ledger({
    now,
    onUsed,
    usedBefore: lastKnown,
    mostHere: (most, usedBefore) => usedBefore + Math.floor((most - usedBefore) / Math.max(1, nodes())),
  });
}

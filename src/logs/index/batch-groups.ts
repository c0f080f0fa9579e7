import { maxText, minText } from "../../lib/text-order.ts";
import type { BatchRange, BatchSize } from "../../schemas/log-segments.ts";

/** Batches that are read together. */
export interface BatchGroup extends BatchRange {
  /** Smallest and largest id of their rows. */
  readonly firstId: string;
  readonly lastId: string;
  /** Bytes of their rows. */
  readonly bytes: number;
}

/** Bytes of a group, unless one batch has more: about a millisecond to read. The last group is read again as it grows. */
const groupBytes = 64 * 1024;

/**
 * Adds batches that follow to the last group, and begins new ones. Groups are replaced and never changed.
 *
 * @param mostBytes Bytes of a group, unless one batch has more.
 */
export function addToGroups(groups: BatchGroup[], sizes: readonly BatchSize[], mostBytes = groupBytes): void {
  for (const { seq, firstId, lastId, bytes } of sizes) {
    const last = groups.at(-1);
    if (!last || last.bytes + bytes > mostBytes) {
      groups.push({ firstSeq: seq, lastSeq: seq, firstId, lastId, bytes });
      continue;
    }
    groups[groups.length - 1] = {
      firstSeq: last.firstSeq,
      lastSeq: seq,
      firstId: minText(firstId, last.firstId),
      lastId: maxText(lastId, last.lastId),
      bytes: last.bytes + bytes,
    };
  }
}

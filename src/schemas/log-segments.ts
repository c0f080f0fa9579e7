import type { LogDetails } from "./logs.ts";

/** Rows of one tenant in a segment of the log's index: from `start` until before `end`, oldest first. */
export interface Slice {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly start: number;
  readonly end: number;
  /** Ids (ULID) of its first and last row. */
  readonly firstId: string;
  readonly lastId: string;
}

/** Numbers of the first and the last of some batches of the log. */
export interface BatchRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** A batch of the log. */
export interface LoggedBatch {
  /** Its number, in the order of writing. */
  readonly seq: number;
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly details: readonly LogDetails[];
}

/** A batch of the log without its rows. */
export interface BatchSize {
  readonly seq: number;
  /** Smallest and largest id (ULID) of its rows. */
  readonly firstId: string;
  readonly lastId: string;
  /** Bytes of its rows as they are stored. */
  readonly bytes: number;
}

/** A segment of the log's index, without its columns: rows of batches with consecutive numbers. */
interface SegmentHead extends BatchRange {
  readonly id: number;
  readonly rows: number;
}

/** Slices of one scope in a segment. */
export interface ScopedSegment extends SegmentHead {
  readonly slices: readonly Slice[];
}

/** Differs once the index or the log has changed. */
export interface IndexState {
  /** How many segments there are, and the sum of their ids. */
  readonly segments: number;
  readonly idSum: number;
  /** Number of the last batch that has a segment; 0 without any. */
  readonly sealed: number;
  /** Differs after stored rows were changed. */
  readonly change: number;
}

/** What is removed from the log, in Unix milliseconds: of requests that began before. */
export interface RetentionTimes {
  readonly contents: number;
  readonly rows: number;
  readonly statistics: number;
  /** Organisations whose rows are removed earlier than those of others. */
  readonly organisations: readonly { readonly organisationId: string; readonly time: number }[];
}

import type { ReactNode } from "react";
import type { ValueKind } from "./value.tsx";

/**
 * What is read of a record. Compared as methods are, so that a list may hold what reads records of several kinds: whoever
 * calls it hands over a record of the kind it was declared for.
 */
export type Of<T, V> = { of(record: T): V }["of"];

/** One column of a list or one fact of a detail page. */
export interface Attribute<T = object> {
  readonly label: string;
  /** The value in the record. */
  readonly of: Of<T, unknown>;
  readonly kind?: ValueKind;
  readonly track?: string;
  readonly narrowTrack?: string;
  readonly wide?: boolean;
  readonly narrow?: boolean;
  readonly render?: Of<T, ReactNode>;
  /** What a missing or empty value means, for example `Never`. Default: a dash. */
  readonly empty?: string;
  /** Of a fact: left out unless this holds. */
  readonly when?: Of<T, boolean>;
}

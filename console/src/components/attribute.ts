import type { ReactNode } from "react";
import type { Row } from "@/lib/read.ts";
import type { ValueKind } from "./value.tsx";

/** One column of a list or one fact of a detail page. */
export interface Attribute {
  readonly label: string;
  /** Dotted path in the record. */
  readonly path: string;
  readonly kind?: ValueKind;
  readonly track?: string;
  readonly narrowTrack?: string;
  readonly wide?: boolean;
  readonly narrow?: boolean;
  readonly render?: (row: Row) => ReactNode;
  /** What a missing or empty value means, for example `Never`. Default: a dash. */
  readonly empty?: string;
  /** Of a fact: left out unless this holds. */
  readonly when?: (row: Row) => boolean;
}

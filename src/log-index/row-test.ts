import { isId } from "../lib/ids.ts";
import type { LogDetails } from "../schemas/logs.ts";
import type { Condition } from "./conditions.ts";
import { indexedFields, metadataKeyOf } from "./fields.ts";
import type { RowQuery } from "./find-rows.ts";

/** Which rows are wanted: as lists find them in the index, for rows that are at hand. */
export interface RowFilter extends RowQuery {
  /** The trace itself: conditions compare its digest. Null: any. */
  readonly traceId: string | null;
}

/** The value that a column of the index would hold. */
function fieldOf(details: LogDetails, field: Condition["field"], seq: number): string | number | null {
  const key = metadataKeyOf(field);
  if (key === undefined) return indexedFields[field as keyof typeof indexedFields].of(details, seq); // no key: a plain field
  const { metadata } = details;
  const value: unknown = metadata && Object.hasOwn(metadata, key) ? metadata[key] : null;
  return typeof value === "string" ? value : null;
}

function meets(value: string | number | null, condition: Condition): boolean {
  if (value === null) return false;
  if ("matches" in condition) return typeof value === "string" && condition.matches(value);
  if ("oneOf" in condition) return (condition.oneOf as ReadonlySet<unknown>).has(value);
  const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = condition;
  return typeof value === "number" && value >= least && value <= most;
}

/** Whether a row is wanted. Rows without an id were not written by this program and are never wanted. */
export function isWanted(details: LogDetails, filter: RowFilter, seq: number): boolean {
  const { lower, upper, traceId, conditions } = filter;
  const id: unknown = details?.id;
  if (!(typeof id === "string" && isId(id) && id >= lower && id < upper)) return false;
  if (traceId !== null && details.trace_id !== traceId) return false;
  return conditions.every((condition) => meets(fieldOf(details, condition.field, seq), condition));
}

/** Strings that JSON writes as they are. */
const plainText = /^[\w .:@/+-]{1,256}$/;

/** Pieces of JSON. The stored rows of a batch contain each of them if one of the rows may be wanted. */
export function hintsOf({ traceId, conditions }: RowFilter): string[] {
  const hints: string[] = [];
  if (traceId !== null && plainText.test(traceId)) hints.push(JSON.stringify(traceId));
  for (const condition of conditions) {
    if (!("oneOf" in condition) || condition.oneOf.size !== 1) continue;
    const [only] = condition.oneOf;
    if (condition.field === "status") hints.push(`"status":${only}`);
    else if (typeof only === "string" && plainText.test(only)) hints.push(JSON.stringify(only));
  }
  return hints;
}

import type { JsonValue } from "../../db/tables/columns.ts";

/** A value as a JSON column takes it: members that are undefined are left out. */
export function toJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value));
}

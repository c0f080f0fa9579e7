import type { JsonValue } from "../../db/tables/columns.ts";

/** A value as a JSON column takes it: fields that are undefined are left out. */
export function toJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value));
}

import { integer, text } from "drizzle-orm/sqlite-core";

/** Unix milliseconds. */
export const createdAt = integer("created_at").notNull();
/** Unix milliseconds of the last change; 0 where there was none. */
export const lastUpdatedAt = integer("last_updated_at").notNull().default(0);

/** A column that holds JSON text and reads as its value. Its shape is the schema's that wrote it. */
export function jsonColumn(name: string) {
  return text(name, { mode: "json" }).$type<JsonValue>();
}

/** Anything JSON can hold. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };

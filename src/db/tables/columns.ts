import { integer, text } from "drizzle-orm/sqlite-core";

/** Unix milliseconds. */
export const createdAt = integer("created_at").notNull();
/** Unix milliseconds of the last change; 0 if it never changed. */
export const lastUpdatedAt = integer("last_updated_at").notNull().default(0);

/** The first columns of a record of an organisation. */
export const record = {
  id: text("id").primaryKey(),
  organisationId: text("organisation_id").notNull(),
};

/** A column that stores JSON text and reads as its value, which has the shape of the schema that wrote it. */
export function jsonColumn<Value = JsonValue>(name: string) {
  return text(name, { mode: "json" }).$type<Value>();
}

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };

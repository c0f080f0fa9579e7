import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Data of this installation, each written once: the wrapped root secret, the mark of the first start. */
export const installation = sqliteTable("installation", {
  name: text("name").primaryKey(),
  value: text("value").notNull(),
  createdAt: integer("created_at").notNull(),
});

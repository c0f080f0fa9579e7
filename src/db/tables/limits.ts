import { index, integer, primaryKey, real, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * What was used of limits, written in the transaction of the log rows that used it: the counters always equal the sum
 * over the stored rows.
 */
export const limitCounters = sqliteTable(
  "limit_counters",
  {
    organisationId: text("organisation_id").notNull(),
    /** Id of the limit: of a policy, or of the record that has the limit. */
    limitId: text("limit_id").notNull(),
    /** What shares the limit, such as `api_key:<id>`. */
    bucket: text("bucket").notNull(),
    /** Unix milliseconds; 0 for limits that never reset. */
    windowStart: integer("window_start").notNull(),
    /** Unix milliseconds; null for limits that never reset. */
    windowEnd: integer("window_end"),
    /** Requests, tokens or nano-dollars. */
    used: real("used").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organisationId, table.limitId, table.bucket, table.windowStart] }),
    index("limit_counters_by_end").on(table.windowEnd),
  ],
);

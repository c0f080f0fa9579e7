import { blob, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * Segments of the index over the log, each over batches with consecutive numbers. They follow from `log_batches` and can
 * be made anew at any time. Segments that are live never overlap.
 */
export const logSegments = sqliteTable(
  "log_segments",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    /** Numbers of the first and last batch. */
    firstSeq: integer("first_seq").notNull(),
    lastSeq: integer("last_seq").notNull(),
    rows: integer("rows").notNull(),
    /** Largest id in `log_changes` before the batches were read: later changes are not in the segment. */
    change: integer("change").notNull(),
    /** The segment whose place it takes. */
    replaces: integer("replaces"),
    /** `building` while it is written, then `live`, then `removed` until no reader can need it. */
    state: text("state").notNull(),
    /** Unix milliseconds since when it is in this state. */
    stateAt: integer("state_at").notNull(),
  },
  (table) => [index("log_segments_by_state").on(table.state, table.lastSeq)],
);

/** Which rows of a segment are whose: rows of a segment are ordered by tenant, then by id. */
export const logSlices = sqliteTable(
  "log_slices",
  {
    segmentId: integer("segment_id").notNull(),
    /** Rows from `first_row` until before `end_row`. */
    firstRow: integer("first_row").notNull(),
    endRow: integer("end_row").notNull(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id"),
    /** Ids (ULID) of its first and last row. */
    firstId: text("first_id").notNull(),
    lastId: text("last_id").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.segmentId, table.firstRow] }),
    index("log_slices_by_tenant").on(table.organisationId, table.segmentId),
  ],
);

/** Columns of a segment, one for each field that has a value. */
export const logColumns = sqliteTable(
  "log_columns",
  {
    segmentId: integer("segment_id").notNull(),
    field: text("field").notNull(),
    /** As `lib/columns.ts` encodes it. */
    data: blob("data", { mode: "buffer" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.segmentId, table.field] })],
);

/** Batches whose rows were changed after they were written. The trigger `log_batches_changed` adds them. */
export const logChanges = sqliteTable("log_changes", {
  id: integer("id").primaryKey({ autoIncrement: true }),
  /** `seq` of the row in `log_batches`. */
  seq: integer("seq").notNull(),
});

import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Objects of an object store that hold contents of the log, each of one organisation. */
export const logObjects = sqliteTable(
  "log_objects",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    organisationId: text("organisation_id").notNull(),
    /** Name of the object, without the prefix of the store. */
    name: text("name").notNull(),
    /** Largest id (ULID) of its requests. */
    lastId: text("last_id").notNull(),
    /** `writing` until it is stored, then `live`, then `removed` until the store has deleted it. */
    state: text("state").notNull(),
    /** Unix milliseconds since when it is in this state. */
    stateAt: integer("state_at").notNull(),
  },
  (table) => [index("log_objects_by_state").on(table.state, table.lastId)],
);

/** Where the contents of a batch are in an object. They are no longer in `log_bodies`. */
export const logPlaces = sqliteTable(
  "log_places",
  {
    /** `seq` of the row in `log_batches`. */
    seq: integer("seq").primaryKey(),
    objectId: integer("object_id").notNull(),
    /** Position of the first byte, and number of bytes. */
    start: integer("start").notNull(),
    bytes: integer("bytes").notNull(),
  },
  (table) => [index("log_places_by_object").on(table.objectId)],
);

import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** Organisations: the tenants. */
export const organisations = sqliteTable("organisations", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  slug: text("slug").notNull().unique(),
  createdAt: integer("created_at").notNull(),
});

/** Workspaces of an organisation. */
export const workspaces = sqliteTable(
  "workspaces",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id")
      .notNull()
      .references(() => organisations.id),
    name: text("name").notNull(),
    slug: text("slug").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [uniqueIndex("workspaces_slug").on(table.organisationId, table.slug)],
);

/** People of an organisation. */
export const users = sqliteTable(
  "users",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id")
      .notNull()
      .references(() => organisations.id),
    email: text("email").notNull(),
    /** `owner`, `admin` or `member` of the organisation. */
    role: text("role").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [uniqueIndex("users_email").on(table.organisationId, table.email)],
);

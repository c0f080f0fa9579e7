import { and, asc, desc, eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "../client.ts";
import type { Tenant } from "../tenant-store.ts";

/** A tenant that is one workspace. */
export interface WorkspaceTenant extends Tenant {
  readonly workspaceId: string;
}

/** Which part of a list is shown. */
export interface PageOptions {
  limit: number;
  /** Default `desc`: newest first. */
  order?: "asc" | "desc" | undefined;
  /** The row the page before ended with. */
  after?: { id: string; createdAt: number } | undefined;
}

type RecordTable = SQLiteTable & Record<"id" | "organisationId" | "workspaceId" | "createdAt", SQLiteColumn>;

/** Creates what reads a table of a workspace's records page by page, in the order they were made. */
export function createPageReader<Table extends RecordTable>({ orm }: Database, table: Table) {
  return async (
    { organisationId, workspaceId }: WorkspaceTenant,
    { limit, order = "desc", after }: PageOptions,
    ...conditions: (SQL | undefined)[]
  ): Promise<Table["$inferSelect"][]> => {
    const sign = order === "desc" ? sql`<` : sql`>`;
    const direction = order === "desc" ? desc : asc;
    const condition = and(
      eq(table.organisationId, organisationId),
      eq(table.workspaceId, workspaceId),
      after && sql`(${table.createdAt}, ${table.id}) ${sign} (${after.createdAt}, ${after.id})`,
      ...conditions,
    );
    const sorted = orm.select().from(table).where(condition).orderBy(direction(table.createdAt), direction(table.id));
    // drizzle gives rows of the table it was asked for; it loses that through the type parameter
    return (await sorted.limit(limit)) as Table["$inferSelect"][];
  };
}

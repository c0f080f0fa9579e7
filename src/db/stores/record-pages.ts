import { and, asc, desc, eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "../client.ts";
import type { Tenant } from "../tenant-store.ts";

/** A single workspace as the tenant. */
export interface WorkspaceTenant extends Tenant {
  readonly workspaceId: string;
}

/** Selects a page of a list. */
export interface PageOptions {
  limit: number;
  /** Default `desc`: newest first. */
  order?: "asc" | "desc" | undefined;
  /** The last row of the previous page. */
  after?: { id: string; createdAt: number } | undefined;
}

type RecordTable = SQLiteTable & Record<"id" | "organisationId" | "workspaceId" | "createdAt", SQLiteColumn>;

/** Creates a reader of a workspace's records, page by page in order of creation. */
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
    // drizzle returns rows of the given table; the type parameter loses that
    return (await sorted.limit(limit)) as Table["$inferSelect"][];
  };
}

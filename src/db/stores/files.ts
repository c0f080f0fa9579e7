import type { InStatement } from "@libsql/client";
import { and, eq, gt, inArray, isNull, lte, or, sql } from "drizzle-orm";
import type { Database } from "../client.ts";
import { type GatewayFileRow, gatewayFiles } from "../tables/files.ts";
import { workspaces } from "../tables/tenants.ts";
import { createPageReader, type PageOptions, type WorkspaceTenant } from "./record-pages.ts";

/** Location of a file's pieces. */
export type FilePlace = Pick<GatewayFileRow, "id" | "organisationId" | "workspaceId">;

/** Queries on stored files beyond those of the tenant store. */
export interface FileStore {
  /** Complete files that have not expired. */
  page(
    tenant: WorkspaceTenant,
    options: PageOptions & { purpose?: string | undefined; now: number },
  ): Promise<GatewayFileRow[]>;
  /** Bytes of all files of a workspace, including unfinished uploads. */
  totalBytes(tenant: WorkspaceTenant): Promise<number>;
  /** For the cleanup, which has no tenant: files whose content must be deleted, including those of deleted workspaces. */
  listGone(now: number, limit: number): Promise<GatewayFileRow[]>;
  /** A sealed piece that is stored in the database. */
  readPiece(place: FilePlace, seq: number): Promise<Uint8Array | undefined>;
  insertPiece(place: FilePlace, seq: number, content: Uint8Array): InStatement;
  removePieces(place: FilePlace): InStatement;
}

/** The store of files over libSQL. */
export function createFileStore(database: Database): FileStore {
  const { orm } = database;
  const readPage = createPageReader(database, gatewayFiles);
  const ofPlace = "organisation_id = ? AND workspace_id = ? AND file_id = ?";
  const argsOf = ({ organisationId, workspaceId, id }: FilePlace) => [organisationId, workspaceId, id];
  return {
    page(tenant, { purpose, now, ...options }) {
      const isLive = or(isNull(gatewayFiles.expiresAt), gt(gatewayFiles.expiresAt, now));
      const isWhole = eq(gatewayFiles.status, "processed");
      return readPage(tenant, options, isWhole, isLive, purpose ? eq(gatewayFiles.purpose, purpose) : undefined);
    },
    async totalBytes({ organisationId, workspaceId }) {
      const [row] = await orm
        .select({ total: sql<number | null>`sum(${gatewayFiles.bytes})` })
        .from(gatewayFiles)
        .where(and(eq(gatewayFiles.organisationId, organisationId), eq(gatewayFiles.workspaceId, workspaceId)));
      return row?.total ?? 0;
    },
    listGone: (now, limit) => {
      const archived = orm.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.status, "archived"));
      const isGone = or(
        lte(gatewayFiles.expiresAt, now),
        eq(gatewayFiles.status, "deleted"),
        inArray(gatewayFiles.workspaceId, archived),
      );
      return orm.select().from(gatewayFiles).where(isGone).limit(limit);
    },
    async readPiece(place, seq) {
      const sql = `SELECT content FROM gateway_file_pieces WHERE ${ofPlace} AND seq = ?`;
      const { rows } = await database.read({ sql, args: [...argsOf(place), seq] });
      const content = rows[0]?.content;
      return content instanceof ArrayBuffer ? new Uint8Array(content) : undefined;
    },
    insertPiece: (place, seq, content) => ({
      sql: "INSERT INTO gateway_file_pieces (organisation_id, workspace_id, file_id, seq, content) VALUES (?, ?, ?, ?, ?)",
      args: [...argsOf(place), seq, content],
    }),
    removePieces: (place) => ({ sql: `DELETE FROM gateway_file_pieces WHERE ${ofPlace}`, args: argsOf(place) }),
  };
}

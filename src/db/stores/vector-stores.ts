import type { InStatement } from "@libsql/client";
import { and, asc, count, desc, eq, inArray, lte, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { type Database, type Statement, toStatement } from "../client.ts";
import { gatewayFiles } from "../tables/files.ts";
import { workspaces } from "../tables/tenants.ts";
import {
  type VectorStoreFileRow,
  type VectorStoreRow,
  vectorStoreFiles,
  vectorStores,
} from "../tables/vector-stores.ts";
import type { Lease } from "./batches.ts";
import { createPageReader, type PageOptions, type WorkspaceTenant } from "./record-pages.ts";

/** A vector store and its tenant. */
export type VectorStorePlace = Pick<VectorStoreRow, "id" | "organisationId" | "workspaceId">;

/** Where a block stands: its file, and the number of its first chunk. */
export interface BlockPlace {
  readonly fileId: string;
  readonly seq: number;
}

/** Sealed contents of a block. */
export interface SealedBlock extends BlockPlace {
  readonly vectors: Uint8Array;
  readonly contents: Uint8Array;
}

/** Sums over the files of a store. */
export interface StoreCounts {
  readonly byStatus: Readonly<Record<string, number>>;
  readonly bytes: number;
  readonly chunks: number;
}

/** Selects files of a store. */
interface FilePage extends PageOptions {
  readonly status?: string | undefined;
  readonly batchId?: string | undefined;
}

/** Blocks that the cleanup removes in one statement. */
const removedAtOnce = 200;

function ofStore({ organisationId, workspaceId, id }: VectorStorePlace): SQL | undefined {
  return and(
    eq(vectorStoreFiles.organisationId, organisationId),
    eq(vectorStoreFiles.workspaceId, workspaceId),
    eq(vectorStoreFiles.storeId, id),
  );
}

function ofFile({ organisationId, workspaceId, storeId, id }: VectorStoreFileRow): SQL | undefined {
  return and(ofStore({ organisationId, workspaceId, id: storeId }), eq(vectorStoreFiles.id, id));
}

/** Files whose source can be read: a file that was deleted or has expired is in no store any more. */
function hasSource(now: number): SQL {
  const source = sql`source.id = ${vectorStoreFiles.id} AND source.workspace_id = ${vectorStoreFiles.workspaceId}`;
  const isLive = sql`source.status = 'processed' AND (source.expires_at IS NULL OR source.expires_at > ${now})`;
  return sql`EXISTS (SELECT 1 FROM ${gatewayFiles} AS source WHERE ${source} AND ${isLive})`;
}

const total = (column: SQLiteColumn): SQL<number> => sql<number>`coalesce(sum(${column}), 0)`;

function toCounts(rows: readonly { status: string; files: number; bytes: number; chunks: number }[]): StoreCounts {
  return {
    byStatus: Object.fromEntries(rows.map(({ status, files }) => [status, files])),
    bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    chunks: rows.reduce((sum, { chunks }) => sum + chunks, 0),
  };
}

function bytesIn(value: unknown): Uint8Array {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(0);
}

/** Queries on vector stores beyond those of the tenant stores. */
export class VectorStoreStore {
  readonly #database: Database;
  readonly #readStores: ReturnType<typeof createPageReader<typeof vectorStores>>;
  readonly #readFiles: ReturnType<typeof createPageReader<typeof vectorStoreFiles>>;

  constructor(database: Database) {
    this.#database = database;
    this.#readStores = createPageReader(database, vectorStores);
    this.#readFiles = createPageReader(database, vectorStoreFiles);
  }

  /** Writes statements in one transaction. */
  async write(statements: readonly InStatement[]): Promise<void> {
    await this.#database.write(statements);
  }

  page(tenant: WorkspaceTenant, options: PageOptions): Promise<VectorStoreRow[]> {
    return this.#readStores(tenant, options, eq(vectorStores.status, "open"));
  }

  /** Files of a store, those of one status or batch where it is named. */
  files(store: VectorStorePlace, now: number, { status, batchId, ...page }: FilePage): Promise<VectorStoreFileRow[]> {
    const conditions = [
      ofStore(store),
      hasSource(now),
      status === undefined ? undefined : eq(vectorStoreFiles.status, status),
      batchId === undefined ? undefined : eq(vectorStoreFiles.batchId, batchId),
    ];
    return this.#readFiles(store, page, ...conditions);
  }

  /** A file of a store. */
  async file(store: VectorStorePlace, id: string, now: number): Promise<VectorStoreFileRow | undefined> {
    const rows = this.#database.orm.select().from(vectorStoreFiles);
    const [row] = await rows.where(and(ofStore(store), eq(vectorStoreFiles.id, id), hasSource(now))).limit(1);
    return row;
  }

  /** Sums over the files of each of these stores, or of one batch. */
  async counts(
    { organisationId, workspaceId }: WorkspaceTenant,
    { ids, now, batchId }: { ids: readonly string[]; now: number; batchId?: string },
  ): Promise<ReadonlyMap<string, StoreCounts>> {
    const conditions = [
      eq(vectorStoreFiles.organisationId, organisationId),
      eq(vectorStoreFiles.workspaceId, workspaceId),
      inArray(vectorStoreFiles.storeId, [...ids]),
      hasSource(now),
      batchId === undefined ? undefined : eq(vectorStoreFiles.batchId, batchId),
    ];
    const { storeId, status, bytes, position } = vectorStoreFiles;
    const rows = await this.#database.orm
      .select({ storeId, status, files: count(), bytes: total(bytes), chunks: total(position) })
      .from(vectorStoreFiles)
      .where(and(...conditions))
      .groupBy(storeId, status);
    return new Map(ids.map((id) => [id, toCounts(rows.filter((row) => row.storeId === id))]));
  }

  /** Number of stores of a workspace, and bytes of their blocks. */
  async totals({ organisationId, workspaceId }: WorkspaceTenant): Promise<{ stores: number; bytes: number }> {
    const { orm } = this.#database;
    const isOwn = and(eq(vectorStores.organisationId, organisationId), eq(vectorStores.workspaceId, workspaceId));
    const [stores] = await orm
      .select({ total: count() })
      .from(vectorStores)
      .where(and(isOwn, eq(vectorStores.status, "open")));
    const [files] = await orm
      .select({ total: total(vectorStoreFiles.bytes) })
      .from(vectorStoreFiles)
      .where(and(eq(vectorStoreFiles.organisationId, organisationId), eq(vectorStoreFiles.workspaceId, workspaceId)));
    return { stores: stores?.total ?? 0, bytes: files?.total ?? 0 };
  }

  /** Blocks of these files behind a place, with vectors and without text, in order. */
  async vectors(
    { organisationId, workspaceId, id }: VectorStorePlace,
    fileIds: string,
    { after, limit }: { after: BlockPlace; limit: number },
  ): Promise<(BlockPlace & { vectors: Uint8Array })[]> {
    const { rows } = await this.#database.read({
      sql: `SELECT file_id, seq, vectors FROM vector_store_blocks
        WHERE store_id = ? AND organisation_id = ? AND workspace_id = ? AND (file_id, seq) > (?, ?)
        AND file_id IN (SELECT value FROM json_each(?)) ORDER BY file_id, seq LIMIT ?`,
      args: [id, organisationId, workspaceId, after.fileId, after.seq, fileIds, limit],
    });
    return rows.map((row) => ({
      fileId: String(row.file_id),
      seq: Number(row.seq),
      vectors: bytesIn(row.vectors),
    }));
  }

  /** Sealed text of a file's blocks from a chunk on, in order. */
  async contents(
    { organisationId, workspaceId, id }: VectorStorePlace,
    { fileId, seq }: BlockPlace,
    limit: number,
  ): Promise<{ seq: number; contents: Uint8Array }[]> {
    const { rows } = await this.#database.read({
      sql: `SELECT seq, content FROM vector_store_blocks WHERE store_id = ? AND organisation_id = ? AND workspace_id = ?
        AND file_id = ? AND seq >= ? ORDER BY seq LIMIT ?`,
      args: [id, organisationId, workspaceId, fileId, seq, limit],
    });
    return rows.map((row) => ({ seq: Number(row.seq), contents: bytesIn(row.content) }));
  }

  /** For the runner, which has no tenant: files without a lease that have no vectors yet, oldest first. */
  listFree(now: number, limit: number): Promise<VectorStoreFileRow[]> {
    return this.#database.orm
      .select()
      .from(vectorStoreFiles)
      .where(and(eq(vectorStoreFiles.status, "in_progress"), lte(vectorStoreFiles.leaseUntil, now)))
      .orderBy(asc(vectorStoreFiles.createdAt), asc(vectorStoreFiles.id))
      .limit(limit);
  }

  /** Leases a free file; returns whether it succeeded. */
  claim(row: VectorStoreFileRow, { owner, until }: Lease, now: number): Promise<boolean> {
    const isFree = and(ofFile(row), eq(vectorStoreFiles.status, "in_progress"), lte(vectorStoreFiles.leaseUntil, now));
    return this.#changeOne({ leaseOwner: owner, leaseUntil: until }, isFree);
  }

  /** Extends or ends a lease; false when another runner holds the file, or nothing is left to do. */
  renew(row: VectorStoreFileRow, { owner, until }: Lease, attempts?: number): Promise<boolean> {
    const isMine = and(ofFile(row), eq(vectorStoreFiles.leaseOwner, owner), eq(vectorStoreFiles.status, "in_progress"));
    return this.#changeOne({ leaseUntil: until, ...(attempts !== undefined && { attempts }) }, isMine);
  }

  /** Stores a block, if the runner still holds its file. */
  insertBlock(row: VectorStoreFileRow, owner: string, block: SealedBlock): InStatement {
    return {
      sql: `INSERT INTO vector_store_blocks (store_id, file_id, seq, organisation_id, workspace_id, vectors, content)
        SELECT store_id, file_id, ?, organisation_id, workspace_id, ?, ? FROM vector_store_files
        WHERE store_id = ? AND file_id = ? AND organisation_id = ? AND workspace_id = ? AND turn = ? AND lease_owner = ?
        AND status = 'in_progress'`,
      args: [
        block.seq,
        block.vectors,
        block.contents,
        row.storeId,
        row.id,
        row.organisationId,
        row.workspaceId,
        row.turn,
        owner,
      ],
    };
  }

  /** Records one step. The transaction fails with a conflict if another runner took the step or holds the file. */
  step(row: VectorStoreFileRow, owner: string, changes: Partial<VectorStoreFileRow>): Statement {
    const { orm } = this.#database;
    // the column is not nullable, so a foreign file fails the transaction instead of being skipped
    const turn = sql`CASE WHEN turn = ${row.turn} AND lease_owner = ${owner} AND status = 'in_progress' THEN turn + 1 END`;
    return toStatement(
      orm
        .update(vectorStoreFiles)
        .set({ ...changes, turn })
        .where(ofFile(row)),
    );
  }

  /** Sets the length of a store's vectors, if none is set. */
  setLength({ organisationId, workspaceId, storeId }: VectorStoreFileRow, length: number): InStatement {
    return {
      sql: "UPDATE vector_stores SET length = ? WHERE id = ? AND organisation_id = ? AND workspace_id = ? AND length IS NULL",
      args: [length, storeId, organisationId, workspaceId],
    };
  }

  /** Ends the work on files of a batch that have no vectors yet. */
  async cancelBatch(store: VectorStorePlace, batchId: string): Promise<void> {
    const isOpen = and(
      ofStore(store),
      eq(vectorStoreFiles.batchId, batchId),
      eq(vectorStoreFiles.status, "in_progress"),
    );
    const update = this.#database.orm.update(vectorStoreFiles).set({ status: "cancelled" }).where(isOpen);
    await this.#database.write([toStatement(update)]);
  }

  /** The newest use of a store is written once a minute at most. */
  async touch(store: VectorStoreRow, now: number): Promise<void> {
    if (now - store.lastActiveAt < 60_000) return;
    const isOwn = and(eq(vectorStores.id, store.id), eq(vectorStores.organisationId, store.organisationId));
    const update = this.#database.orm.update(vectorStores).set({ lastActiveAt: now }).where(isOwn);
    await this.#database.write([toStatement(update)]);
  }

  /** Removes a file of a store, with its blocks. */
  async removeFile({ organisationId, workspaceId, storeId, id }: VectorStoreFileRow): Promise<void> {
    const args = [storeId, id, organisationId, workspaceId];
    const ofOne = "store_id = ? AND file_id = ? AND organisation_id = ? AND workspace_id = ?";
    // a runner that still holds the file inserts nothing afterwards
    await this.#database.write([{ sql: `DELETE FROM vector_store_files WHERE ${ofOne}`, args }]);
    const sliced = `DELETE FROM vector_store_blocks WHERE ${ofOne} AND seq IN
      (SELECT seq FROM vector_store_blocks WHERE ${ofOne} LIMIT ?)`;
    await this.#removeSliced({ sql: sliced, args: [...args, ...args, removedAtOnce] });
  }

  /** For the cleanup, which has no tenant: files whose source is gone, and those of stores that expired. */
  listGoneFiles(now: number, limit: number): Promise<VectorStoreFileRow[]> {
    const expired = this.#database.orm
      .select({ id: vectorStores.id })
      .from(vectorStores)
      .where(sql`${vectorStores.expiresDays} * 86400000 + ${vectorStores.lastActiveAt} <= ${now}`);
    const isGone = sql`(NOT ${hasSource(now)} OR ${inArray(vectorStoreFiles.storeId, expired)})`;
    return this.#database.orm.select().from(vectorStoreFiles).where(isGone).limit(limit);
  }

  /** For the cleanup: stores that were deleted, or whose workspace was. */
  listGone(limit: number): Promise<VectorStoreRow[]> {
    const { orm } = this.#database;
    const archived = orm.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.status, "archived"));
    const isGone = sql`(${eq(vectorStores.status, "deleted")} OR ${inArray(vectorStores.workspaceId, archived)})`;
    return orm.select().from(vectorStores).where(isGone).orderBy(desc(vectorStores.createdAt)).limit(limit);
  }

  /** Removes the files and blocks of a store. */
  async purge({ organisationId, workspaceId, id }: VectorStorePlace): Promise<void> {
    const args = [id, organisationId, workspaceId];
    const ofOne = "store_id = ? AND organisation_id = ? AND workspace_id = ?";
    await this.#database.write([{ sql: `DELETE FROM vector_store_files WHERE ${ofOne}`, args }]);
    const sliced = `DELETE FROM vector_store_blocks WHERE rowid IN
      (SELECT rowid FROM vector_store_blocks WHERE ${ofOne} LIMIT ?)`;
    await this.#removeSliced({ sql: sliced, args: [...args, removedAtOnce] });
  }

  /** Runs a statement until it removes less than it may. */
  async #removeSliced(statement: InStatement): Promise<void> {
    for (;;) {
      const [result] = await this.#database.write([statement]);
      if ((result?.rowsAffected ?? 0) < removedAtOnce) return;
    }
  }

  /** Whether one row was changed. */
  async #changeOne(changes: Partial<VectorStoreFileRow>, where: SQL | undefined): Promise<boolean> {
    const update = this.#database.orm.update(vectorStoreFiles).set(changes).where(where);
    const [result] = await this.#database.write([toStatement(update)]);
    return result?.rowsAffected === 1;
  }
}

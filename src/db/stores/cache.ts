import type { InStatement, InValue } from "@libsql/client";
import type { Database, Statement } from "../client.ts";

/** Where an entry belongs. */
interface Place {
  readonly organisationId: string;
  readonly workspaceId: string;
  /** Digest of the namespace; empty without one. */
  readonly namespace: string;
}

/** A sealed entry. Times in Unix milliseconds. */
interface EntryRow {
  readonly place: Place;
  readonly key: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
  readonly storedAt: number;
  readonly expiresAt: number;
}

/** An embedding. Times in Unix milliseconds. */
interface VectorRow {
  readonly place: Place;
  readonly key: string;
  /** Digest of all that must be equal. */
  readonly partition: string;
  /** 32-bit floats, little-endian. */
  readonly vector: Uint8Array<ArrayBuffer>;
  readonly storedAt: number;
  readonly expiresAt: number;
}

type StoredVector = Pick<VectorRow, "key" | "vector" | "storedAt" | "expiresAt">;

/** Some vectors of a partition. Times in Unix milliseconds. */
interface VectorPage {
  readonly now: number;
  readonly since: number;
  readonly limit: number;
  readonly after: { readonly key: string; readonly storedAt: number } | undefined;
}

/** A part of an organisation; null: all of it. */
interface Scope {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly namespace: string | null;
}

/** Responses of the cache and the embeddings of their questions. Every query names the tenant. */
export interface CacheStore {
  find(place: Place, key: string, now: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Existing entries are replaced. */
  store(entries: readonly EntryRow[]): Promise<void>;
  remove(place: Place, key: string): Promise<void>;
  /** Removes the entries of a scope, some at a time. */
  purge(scope: Scope): Promise<void>;
  /** As `purge`, for embeddings alone. */
  purgeVectors(scope: Scope): Promise<void>;
  /** Removes expired rows, and the oldest entries above the limit of bytes. */
  cleanUp(now: number): Promise<void>;
  removeExpiredVectors(now: number): Promise<void>;
  storeVectors(rows: readonly VectorRow[]): Promise<void>;
  removeVector(place: Place, key: string): Promise<void>;
  /**
   * The newest vectors of a partition that were stored at `since` or later, at most `limit`.
   *
   * @param options.after The row before the first one; undefined: from the newest on.
   */
  vectors(place: Place, partition: string, options: VectorPage): Promise<StoredVector[]>;
  /** The vector nearest to another one, by the cosine of their angle. */
  nearest(
    place: Place,
    partition: string,
    options: { now: number; vector: Uint8Array<ArrayBuffer> },
  ): Promise<{ key: string; similarity: number } | undefined>;
  close(): void;
}

/** Rows that one statement removes: other writes come in between. */
const step = 200;
/** Entries whose bytes are added up at a time. */
const sumStep = 5_000;
/** Between two steps, in milliseconds. */
const pauseMs = 2;

const pause = () => new Promise<void>((go) => setTimeout(go, pauseMs));

function toBytes(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  // the driver makes no other kind of buffer
  return value instanceof Uint8Array ? new Uint8Array(value) : undefined;
}

function toCondition({ organisationId, workspaceId, namespace }: Scope): { sql: string; args: InValue[] } {
  const parts = [["organisation_id", organisationId] as const];
  const named = [...parts, ["workspace_id", workspaceId] as const, ["namespace", namespace] as const].filter(
    (part): part is readonly [(typeof part)[0], string] => part[1] !== null,
  );
  return { sql: named.map(([column]) => `${column} = ?`).join(" AND "), args: named.map(([, value]) => value) };
}

const entryColumns = "key, organisation_id, workspace_id, namespace, bytes, stored_at, expires_at, sealed";
const vectorColumns = "key, organisation_id, workspace_id, namespace, partition, stored_at, expires_at, vector";

/** A statement that writes several rows; a row with the same key is replaced. */
function insert(table: string, columns: string, rows: readonly InValue[][]): InStatement {
  const names = columns.split(", ");
  const row = `(${names.map(() => "?").join(", ")})`;
  const changes = names.slice(1).map((name) => `${name} = excluded.${name}`);
  const sql = `INSERT INTO ${table} (${columns}) VALUES ${rows.map(() => row).join(", ")}
    ON CONFLICT (key) DO UPDATE SET ${changes.join(", ")}`;
  return { sql, args: rows.flat() };
}

/** Statements over both tables. */
class LibsqlCacheStore implements CacheStore {
  readonly #database: Database;
  readonly #maxBytes: number;

  constructor(database: Database, maxBytes: number) {
    this.#database = database;
    this.#maxBytes = maxBytes;
  }

  async find({ organisationId, workspaceId }: Place, key: string, now: number) {
    const sql =
      "SELECT sealed FROM cache_entries WHERE key = ? AND organisation_id = ? AND workspace_id = ? AND expires_at > ?";
    const { rows } = await this.#database.read({ sql, args: [key, organisationId, workspaceId, now] });
    return toBytes(rows[0]?.sealed);
  }

  async store(entries: readonly EntryRow[]) {
    const rows = entries.map(({ place, key, sealed, storedAt, expiresAt }): InValue[] => {
      const { organisationId, workspaceId, namespace } = place;
      return [key, organisationId, workspaceId, namespace, sealed.length, storedAt, expiresAt, sealed];
    });
    await this.#database.write([insert("cache_entries", entryColumns, rows)]);
  }

  async remove(place: Place, key: string) {
    await this.#removeFrom(["cache_entries", "cache_vectors"], place, key);
  }

  async removeVector(place: Place, key: string) {
    await this.#removeFrom(["cache_vectors"], place, key);
  }

  async #removeFrom(tables: readonly string[], { organisationId, workspaceId }: Place, key: string) {
    const args = [key, organisationId, workspaceId];
    const where = "key = ? AND organisation_id = ? AND workspace_id = ?";
    await this.#database.write(tables.map((table) => ({ sql: `DELETE FROM ${table} WHERE ${where}`, args })));
  }

  async purge(scope: Scope) {
    const { sql, args } = toCondition(scope);
    await this.#removeAll("cache_entries", sql, args);
  }

  async purgeVectors(scope: Scope) {
    const { sql, args } = toCondition(scope);
    await this.#removeAll("cache_vectors", sql, args);
  }

  /** Removes rows in steps. */
  async #removeAll(table: string, condition: string, args: InValue[]) {
    const sql = `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE ${condition} LIMIT ${step})`;
    for (;;) {
      const [removed] = await this.#database.write([{ sql, args }]);
      if ((removed?.rowsAffected ?? 0) < step) return;
      await pause();
    }
  }

  async removeExpiredVectors(now: number) {
    await this.#removeAll("cache_vectors", "expires_at <= ?", [now]);
  }

  async cleanUp(now: number) {
    await this.#removeAll("cache_entries", "expires_at <= ?", [now]);
    let excess = (await this.#sum()) - this.#maxBytes;
    const sql = `DELETE FROM cache_entries WHERE key IN
      (SELECT key FROM cache_entries ORDER BY stored_at LIMIT ${step}) RETURNING bytes`;
    while (excess > 0) {
      const [removed] = await this.#database.write([sql]);
      if (!removed || removed.rows.length === 0) return;
      for (const { bytes } of removed.rows) excess -= Number(bytes);
      await pause();
    }
  }

  /** Bytes of all entries, added up in steps. */
  async #sum(): Promise<number> {
    const sql = `SELECT count(*) AS rows, sum(bytes) AS bytes, max(stored_at) AS last FROM
      (SELECT stored_at, bytes FROM cache_entries WHERE stored_at > ? ORDER BY stored_at LIMIT ${sumStep})`;
    let [sum, last] = [0, -1];
    for (;;) {
      const { rows } = await this.#database.read({ sql, args: [last] });
      const [row] = rows;
      sum += Number(row?.bytes ?? 0);
      if (Number(row?.rows ?? 0) < sumStep) return sum;
      last = Number(row?.last);
      await pause();
    }
  }

  async storeVectors(given: readonly VectorRow[]) {
    const rows = given.map(({ place, key, partition, vector, storedAt, expiresAt }): InValue[] => {
      const { organisationId, workspaceId, namespace } = place;
      return [key, organisationId, workspaceId, namespace, partition, storedAt, expiresAt, vector];
    });
    await this.#database.write([insert("cache_vectors", vectorColumns, rows)]);
  }

  async vectors({ organisationId }: Place, partition: string, { now, since, limit, after }: VectorPage) {
    const { storedAt, key } = after ?? { storedAt: Number.MAX_SAFE_INTEGER, key: "" };
    const sql = `SELECT key, vector, stored_at, expires_at FROM cache_vectors
      WHERE organisation_id = ? AND partition = ? AND stored_at >= ? AND stored_at <= ?
      AND (stored_at < ? OR key < ?) AND expires_at > ? ORDER BY stored_at DESC, key DESC LIMIT ?`;
    const args = [organisationId, partition, since, storedAt, storedAt, key, now, limit];
    const { rows } = await this.#database.read({ sql, args });
    return rows.flatMap((row) => {
      const vector = toBytes(row.vector);
      if (!vector) return [];
      return [{ key: String(row.key), vector, storedAt: Number(row.stored_at), expiresAt: Number(row.expires_at) }];
    });
  }

  async nearest(
    { organisationId }: Place,
    partition: string,
    { now, vector }: { now: number; vector: Uint8Array<ArrayBuffer> },
  ) {
    const sql = `SELECT key, vector_distance_cos(vector, ?) AS distance FROM cache_vectors
      WHERE organisation_id = ? AND partition = ? AND expires_at > ? AND length(vector) = ? ORDER BY distance LIMIT 1`;
    const args = [vector, organisationId, partition, now, vector.length];
    const { rows } = await this.#database.read({ sql, args });
    const [row] = rows;
    return row && { key: String(row.key), similarity: 1 - Number(row.distance) };
  }

  close(): void {}
}

/**
 * The store over libSQL.
 *
 * @param maxBytes Most bytes of all entries.
 */
export function createCacheStore(database: Database, maxBytes: number): CacheStore {
  return new LibsqlCacheStore(database, maxBytes);
}

/** Kind of record that a purge of the cache announces. */
export const cacheResource = "cache";

/**
 * A statement that announces a purge to all processes: each removes what it has. It removes nothing itself, because the
 * rows go in steps before it.
 *
 * @param scope `namespace` is a digest.
 * @param id Names the purge.
 */
export function announcePurge({ organisationId, workspaceId, namespace }: Scope, id: string): Statement {
  return {
    sql: "DELETE FROM cache_vectors WHERE organisation_id = ? AND key = ''",
    args: [organisationId],
    written: {
      resource: cacheResource,
      workspaceId: workspaceId ?? undefined,
      recordIds: [`${id} ${namespace ?? ""}`],
    },
  };
}

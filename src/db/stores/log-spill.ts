import { parseJson } from "../../lib/json.ts";
import { isLogBatches, type LogBatch } from "../../schemas/logs.ts";
import { type DatabaseLocation, openDatabase } from "../client.ts";
import { readContents, type TextCodec } from "./logs.ts";

/** Where batches of the log wait while its database is away. */
export interface LogSpillSettings {
  /** A separate local file, with a bound on its size. */
  location: DatabaseLocation & { maxBytes: number };
  /** Marks the batches: those of another installation are left alone, should it use the same file. */
  installation: string;
}

/** Batches that were written together; undefined if the file is damaged there. */
interface SpilledBatches {
  id: number;
  /** Rows of all batches. */
  rows: number;
  batches: readonly LogBatch[] | undefined;
}

/** The file in which batches of the log wait. Processes may share it. */
interface LogSpillStore {
  /** Adds batches that were to be written together; false if there is no room for them, or the file is unusable. */
  add(batches: readonly LogBatch[], rows: number): Promise<boolean>;
  /** What has waited longest, in order: many small entries, or a single large one. Empty if nothing waits. */
  oldest(): Promise<SpilledBatches[]>;
  remove(ids: readonly number[]): Promise<void>;
  /** Rows that wait, and bytes of the file that are in use. */
  state(): Promise<{ rows: number; bytes: number }>;
  close(): Promise<void>;
}

/** The file is a database, so that a process may be killed at any time. Its schema never changes: it is usually empty. */
const createTable = `CREATE TABLE IF NOT EXISTS log_spill (
  id INTEGER PRIMARY KEY AUTOINCREMENT, installation TEXT NOT NULL, rows INTEGER NOT NULL, content NOT NULL)`;

/**
 * What is read of the file at a time: most entries, and most bytes unless one entry has more. Entries of a quiet gateway have
 * a few rows: a server that is asked for a transaction for each would need longer than the outage.
 */
const mostAtOnce = 512;
const bytesAtOnce = 1024 * 1024;

/** Entries in order, up to the one with which they have so many bytes. */
const selectOldest = `WITH first AS (
    SELECT id, rows, content, sum(octet_length(content)) OVER (ORDER BY id) - octet_length(content) AS before
    FROM (SELECT * FROM log_spill WHERE installation = ? ORDER BY id LIMIT ?))
  SELECT id, rows, content FROM first WHERE before < ? ORDER BY id`;

/** Pages that are given back at a time once nothing waits. */
const shrinkPages = 16_384;

/**
 * Opens the file, which it creates if necessary.
 *
 * @throws If it cannot be opened.
 */
export async function openLogSpill(
  { location, installation }: LogSpillSettings,
  codec: TextCodec | undefined,
): Promise<LogSpillStore> {
  const database = await openDatabase(location);
  await database.write([createTable]);
  const insert = "INSERT INTO log_spill (installation, rows, content) VALUES (?, ?, ?)";
  return {
    async add(batches, rows) {
      const text = JSON.stringify(batches.map(({ late: _, ...batch }) => batch));
      try {
        await database.write([{ sql: insert, args: [installation, rows, codec ? codec.compress(text) : text] }]);
        return true;
      } catch {
        return false;
      }
    },
    async oldest() {
      const { rows: found } = await database.read({ sql: selectOldest, args: [installation, mostAtOnce, bytesAtOnce] });
      return found.map((row) => ({
        id: Number(row.id),
        rows: Number(row.rows),
        batches: readBatches(row.content, codec),
      }));
    },
    async remove(ids) {
      const sql = "DELETE FROM log_spill WHERE id IN (SELECT value FROM json_each(?))";
      await database.write([{ sql, args: [JSON.stringify(ids)] }]);
      const { rows } = await database.read("SELECT EXISTS (SELECT 1 FROM log_spill) AS is_used");
      if (Number(rows[0]?.is_used) === 0) await database.shrink(shrinkPages);
    },
    async state() {
      const sql = `SELECT (SELECT coalesce(sum(rows), 0) FROM log_spill WHERE installation = ?) AS rows,
        (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size`;
      const { rows } = await database.read({ sql, args: [installation] });
      return { rows: Number(rows[0]?.rows ?? 0), bytes: Number(rows[0]?.bytes ?? 0) };
    },
    close: () => database.close(),
  };
}

/** Batches as `add` wrote them. */
function readBatches(content: unknown, codec: TextCodec | undefined): readonly LogBatch[] | undefined {
  try {
    const value: unknown = parseJson(readContents(content, codec) ?? "");
    return isLogBatches(value) ? value : undefined;
  } catch {
    return undefined; // the codec refuses what it did not write
  }
}

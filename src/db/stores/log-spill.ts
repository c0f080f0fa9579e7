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
  /** What has waited longest; undefined if nothing waits. */
  oldest(): Promise<SpilledBatches | undefined>;
  remove(id: number): Promise<void>;
  /** Rows that wait, and bytes of the file that are in use. */
  state(): Promise<{ rows: number; bytes: number }>;
  close(): Promise<void>;
}

/** The file is a database, so that a process may be killed at any time. Its schema never changes: it is usually empty. */
const createTable = `CREATE TABLE IF NOT EXISTS log_spill (
  id INTEGER PRIMARY KEY AUTOINCREMENT, installation TEXT NOT NULL, rows INTEGER NOT NULL, content NOT NULL)`;

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
      const text = JSON.stringify(batches);
      try {
        await database.write([{ sql: insert, args: [installation, rows, codec ? codec.compress(text) : text] }]);
        return true;
      } catch {
        return false;
      }
    },
    async oldest() {
      const sql = "SELECT id, rows, content FROM log_spill WHERE installation = ? ORDER BY id LIMIT 1";
      const { rows: found } = await database.read({ sql, args: [installation] });
      const [row] = found;
      if (!row) return undefined;
      return { id: Number(row.id), rows: Number(row.rows), batches: readBatches(row.content, codec) };
    },
    async remove(id) {
      await database.write([{ sql: "DELETE FROM log_spill WHERE id = ?", args: [id] }]);
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

import type { InStatement, Row } from "@libsql/client";
import { isId, timeOfId } from "../../lib/ids.ts";
import { giveWay } from "../../lib/pace.ts";
import type { HookResults } from "../../schemas/hooks.ts";
import type { LateHooks, LogBatch, LogContent, LogDetails } from "../../schemas/logs.ts";
import type { Database, Statement } from "../client.ts";
import { readDetails } from "./log-batches.ts";
import { openContents } from "./log-content.ts";
import { basesOf, expandRepeats, LogRepeats, type Shortened } from "./log-repeats.ts";
import { readFirstShown } from "./log-retention.ts";
import { type LogScope, scopeCondition } from "./log-scope.ts";

/** A stored row; the content is null where it was not stored. */
export interface StoredLog {
  details: LogDetails;
  content: LogContent | null;
  /** The content is in an object store that does not respond. */
  isAway?: true;
}

/** Objects in which contents may be. */
interface ContentObjects {
  /** A part of an object. Rejects if the store does not respond. */
  get(name: string, range: { start: number; bytes: number }): Promise<Uint8Array>;
}

/** Contents of the log are in an object store that does not respond, or that is not configured. */
export class ContentsAwayError extends Error {
  override readonly name = "ContentsAwayError";
}

// the answer to an earlier attempt may have been lost
const addHooksSql = `INSERT INTO log_hooks (organisation_id, workspace_id, log_id, results)
  SELECT value ->> '$.request.organisation_id', value ->> '$.request.workspace_id', value ->> '$.request.id',
    value ->> 'results'
  FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM log_hooks AS stored WHERE stored.log_id = value ->> '$.request.id'
    AND stored.organisation_id = value ->> '$.request.organisation_id' AND stored.results = value ->> 'results')`;

/** Stored log rows. */
export interface LogStore {
  /** Stores batches with their bodies, all or none. Batches that are stored already, by their ids, stay as they are. */
  append(batches: readonly LogBatch[]): Promise<void>;
  /** The statements of `append`, for rows that are stored together with something else. */
  toStatements(batches: readonly LogBatch[]): InStatement[];
  /** One row with its bodies. */
  find(scope: LogScope, id: string): Promise<StoredLog | undefined>;
  /**
   * Contents of the rows of a batch, by their ids; null where they are not stored.
   *
   * @throws {ContentsAwayError} If the object store that has them does not respond.
   */
  readContents(scope: LogScope, seq: number): Promise<Map<string, LogContent | null>>;
  /** Stores results of hooks that ran after their requests, all or none. */
  addHooks(hooks: readonly LateHooks[]): Promise<void>;
  /** Results of the hooks that ran after a response, in order of writing. */
  findHooks(scope: LogScope, id: string): Promise<HookResults[]>;
}

/** Compresses the contents that the log stores. */
export interface TextCodec {
  compress(text: string): Uint8Array;
  expand(bytes: Uint8Array): string;
  /** A keyed digest without collisions, such as HMAC-SHA-256. Absent: what repeats is stored each time. */
  digest?(key: Uint8Array, text: string | Uint8Array): string;
}

/**
 * Statements that insert a batch, with its counters of money and without.
 *
 * @param organisation SQL of the organisation's id, whose value is bound first.
 */
const batchInserts = (organisation: string) => ({
  // a bound value costs as much as the rest of a small row
  plain: `INSERT INTO log_batches (organisation_id, workspace_id, first_id, last_id, details)
    VALUES (${organisation}, ?2, ?3, ?4, ?5)`,
  charged: `INSERT INTO log_batches (organisation_id, workspace_id, first_id, last_id, details, charged)
    VALUES (${organisation}, ?2, ?3, ?4, ?5, ?6)`,
});
const insertBatch = batchInserts("?1");
/** Fails if a batch with these ids is stored: an attempt whose answer got lost may have stored it. */
const insertNewBatch = batchInserts(`coalesce((SELECT json_extract('{}', 'stored already: ' || first_id)
  FROM log_batches WHERE organisation_id = ?1 AND last_id = ?4 AND first_id = ?3 AND workspace_id IS ?2 LIMIT 1), ?1)`);
const insertContent = "INSERT INTO log_bodies (seq, content) VALUES (last_insert_rowid(), ?)";

/** Whether a write failed because a batch is stored already. */
function isStoredAlready(error: unknown): boolean {
  return String(error).includes("stored already: ");
}

/** Fails if contents are gone that a batch refers to. */
const refuseIfGone = `SELECT json_extract('{}', 'contents gone: ' || value) FROM json_each(?)
  WHERE NOT EXISTS (SELECT 1 FROM log_bodies WHERE log_bodies.seq = value)
    AND NOT EXISTS (SELECT 1 FROM log_places WHERE log_places.seq = value) LIMIT 1`;

/** Whether a write failed because contents are gone that a batch refers to. */
function areContentsGone(error: unknown): boolean {
  return String(error).includes("contents gone: ");
}

const addIncrements = `INSERT INTO limit_counters (organisation_id, limit_id, bucket, window_start, window_end, used)
  SELECT ?, value ->> 'limitId', value ->> 'bucket', value ->> 'windowStart', value ->> 'windowEnd', value ->> 'used'
  FROM json_each(?) WHERE true
  ON CONFLICT (organisation_id, limit_id, bucket, window_start) DO UPDATE SET used = used + excluded.used`;

/**
 * The statement that adds to counters of limits.
 *
 * @param increments JSON of a list of `LimitIncrement`.
 */
export function addToCounters(organisationId: string, increments: string): Pick<Statement, "sql" | "args"> {
  return { sql: addIncrements, args: [organisationId, increments] };
}

/** The use of leases, where processes share the limits. A node that was removed has no leases. */
const addToLeases = `INSERT INTO limit_leases
    (organisation_id, limit_id, bucket, window_start, window_end, node_id, number, granted, used, is_closed)
  SELECT ?, value ->> 'limitId', value ->> 'bucket', value ->> 'windowStart', value ->> 'windowEnd',
    value ->> '$.lease.nodeId', value ->> '$.lease.number', 0, value ->> 'used', 0
  FROM json_each(?) WHERE value ->> '$.lease.nodeId' IN (SELECT id FROM gateway_nodes)
  ON CONFLICT (organisation_id, limit_id, bucket, window_start, node_id, number)
    DO UPDATE SET used = used + excluded.used`;

function toInserts(
  batch: LogBatch,
  codec: TextCodec | undefined,
  insert = insertBatch,
  text = batch.content,
): InStatement[] {
  const { organisationId, workspaceId, firstId, lastId, details, counted, charged } = batch;
  const content = codec ? codec.compress(text) : text;
  const row = [organisationId, workspaceId, firstId, lastId, details];
  const inserts: InStatement[] = [
    charged === "" ? { sql: insert.plain, args: row } : { sql: insert.charged, args: [...row, charged] },
    { sql: insertContent, args: [content] },
  ];
  if (counted !== "") inserts.push(addToCounters(organisationId, counted));
  if (counted.includes('"lease":{')) inserts.push({ sql: addToLeases, args: [organisationId, counted] });
  return inserts;
}

/** The contents of a batch; undefined when they were not stored or cannot be decoded here. */
export function readContents(stored: unknown, codec: TextCodec | undefined): string | undefined {
  if (typeof stored === "string") return stored;
  return stored instanceof ArrayBuffer ? codec?.expand(new Uint8Array(stored)) : undefined;
}

/** Whether the newest contents are compressed: without a codec, they cannot be read. */
export async function holdsCompressed(database: Database): Promise<boolean> {
  const newest = "SELECT typeof(content) AS form FROM log_bodies ORDER BY seq DESC LIMIT 1";
  return (await database.read(newest)).rows[0]?.form === "blob";
}

/** How content begins that a codec of this program compressed: the magic number of Zstandard (RFC 8878, 3.1.1). */
const frameStart = [0x28, 0xb5, 0x2f, 0xfd];

/** Contents as they are in an object: the bytes of the database. */
function readObject(bytes: Uint8Array, codec: TextCodec | undefined): string | undefined {
  const isCompressed = frameStart.every((byte, index) => bytes[index] === byte);
  return isCompressed ? codec?.expand(bytes) : new TextDecoder().decode(bytes);
}

const contentColumns = "content, name, start, bytes";
/** A batch with its contents, or with the place of an object where they are. */
const withContents = `log_batches LEFT JOIN log_bodies USING (seq) LEFT JOIN log_places USING (seq)
  LEFT JOIN log_objects ON log_objects.id = object_id`;

/** The contents of a batch as they are stored, from a row with `contentColumns`. */
async function loadStored(row: Row | undefined, { codec, objects }: StoreParts): Promise<string | undefined> {
  if (!row || row.content !== null || row.name === null) return readContents(row?.content, codec);
  const range = { start: Number(row.start), bytes: Number(row.bytes) };
  try {
    if (!objects) throw new Error("no object store is configured");
    return readObject(await objects.get(String(row.name), range), codec);
  } catch (cause) {
    throw new ContentsAwayError("Cannot read contents of the log from the object store", { cause });
  }
}

/** The contents of a batch, from a row with `contentColumns`; batches that they refer to are of the same tenant. */
async function loadContents(
  row: Row | undefined,
  scope: LogScope,
  parts: StoreParts,
): Promise<(index: number) => LogContent | null> {
  const stored = await loadStored(row, parts);
  const others = new Map<number, string | undefined>();
  const bases = basesOf(stored);
  if (bases.length > 0) {
    const condition = scopeCondition(scope, "log_batches");
    const sql = `SELECT log_batches.seq AS batch, ${contentColumns} FROM ${withContents}
      WHERE ${condition.sql} AND log_batches.seq IN (SELECT value FROM json_each(?))`;
    const { rows } = await parts.database.read({ sql, args: [...condition.args, JSON.stringify(bases)] });
    for (const base of rows) others.set(Number(base.batch), await loadStored(base, parts));
  }
  return openContents(expandRepeats(stored, others));
}

/** Batches read at a time. */
const pageBatches = 8;

/** Batches of a scope that may hold a row, page by page: other requests run between them. */
async function* readPages(
  database: Database,
  scope: LogScope,
  id: string,
): AsyncGenerator<{ seq: number; details: string }[]> {
  const condition = scopeCondition(scope);
  const sql = `SELECT seq, last_id, details FROM log_batches WHERE ${condition.sql}
    AND first_id <= ? AND last_id >= ? AND (last_id, seq) > (?, ?) ORDER BY last_id, seq LIMIT ?`;
  let [lastId, seq] = ["", 0];
  for (;;) {
    const { rows } = await database.read({ sql, args: [...condition.args, id, id, lastId, seq, pageBatches] });
    const last = rows.at(-1);
    if (!last) return;
    yield rows.map((row) => ({ seq: Number(row.seq), details: String(row.details) }));
    if (rows.length < pageBatches) return;
    [lastId, seq] = [String(last.last_id), Number(last.seq)];
    await giveWay();
  }
}

async function findRow(parts: StoreParts, scope: LogScope, id: string): Promise<StoredLog | undefined> {
  const { database } = parts;
  const condition = scopeCondition(scope, "log_batches");
  const quoted = JSON.stringify(id);
  const sql = `SELECT ${contentColumns} FROM ${withContents} WHERE ${condition.sql} AND log_batches.seq = ?`;
  for await (const batches of readPages(database, scope, id)) {
    for (const { seq, details: text } of batches) {
      if (!text.includes(quoted)) continue;
      const batch = readDetails(text);
      const index = batch.findIndex((details) => details.id === id);
      const details = batch[index];
      if (!details) continue;
      if (timeOfId(id) < parts.shownSince()) return { details, content: null };
      const { rows } = await database.read({ sql, args: [...condition.args, seq] });
      try {
        return { details, content: (await loadContents(rows[0], scope, parts))(index) };
      } catch (error) {
        if (!(error instanceof ContentsAwayError)) throw error;
        return { details, content: null, isAway: true };
      }
    }
  }
  return undefined;
}

interface StoreParts {
  database: Database;
  codec: TextCodec | undefined;
  objects: ContentObjects | undefined;
  /** What the batches that this process wrote contain. */
  repeats: LogRepeats | undefined;
  /** Unix milliseconds of the oldest request whose contents are shown. */
  shownSince(): number;
}

/** Stores batches, all or none, and remembers what they contain. */
async function writeBatches({ database, codec, repeats }: StoreParts, batches: readonly LogBatch[]): Promise<void> {
  const statements: InStatement[] = [];
  const written: { shortened: Shortened; lastId: string; index: number }[] = [];
  for (const batch of batches) {
    const shortened = repeats?.shorten(batch);
    if (shortened && shortened.bases.length > 0)
      statements.push({ sql: refuseIfGone, args: [JSON.stringify(shortened.bases)] });
    if (shortened) written.push({ shortened, lastId: batch.lastId, index: statements.length });
    statements.push(...toInserts(batch, codec, insertNewBatch, shortened?.text));
  }
  const results = await database.write(statements);
  for (const { shortened, lastId, index } of written) {
    const seq = results[index]?.lastInsertRowid;
    if (seq !== undefined) repeats?.remember(shortened, Number(seq), lastId);
  }
}

/** Stores batches that are not stored yet. */
async function appendOnce(parts: StoreParts, batches: readonly LogBatch[]): Promise<void> {
  try {
    await writeBatches(parts, batches);
  } catch (error) {
    if (areContentsGone(error)) {
      parts.repeats?.clear();
      return await appendOnce(parts, batches);
    }
    if (!isStoredAlready(error)) throw error;
    // they were put together otherwise before: each decides for itself
    if (batches.length > 1) for (const batch of batches) await appendOnce(parts, [batch]);
  }
}

/**
 * The log store over libSQL. Contents are compressed if the host can. Those in `objects` were moved there.
 *
 * @param shownSince Unix milliseconds: contents of requests that began before are not shown, though others may still refer to
 *   them. Default: all are.
 */
export function createLogStore(
  database: Database,
  codec?: TextCodec,
  objects?: ContentObjects,
  shownSince: () => number = () => 0,
): LogStore {
  const repeats = codec?.digest && new LogRepeats(codec.digest.bind(codec));
  const parts: StoreParts = { database, codec, objects, repeats, shownSince };
  const toStatements: LogStore["toStatements"] = (batches) => batches.flatMap((batch) => toInserts(batch, codec));
  return {
    toStatements,
    append: (batches) => appendOnce(parts, batches),
    async readContents(scope, seq) {
      const condition = scopeCondition(scope, "log_batches");
      const sql = `SELECT details, ${contentColumns} FROM ${withContents} WHERE ${condition.sql} AND log_batches.seq = ?`;
      const { rows } = await database.read({ sql, args: [...condition.args, seq] });
      const [row] = rows;
      if (!row) return new Map();
      const contentOf = await loadContents(row, scope, parts);
      const since = shownSince();
      const ids = readDetails(String(row.details)).map(({ id }) => id);
      return new Map(ids.map((id, index) => [id, timeOfId(id) < since ? null : contentOf(index)]));
    },
    async addHooks(hooks) {
      await database.write([{ sql: addHooksSql, args: [JSON.stringify(hooks)] }]);
    },
    async findHooks(scope, id) {
      const condition = scopeCondition(scope);
      const sql = `SELECT results FROM log_hooks WHERE ${condition.sql} AND log_id = ? ORDER BY seq`;
      const { rows } = await database.read({ sql, args: [...condition.args, id] });
      // only `addHooks` writes this column
      return rows.map((row) => JSON.parse(String(row.results)) as HookResults);
    },
    async find(scope, id) {
      if (!isId(id) || id < (await readFirstShown(database, scope.organisationId))) return undefined;
      return findRow(parts, scope, id);
    },
  };
}

import type { InStatement } from "@libsql/client";
import { firstIdOf, isId } from "../../lib/ids.ts";
import { parseJson } from "../../lib/json.ts";
import type { HookResults } from "../../schemas/hooks.ts";
import type { LogBatch, LogContent, LogDetails } from "../../schemas/logs.ts";
import type { Database, Statement } from "../client.ts";
import { openContents } from "./log-content.ts";

/** Which tenant's rows are read: one workspace, or a whole organisation. */
export interface LogScope {
  organisationId: string;
  /** Null: rows of every workspace, and those without a workspace. */
  workspaceId: string | null;
}

/** Filters and limits of a list, which is newest first. */
export interface LogFilter {
  /** Rows older than this id. */
  before?: string;
  /** Unix milliseconds, inclusive. */
  from?: number;
  /** Unix milliseconds, exclusive. */
  to?: number;
  status?: number;
  model?: string;
  provider?: string;
  traceId?: string;
  apiKeyId?: string;
  /** Only rows of these keys. */
  ofKeys?: ReadonlySet<string>;
  limit: number;
}

/** A stored row; the content is null in lists and where it was not stored. */
export interface StoredLog {
  details: LogDetails;
  content: LogContent | null;
}

/** Result of a list. */
interface LogPage {
  rows: StoredLog[];
  /** Where to continue the search: rows older than this id. Null when the page is full or there are no more rows. */
  stoppedAt: string | null;
}

/** Results of the hooks that ran after a response. */
interface LateHooks {
  organisationId: string;
  workspaceId: string | null;
  logId: string;
  /** JSON of `HookResults`. */
  results: string;
}

/** Stored log rows. */
export interface LogStore {
  /** Stores batches with their bodies, all or none. */
  append(batches: readonly LogBatch[]): Promise<void>;
  /** The statements of `append`, for rows that are stored together with something else. */
  toStatements(batches: readonly LogBatch[]): InStatement[];
  /** Rows without bodies, newest first. It searches a limited number of rows and returns where it stopped. */
  list(scope: LogScope, filter: LogFilter): Promise<LogPage>;
  /** One row with its bodies. */
  find(scope: LogScope, id: string): Promise<StoredLog | undefined>;
  /** Stores results of hooks that ran after their request. */
  addHooks(hooks: LateHooks): Promise<void>;
  /** Results of the hooks that ran after a response, in order of writing. */
  findHooks(scope: LogScope, id: string): Promise<HookResults[]>;
  /** Removes at most `limit` batches made before `time` (Unix milliseconds) with their bodies; returns how many. */
  purge(time: number, limit: number): Promise<number>;
}

/** Compresses text for storage. */
export interface TextCodec {
  compress(text: string): Uint8Array;
  expand(bytes: Uint8Array): string;
}

const insertBatch =
  "INSERT INTO log_batches (organisation_id, workspace_id, first_id, last_id, details) VALUES (?, ?, ?, ?, ?)";
const insertChargedBatch =
  "INSERT INTO log_batches (organisation_id, workspace_id, first_id, last_id, details, charged) VALUES (?, ?, ?, ?, ?, ?)";
const insertContent = "INSERT INTO log_bodies (seq, content) VALUES (last_insert_rowid(), ?)";

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

function toInserts(batch: LogBatch, codec: TextCodec | undefined): InStatement[] {
  const { organisationId, workspaceId, firstId, lastId, details, counted, charged } = batch;
  const content = codec ? codec.compress(batch.content) : batch.content;
  const row = [organisationId, workspaceId, firstId, lastId, details];
  const inserts: InStatement[] = [
    // a bound value costs as much as the rest of a small row
    charged === "" ? { sql: insertBatch, args: row } : { sql: insertChargedBatch, args: [...row, charged] },
    { sql: insertContent, args: [content] },
  ];
  if (counted !== "") inserts.push(addToCounters(organisationId, counted));
  if (counted.includes('"lease":{')) inserts.push({ sql: addToLeases, args: [organisationId, counted] });
  return inserts;
}

/** The condition of every statement, so that no row of another tenant can be read. */
function scopeCondition(scope: LogScope): { sql: string; args: string[] } {
  return scope.workspaceId === null
    ? { sql: "organisation_id = ?", args: [scope.organisationId] }
    : { sql: "organisation_id = ? AND workspace_id = ?", args: [scope.organisationId, scope.workspaceId] };
}

/** Rows of a stored batch. Rows that do not parse were not written by this program and are left out. */
function readDetails(text: string): LogDetails[] {
  const value: unknown = parseJson(text);
  // only `toBatch` writes this column
  return Array.isArray(value) ? (value as LogDetails[]) : [];
}

/** The contents of a batch; undefined when they were not stored or cannot be decoded here. */
export function readContents(stored: unknown, codec: TextCodec | undefined): string | undefined {
  if (typeof stored === "string") return stored;
  return stored instanceof ArrayBuffer ? codec?.expand(new Uint8Array(stored)) : undefined;
}

/** Fields a filter compares, by their names in a row. */
function wantedOf({ status, model, provider, traceId, apiKeyId }: LogFilter): [keyof LogDetails, unknown][] {
  const wanted: [keyof LogDetails, unknown][] = [
    ["trace_id", traceId],
    ["api_key_id", apiKeyId],
    ["model", model],
    ["provider", provider],
    ["status", status],
  ];
  return wanted.filter(([, value]) => value !== undefined);
}

/** Range of ids in a list: `lower` inclusive, `upper` exclusive. */
function idBounds({ before, from, to }: LogFilter): { lower: string; upper: string } {
  const end = to === undefined ? lastPossibleId : firstIdOf(to);
  return {
    lower: from === undefined ? "" : firstIdOf(from),
    upper: before !== undefined && before < end ? before : end,
  };
}

/** Greater than any ULID. */
const lastPossibleId = "~";
/** Batches read at a time, and roughly how many characters; other requests run between two such reads. */
const pageBatches = { least: 8, most: 64 };
const pageLength = 256 * 1024;
/** Limits of one list: characters of rows, and batches. */
const listLength = 16 * 1024 * 1024;
const listBatches = 2_048;

/** Number of batches to read after those of this length: fewer when they are large. */
function nextSize(length: number, batches: number): number {
  const fitting = Math.floor((pageLength * batches) / Math.max(length, 1));
  return Math.min(pageBatches.most, Math.max(pageBatches.least, fitting));
}

/** Lets other requests run: a local database responds without leaving the event loop. */
const giveWay = () => new Promise((resolve) => setTimeout(resolve, 0));

/** A batch during a search. */
interface BatchText {
  seq: number;
  lastId: string;
  details: string;
}

/** Batches that may hold rows between two ids, ordered by last id, page by page. */
async function* readPages(
  database: Database,
  scope: LogScope,
  { lower, upper, newestFirst }: { lower: string; upper: string; newestFirst: boolean },
): AsyncGenerator<BatchText[]> {
  const condition = scopeCondition(scope);
  const [sign, order] = newestFirst ? ["<", "DESC"] : [">", "ASC"];
  const sql = `SELECT seq, last_id, details FROM log_batches WHERE ${condition.sql}
    AND first_id < ? AND last_id >= ? AND (last_id, seq) ${sign} (?, ?)
    ORDER BY last_id ${order}, seq ${order} LIMIT ?`;
  let [lastId, seq] = [newestFirst ? lastPossibleId : "", 0];
  for (let size = pageBatches.least; ; ) {
    const { rows } = await database.read({ sql, args: [...condition.args, upper, lower, lastId, seq, size] });
    const batches = rows.map((row) => ({
      seq: Number(row.seq),
      lastId: String(row.last_id),
      details: String(row.details),
    }));
    const last = batches.at(-1);
    if (!last) return;
    ({ lastId, seq } = last);
    yield batches;
    if (rows.length < size) return;
    size = nextSize(lengthOf(batches), batches.length);
    await giveWay();
  }
}

const lengthOf = (batches: readonly BatchText[]): number =>
  batches.reduce((sum, { details }) => sum + details.length, 0);

async function listRows(database: Database, scope: LogScope, filter: LogFilter): Promise<LogPage> {
  const bounds = idBounds(filter);
  const wanted = wantedOf(filter);
  // much cheaper than parsing a batch without any match
  const texts = wanted.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  const { ofKeys } = filter;
  const isWanted = (details: LogDetails) =>
    wanted.every(([name, value]) => details[name] === value) &&
    (ofKeys === undefined || ofKeys.has(details.api_key_id));
  const toPage = (found: readonly LogDetails[], stoppedAt: string | null): LogPage => ({
    rows: found.map((details) => ({ details, content: null })),
    stoppedAt,
  });
  let found: LogDetails[] = [];
  let [length, count] = [0, 0];
  for await (const batches of readPages(database, scope, { ...bounds, newestFirst: true })) {
    for (const { details: text } of batches) {
      if (!texts.every((one) => text.includes(one))) continue;
      for (const details of readDetails(text)) {
        if (details.id >= bounds.lower && details.id < bounds.upper && isWanted(details)) found.push(details);
      }
    }
    found = found.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, filter.limit);
    // batches overlap in time, but no later one holds an id above this one
    const lastId = batches.at(-1)?.lastId ?? "";
    if (found.length === filter.limit && (found.at(-1)?.id ?? "") >= lastId) return toPage(found, null);
    length += lengthOf(batches);
    count += batches.length;
    const isEnough = length > listLength || count >= listBatches;
    // the next list must start at an older row than this one
    if (isEnough && lastId < bounds.upper)
      return toPage(
        found.filter(({ id }) => id >= lastId),
        lastId,
      );
  }
  return toPage(found, null);
}

async function findRow({ database, codec }: StoreParts, scope: LogScope, id: string): Promise<StoredLog | undefined> {
  const condition = scopeCondition(scope);
  const quoted = JSON.stringify(id);
  const sql = `SELECT content FROM log_batches LEFT JOIN log_bodies USING (seq) WHERE ${condition.sql} AND seq = ?`;
  // `first_id` is at most this id, which is below all later ids
  for await (const batches of readPages(database, scope, { lower: id, upper: `${id}~`, newestFirst: false })) {
    for (const { seq, details: text } of batches) {
      if (!text.includes(quoted)) continue;
      const batch = readDetails(text);
      const index = batch.findIndex((details) => details.id === id);
      const details = batch[index];
      if (!details) continue;
      const { rows } = await database.read({ sql, args: [...condition.args, seq] });
      return { details, content: openContents(readContents(rows[0]?.content, codec))(index) };
    }
  }
  return undefined;
}

interface StoreParts {
  database: Database;
  codec: TextCodec | undefined;
}

/** The log store over libSQL. Contents are compressed if the host can. */
export function createLogStore(database: Database, codec?: TextCodec): LogStore {
  const parts: StoreParts = { database, codec };
  const toStatements: LogStore["toStatements"] = (batches) => batches.flatMap((batch) => toInserts(batch, codec));
  return {
    toStatements,
    async append(batches) {
      await database.write(toStatements(batches));
    },
    async addHooks({ organisationId, workspaceId, logId, results }) {
      const sql = "INSERT INTO log_hooks (organisation_id, workspace_id, log_id, results) VALUES (?, ?, ?, ?)";
      await database.write([{ sql, args: [organisationId, workspaceId, logId, results] }]);
    },
    async findHooks(scope, id) {
      const condition = scopeCondition(scope);
      const sql = `SELECT results FROM log_hooks WHERE ${condition.sql} AND log_id = ? ORDER BY seq`;
      const { rows } = await database.read({ sql, args: [...condition.args, id] });
      // only `addHooks` writes this column
      return rows.map((row) => JSON.parse(String(row.results)) as HookResults);
    },
    list: (scope, filter) => listRows(database, scope, filter),
    async find(scope, id) {
      return isId(id) ? findRow(parts, scope, id) : undefined;
    },
    async purge(time, limit) {
      // the numbers roughly follow time, so the oldest rows are found without an index on time
      const old =
        "SELECT seq FROM log_batches WHERE seq IN (SELECT seq FROM log_batches ORDER BY seq LIMIT ?) AND last_id < ?";
      const args = [limit, firstIdOf(time)];
      const [, removed] = await database.write([
        { sql: `DELETE FROM log_bodies WHERE seq IN (${old})`, args },
        { sql: `DELETE FROM log_batches WHERE seq IN (${old})`, args },
        {
          sql: "DELETE FROM log_hooks WHERE seq IN (SELECT seq FROM log_hooks ORDER BY seq LIMIT ?) AND log_id < ?",
          args: [10_000, firstIdOf(time)],
        },
      ]);
      return removed?.rowsAffected ?? 0;
    },
  };
}

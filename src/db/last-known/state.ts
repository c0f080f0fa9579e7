import type { ResultSet } from "@libsql/client";
import { getTableName } from "drizzle-orm";
import { type Database, openDatabase } from "../client.ts";
import { createSchemaOf, migrate } from "../migrate.ts";
import { apiKeys } from "../tables/api-keys.ts";
import { deployments } from "../tables/deployments.ts";
import { installation } from "../tables/installation.ts";
import { oauthRevocations, signingKeys } from "../tables/oauth.ts";
import { secrets } from "../tables/secrets.ts";
import { workspaceMembers } from "../tables/tenants.ts";

/** Rows of one table. */
interface KnownTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** What the path of requests reads of a database, as of one moment. */
export interface KnownState {
  readonly tables: readonly KnownTable[];
  /** Number of the newest change in it. */
  readonly change: number;
  /** Processes that shared the limits. */
  readonly nodes: number;
  /** Ids of the migrations that were applied. */
  readonly migrations: readonly string[];
}

/** Tables that requests read besides those of the control plane's view: who calls, and what was ended. */
const callerTables = [
  installation,
  apiKeys,
  deployments,
  workspaceMembers,
  oauthRevocations,
  signingKeys,
  secrets,
] as const;

/** Names of the tables that requests read, given the stores of the control plane's view. */
export function listKnownTables(stores: readonly { resource: string | undefined }[]): string[] {
  const names = [...stores.map(({ resource }) => resource), ...callerTables.map((table) => getTableName(table))];
  return [...new Set(names)].filter((name) => name !== undefined);
}

const secretsName = getTableName(secrets);

/** Rows that are read at a time: servers limit the size of their responses. */
const pageRows = 200;
/** Attempts to read everything while nothing changes. */
const mostAttempts = 3;

const rowNumber = "row number";

/** Reads the next rows of a table. */
function pageOf(name: string, names: readonly string[], { after, limit }: { after: number; limit: number }) {
  const select = `SELECT rowid AS "${rowNumber}", * FROM "${name}" WHERE rowid > ?`;
  const order = "ORDER BY rowid LIMIT ?";
  if (name !== secretsName) return { sql: `${select} ${order}`, args: [after, limit] };
  // those of files, batches and accounts are many, and requests do not read them from here
  const kinds = JSON.stringify(names);
  return {
    sql: `${select} AND kind IN (SELECT value FROM json_each(?)) ${order}`,
    args: [after, kinds, limit],
  };
}

/** Rows of a page without their numbers, and the last of these. */
function readPage({ columns, rows }: ResultSet): KnownTable & { last: number } {
  const own = columns.slice(1);
  return {
    name: "",
    columns: own,
    rows: rows.map((row) => own.map((_, index) => row[index + 1] ?? null)),
    last: Number(rows.at(-1)?.[rowNumber] ?? 0),
  };
}

/** Reads the rows of a table; those of the first page may be known. */
async function readTable(
  database: Database,
  { name, names, first }: { name: string; names: readonly string[]; first: ResultSet | undefined },
): Promise<KnownTable> {
  let limit = pageRows;
  let page = first && readPage(first);
  const rows = page ? [...page.rows] : [];
  let isComplete = rows.length < limit && page !== undefined;
  while (!isComplete) {
    try {
      page = readPage(await database.read(pageOf(name, names, { after: page?.last ?? 0, limit })));
      rows.push(...page.rows);
      isComplete = page.rows.length < limit;
    } catch (error) {
      // the rows may be too large together
      if (limit === 1) throw error;
      limit = Math.ceil(limit / 8);
    }
  }
  return { name, columns: page?.columns ?? [], rows };
}

const marks = [
  "SELECT seq AS value FROM sqlite_sequence WHERE name = 'changes'",
  "SELECT count(*) AS value FROM gateway_nodes",
  "SELECT id FROM migrations ORDER BY id",
];

async function readMarks(database: Database): Promise<Omit<KnownState, "tables">> {
  const [change, nodes, migrations] = await database.readAsOne(marks);
  return {
    change: Number(change?.rows[0]?.value ?? 0),
    nodes: Number(nodes?.rows[0]?.value ?? 0),
    migrations: (migrations?.rows ?? []).map(({ id }) => String(id)),
  };
}

/**
 * Reads the rows of some tables as they are between two changes. Where changes follow each other too fast, the state has the
 * number of the change before it, and perhaps parts of later ones.
 */
export async function readState(database: Database, names: readonly string[]): Promise<KnownState> {
  for (let attempt = 1; ; attempt++) {
    const before = await readMarks(database);
    const firstPages = names.map((name) => pageOf(name, names, { after: 0, limit: pageRows }));
    // one round trip where everything is small
    const first = await database.readAsOne(firstPages).catch(() => []);
    const tables: KnownTable[] = [];
    for (const [index, name] of names.entries()) {
      tables.push(await readTable(database, { name, names, first: first[index] }));
    }
    const { change } = await readMarks(database);
    if (change === before.change || attempt >= mostAttempts) return { ...before, tables };
  }
}

/** Rows that are inserted by one statement. */
const rowsAtOnce = 500;

/** Statements that insert the rows of a table. Their values are text, numbers and null. */
function insertsOf({ name, columns, rows }: KnownTable): { sql: string; args: string[] }[] {
  const names = columns.map((column) => `"${column}"`).join(", ");
  const values = columns.map((_, index) => `value ->> ${index}`).join(", ");
  const sql = `INSERT INTO "${name}" (${names}) SELECT ${values} FROM json_each(?)`;
  return Array.from({ length: Math.ceil(rows.length / rowsAtOnce) }, (_, page) => {
    return { sql, args: [JSON.stringify(rows.slice(page * rowsAtOnce, (page + 1) * rowsAtOnce))] };
  });
}

/**
 * A database in memory with the rows of a state and no other tables. A state of an older version is brought up to date by
 * the migrations that it lacks.
 *
 * @throws {DatabaseOpenError} If the state is of a newer version.
 */
export async function openState({ tables, migrations }: KnownState): Promise<Database> {
  const database = await openDatabase({ url: ":memory:" });
  try {
    // rows of other tables, to which some refer, are not there
    await database.read("PRAGMA foreign_keys = OFF");
    await createSchemaOf(database, migrations);
    for (const insert of tables.flatMap(insertsOf)) await database.write([insert]);
    await migrate(database);
    const known = new Set(tables.map(({ name }) => name));
    const { rows } = await database.read(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    );
    for (const { name } of rows) if (!known.has(String(name))) await database.write([`DROP TABLE "${name}"`]);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

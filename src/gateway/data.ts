import { defaultKeyPrefix } from "../auth/api-key.ts";
import { type Installation, openInstallation } from "../auth/first-start.ts";
import { createMasterKeyText, type MasterKey, type ReadMasterKeys, readMasterKeys } from "../auth/master-keys.ts";
import { type Database, type DatabaseLocation, isLocalDatabase, isUnreachable, openDatabase } from "../db/client.ts";
import { migrate } from "../db/migrate.ts";
import { DatabaseOpenError, toOpenError } from "../db/open-failure.ts";
import { adviseServer } from "../db/server-checkpoints.ts";
import { createInstallationStore } from "../db/stores/installation.ts";
import { holdsCompressed } from "../db/stores/logs.ts";
import type { Clock } from "../lib/clock.ts";
import { webMac } from "../lib/hash.ts";
import { type GatewayOptions, warnOf } from "./options.ts";
import { Snapshot, type StateMarks } from "./snapshot/snapshot.ts";

function requireMasterKeys(options: GatewayOptions, location: string): [MasterKey, ...MasterKey[]] {
  const given = options.masterKeys ?? (location === ":memory:" ? createMasterKeyText() : undefined);
  const [first, ...others] = given === undefined ? [] : readMasterKeys(given);
  if (first) return [first, ...others];
  throw new TypeError("Cannot open a lasting database without master keys: set masterKeys (GATEWAY_MASTER_KEYS)");
}

/** Reads the current master keys, if the host can. */
export function readerOf({ readMasterKeys: read }: GatewayOptions): ReadMasterKeys {
  return () => {
    const text = read?.();
    return text === undefined ? undefined : readMasterKeys(text);
  };
}

/** 64 MiB: the thread for log rows, which writes once a minute at least, copies pages long before. */
const pagesBesideThread = 16_384;

/** The open database, and the keys to its secrets. */
export interface OpenData {
  database: Database;
  installation: Installation;
  masterKeys: [MasterKey, ...MasterKey[]];
  /** The last known state of a database on another machine. Undefined: it has no snapshot. */
  snapshot: Snapshot | undefined;
  /** The state from which this process begins, because the database is away. Undefined: it is there. */
  begunFrom: StateMarks | undefined;
}

/** Reads the first page of each table: a file that was cut off lacks some, although it can be opened. */
async function touchTables(database: Database): Promise<void> {
  const { rows } = await database.read("SELECT name FROM sqlite_schema WHERE type = 'table'");
  for (const { name } of rows) await database.read(`SELECT 1 FROM "${String(name).replaceAll('"', '""')}" LIMIT 1`);
}

/**
 * Opens the database and brings its schema up to date.
 *
 * @throws {DatabaseOpenError} If that is not possible.
 */
export async function openMigrated(location: DatabaseLocation): Promise<Database> {
  let database: Database | undefined;
  try {
    database = await openDatabase({ ...location, refusesWithoutTables: true });
    await migrate(database);
    if (isLocalDatabase(location.url)) await touchTables(database);
    return database;
  } catch (error) {
    await database?.close();
    throw toOpenError(error, location.url, isUnreachable(error));
  }
}

/** Opens the database; while it is away, from the last known state of it if there is one. */
async function openOrBegin(location: DatabaseLocation, snapshot: Snapshot | undefined) {
  try {
    return { database: await openMigrated(location), begunFrom: undefined };
  } catch (error) {
    if (!snapshot || !(error instanceof DatabaseOpenError) || !error.isAway) throw error;
    const begunFrom = await snapshot.begin(error);
    return { database: await openDatabase(location), begunFrom };
  }
}

/** Where the database is. */
export function locationOf({
  database: url = ":memory:",
  databaseAuthToken: authToken,
}: GatewayOptions): DatabaseLocation {
  return authToken === undefined ? { url } : { url, authToken };
}

/** Opens the database, migrates it and opens the installation. */
export async function openData(options: GatewayOptions, clock: Clock): Promise<OpenData> {
  const url = options.database ?? ":memory:";
  const masterKeys = requireMasterKeys(options, url);
  const { snapshot: settings } = options;
  const snapshot =
    settings && !isLocalDatabase(url)
      ? new Snapshot({ ...settings, url, masterKeys, clock, warn: warnOf(options) })
      : undefined;
  const { database, begunFrom } = await openOrBegin(
    {
      ...locationOf(options),
      ...(options.createLogWriter && { checkpointPages: pagesBesideThread }),
      ...(snapshot && { standIn: snapshot }),
    },
    snapshot,
  );
  try {
    const installation = await openInstallation({
      store: createInstallationStore(database.lastKnown),
      masterKeys,
      readMasterKeys: readerOf(options),
      createMac: options.createMac ?? webMac,
      keyPrefix: options.keyPrefix ?? defaultKeyPrefix,
      now: clock.now(),
      bootstrap: options.bootstrap ?? {},
    });
    if (!options.logCodec && !begunFrom && (await holdsCompressed(database))) {
      warnOf(options)("Cannot read headers and bodies of earlier log rows: they are compressed; set logCodec");
    }
    const advice = begunFrom ? undefined : await adviseServer(database);
    if (advice !== undefined) warnOf(options)(`The libSQL server of DATABASE_URL ${advice}`);
    return { database, installation, masterKeys, snapshot, begunFrom };
  } catch (error) {
    await database.close();
    throw error;
  }
}

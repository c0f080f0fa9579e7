import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { isLocalDatabase } from "../db/client.ts";
import type { GatewayOptions } from "../gateway/options.ts";
import type { MacFactory } from "../lib/hash.ts";
import { requireJson } from "../lib/json.ts";
import { readOperatorFacts } from "../providers/core/operator-facts.ts";
import type { OperatorFacts } from "../schemas/model-facts.ts";
import type { Environment } from "../settings/read.ts";
import { readSettings, type Settings } from "../settings.ts";
import { createKeysFile, exists, keepToOwner, readKeysFile } from "./keys-file.ts";
import { createJournalPlace } from "./limit-journal.ts";
import { withSecretFiles } from "./secret-files.ts";
import { createSnapshotPlace } from "./snapshot-file.ts";

/** Folder of files that do not stand beside a database. */
const defaultFolder = "data";

/** Settings of this process, with the places of its files. */
export interface HostSettings extends Settings {
  /** File that the master keys are read from, or were created in. */
  masterKeysFile: string;
  /** File for the keys of a first start. Undefined: the database is in memory, and its keys end with the process. */
  firstKeysFile: string | undefined;
  /** Where master keys came from that were there before. Undefined: this start has created them. */
  formerMasterKeys: string | undefined;
}

/** Synchronous HMAC-SHA-256. */
export const nodeMac: MacFactory = (key) => (text) => createHmac("sha256", key).update(text).digest("base64url");

/** Largest file that the cloud environment may name. */
const maxCloudFileLength = 65_536;

/**
 * Reads a file that the cloud environment names, such as a federated token.
 *
 * @throws {RangeError} If it is larger than such files can be.
 */
export async function readCloudFile(path: string): Promise<string> {
  const text = await readFile(path, "utf8");
  if (text.length > maxCloudFileLength) throw new RangeError(`Cannot use ${path}: it is too large`);
  return text;
}

/** Path of a file database; undefined for others. */
export function databasePath(url: string): string | undefined {
  if (!url.startsWith("file:")) return undefined;
  const path = url.slice("file:".length).replace(/[?#].*$/, "");
  const local = path.startsWith("//") ? path.replace(/^\/\/[^/]*/, "") : path;
  try {
    return decodeURIComponent(local);
  } catch {
    throw new TypeError("Cannot use DATABASE_URL: its path is not a valid URL path");
  }
}

/**
 * The file of the master keys: the one that is set, else beside the database, else where a database elsewhere has used those of
 * the default folder.
 */
function findKeysFile({ masterKeysFile, database }: Settings): string {
  if (masterKeysFile !== undefined) return masterKeysFile;
  const path = databasePath(database);
  const shared = join(defaultFolder, "master.keys");
  if (path === undefined) return shared;
  const own = join(dirname(path), "master.keys");
  return !exists(own) && exists(path) && exists(shared) ? shared : own;
}

/** Runs what creates a file; a failure names the file and the variable that moves it. */
function creating<Value>(path: string, variable: string, create: () => Value): Value {
  try {
    return create();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!/^E[A-Z]+$/.test(code)) throw error;
    throw new TypeError(
      `Cannot write ${path} (${variable}): ${code}; let the user of this process write its folder, or set ${variable}`,
    );
  }
}

/** Master keys from the variable, else from the file, which the first start creates; and where they were found. */
function findMasterKeys(settings: Settings, file: string): { keys: string | undefined; former: string | undefined } {
  const { database, gateway } = settings;
  if (gateway.masterKeys !== undefined) return { keys: gateway.masterKeys, former: "GATEWAY_MASTER_KEYS" };
  if (database === ":memory:") return { keys: undefined, former: undefined };
  const found = readKeysFile(file);
  if (found !== undefined) return { keys: found, former: file };
  if (settings.masterKeysFile !== undefined)
    throw new TypeError(`Cannot read GATEWAY_MASTER_KEYS_FILE: ${file} does not exist`);
  if (!isLocalDatabase(database)) {
    throw new TypeError("Cannot use a remote database without master keys: set GATEWAY_MASTER_KEYS");
  }
  const path = databasePath(database);
  if (path !== undefined && exists(path)) {
    throw new TypeError(
      `Cannot open ${path}: its master keys are missing; put ${file} back or set GATEWAY_MASTER_KEYS`,
    );
  }
  return { keys: creating(file, "DATABASE_URL", () => createKeysFile(file)), former: undefined };
}

/** The file for the keys of a first start: beside the database, named after it unless it has the default name. */
function findFirstKeysFile(database: string, path: string | undefined): string | undefined {
  if (database === ":memory:") return undefined;
  if (path === undefined) return join(defaultFolder, "first-keys");
  const name = basename(path);
  return join(dirname(path), name === "gateway.db" ? "first-keys" : `${name}-first-keys`);
}

/** The file in which log rows wait while the database is away. */
function findSpill({ database, logSpill }: Settings, databaseFile: string | undefined): GatewayOptions["logSpill"] {
  const { path, bytes } = logSpill;
  if (bytes === 0 || database === ":memory:") return undefined;
  return { path: path ?? (databaseFile === undefined ? "data/log-spill.db" : `${databaseFile}-spill`), bytes };
}

/** Where the last known state of a database on another machine is stored. */
function findSnapshot({ snapshot, logSpill }: Settings, databaseFile: string | undefined): GatewayOptions["snapshot"] {
  const { path, hours } = snapshot;
  if (databaseFile !== undefined || hours === 0) return undefined;
  const file = path ?? join(dirname(logSpill.path ?? "data/log-spill.db"), "snapshot");
  return { place: createSnapshotPlace(file), maxAgeMs: hours * 3_600_000 };
}

/** Where strict limits keep what their requests used, until it is stored. */
function findJournal({ database, limitJournalFile, gateway }: Settings, databaseFile: string | undefined) {
  if (!gateway.strictLimits || database === ":memory:") return undefined;
  return createJournalPlace(
    limitJournalFile ?? (databaseFile === undefined ? "data/limits" : `${databaseFile}-limits`),
  );
}

/** The operator's facts of models. @throws {TypeError} If the file cannot be used. */
function readModelFacts(path: string): OperatorFacts {
  try {
    return readOperatorFacts(requireJson(readFileSync(path, "utf8")));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TypeError(`Cannot use ${path} (MODEL_FACTS_FILE): ${reason}`);
  }
}

/**
 * Settings of this process, from environment and files.
 *
 * @throws {TypeError} Naming the unusable setting.
 */
export function loadSettings(environment: Environment = process.env): HostSettings {
  const settings = readSettings(withSecretFiles(environment));
  const path = databasePath(settings.database);
  const masterKeysFile = findKeysFile(settings);
  const { keys, former: formerMasterKeys } = findMasterKeys(settings, masterKeysFile);
  if (path !== undefined) {
    // the second one is locked while a process serves the first
    for (const file of [path, `${path}-lock`]) creating(file, "DATABASE_URL", () => keepToOwner(file));
  }
  // commands may change the file while the gateway runs; the variable cannot change
  const isFile = settings.gateway.masterKeys === undefined && keys !== undefined;
  const logSpill = findSpill(settings, path);
  const limitJournal = findJournal(settings, path);
  const snapshot = settings.database === ":memory:" ? undefined : findSnapshot(settings, path);
  const { modelFactsFile } = settings;
  const gateway = {
    ...settings.gateway,
    ...(logSpill && { logSpill }),
    ...(limitJournal && { limitJournal }),
    ...(snapshot && { snapshot }),
    ...(keys !== undefined && { masterKeys: keys }),
    ...(modelFactsFile !== undefined && { modelFacts: readModelFacts(modelFactsFile) }),
    ...(isFile && { readMasterKeys: () => readKeysFile(masterKeysFile) }),
  };
  const firstKeysFile = findFirstKeysFile(settings.database, path);
  return { ...settings, masterKeysFile, firstKeysFile, formerMasterKeys, gateway };
}

/**
 * Settings of a command for an existing database. Creates no file.
 *
 * @throws {TypeError} As `loadSettings`, and if there is no such database.
 */
export function loadUsedSettings(environment: Environment = process.env): HostSettings {
  const { database } = readSettings(withSecretFiles(environment));
  if (database === ":memory:") throw new TypeError("Cannot work on a database in memory: set DATABASE_URL");
  const path = databasePath(database);
  if (path !== undefined && !exists(path)) {
    throw new TypeError(`Cannot find the database ${path}: start the gateway first, or set DATABASE_URL`);
  }
  return loadSettings(environment);
}

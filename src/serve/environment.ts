import { createHmac } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import process from "node:process";
import type { FirstKeys } from "../auth/first-start.ts";
import { isLocalDatabase } from "../db/client.ts";
import type { GatewayOptions } from "../gateway/options.ts";
import type { MacFactory } from "../lib/hash.ts";
import type { Environment } from "../settings/read.ts";
import { readSettings, type Settings } from "../settings.ts";
import { createKeysFile, exists, keepToOwner, makeFolder, readKeysFile } from "./keys-file.ts";
import { createJournalPlace } from "./limit-journal.ts";

const firstKeysFile = "data/first-keys";

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
function databasePath(url: string): string | undefined {
  if (!url.startsWith("file:")) return undefined;
  const path = url.slice("file:".length).replace(/[?#].*$/, "");
  const local = path.startsWith("//") ? path.replace(/^\/\/[^/]*/, "") : path;
  try {
    return decodeURIComponent(local);
  } catch {
    throw new TypeError("Cannot use DATABASE_URL: its path is not a valid URL path");
  }
}

/** Master keys from the variable, else from the file, which the first start creates. */
function findMasterKeys(settings: Settings): string | undefined {
  const { database, masterKeysFile, gateway } = settings;
  if (gateway.masterKeys !== undefined || database === ":memory:") return gateway.masterKeys;
  const found = readKeysFile(masterKeysFile);
  if (found !== undefined) return found;
  if (settings.masterKeysFileGiven)
    throw new TypeError(`Cannot read GATEWAY_MASTER_KEYS_FILE: ${masterKeysFile} does not exist`);
  if (!isLocalDatabase(database)) {
    throw new TypeError("Cannot use a remote database without master keys: set GATEWAY_MASTER_KEYS");
  }
  const path = databasePath(database);
  if (path !== undefined && exists(path)) {
    throw new TypeError(
      `Cannot open ${path}: its master keys are missing; put ${masterKeysFile} back or set GATEWAY_MASTER_KEYS`,
    );
  }
  return createKeysFile(masterKeysFile);
}

/** The file in which log rows wait while the database is away. */
function findSpill({ database, logSpill }: Settings, databaseFile: string | undefined): GatewayOptions["logSpill"] {
  const { path, bytes } = logSpill;
  if (bytes === 0 || database === ":memory:") return undefined;
  return { path: path ?? (databaseFile === undefined ? "data/log-spill.db" : `${databaseFile}-spill`), bytes };
}

/** Where strict limits keep what their requests used, until it is stored. */
function findJournal({ database, limitJournalFile, gateway }: Settings, databaseFile: string | undefined) {
  if (!gateway.strictLimits || database === ":memory:") return undefined;
  return createJournalPlace(
    limitJournalFile ?? (databaseFile === undefined ? "data/limits" : `${databaseFile}-limits`),
  );
}

/**
 * Settings of this process, from environment and files.
 *
 * @throws {TypeError} Naming the unusable setting.
 */
export function loadSettings(environment: Environment = process.env): Settings {
  const settings = readSettings(environment);
  const path = databasePath(settings.database);
  const masterKeys = findMasterKeys(settings);
  if (path !== undefined) keepToOwner(path);
  // commands may change the file while the gateway runs; the variable cannot change
  const isFile = settings.gateway.masterKeys === undefined && masterKeys !== undefined;
  const logSpill = findSpill(settings, path);
  const limitJournal = findJournal(settings, path);
  const gateway = {
    ...settings.gateway,
    ...(logSpill && { logSpill }),
    ...(limitJournal && { limitJournal }),
    ...(masterKeys !== undefined && { masterKeys }),
    ...(isFile && { readMasterKeys: () => readKeysFile(settings.masterKeysFile) }),
  };
  return { ...settings, gateway };
}

/**
 * Settings of a command for an existing database. Creates no file.
 *
 * @throws {TypeError} As `loadSettings`, and if there is no such database.
 */
export function loadUsedSettings(environment: Environment = process.env): Settings {
  const { database } = readSettings(environment);
  if (database === ":memory:") throw new TypeError("Cannot work on a database in memory: set DATABASE_URL");
  const path = databasePath(database);
  if (path !== undefined && !exists(path)) {
    throw new TypeError(`Cannot find the database ${path}: start the gateway first, or set DATABASE_URL`);
  }
  return loadSettings(environment);
}

/** Keys of the first start, by their labels. */
function listKeys(keys: FirstKeys): string[] {
  return [
    ...(keys.adminKey === null ? [] : [`admin key: ${keys.adminKey}`]),
    ...(keys.workspaceKey === null ? [] : [`workspace key: ${keys.workspaceKey}`]),
  ];
}

/** Writes the first keys to a file that only its owner can read. Returns whether there are any. */
function writeFirstKeys(keys: FirstKeys | undefined): boolean {
  const lines = keys ? listKeys(keys) : [];
  if (lines.length === 0) return false;
  makeFolder(firstKeysFile);
  // an existing file would keep its mode
  rmSync(firstKeysFile, { force: true });
  writeFileSync(firstKeysFile, `${lines.join("\n")}\n`, { mode: 0o600, flag: "wx" });
  return true;
}

/** Prints the addresses of the gateway and of its console and, at the first start, an example. */
export function printBanner(address: string, firstKeys: FirstKeys | undefined, hasConsole: boolean): void {
  // first: who reads that it serves may read the keys at once
  const isWritten = writeFirstKeys(firstKeys);
  console.log(`AI gateway serving on ${address}`);
  if (hasConsole) console.log(`Console: ${address}/console`);
  if (!firstKeys) return;
  if (isWritten) console.log(`\nFirst keys are in ${firstKeysFile}`);
  const isGiven = firstKeys.workspaceKey === null;
  const key = isGiven ? "$BOOTSTRAP_WORKSPACE_KEY" : `$(sed -n 's/^workspace key: //p' ${firstKeysFile})`;
  const body = '{"model":"echo-1","messages":[{"role":"user","content":"Hello"}]}';
  console.log(`\nTry it:\n
curl ${address}/v1/chat/completions \\
  -H "x-gateway-api-key: ${key}" \\
  -H "x-gateway-provider: echo" \\
  -H "content-type: application/json" \\
  -d '${body}'\n`);
}

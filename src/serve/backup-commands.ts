import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import * as v from "valibot";
import { defaultKeyPrefix } from "../auth/api-key.ts";
import { openInstallation } from "../auth/first-start.ts";
import { isLocalDatabase, openDatabase } from "../db/client.ts";
import { migrate } from "../db/migrate.ts";
import { markServed } from "../db/serving-lock.ts";
import { createInstallationStore } from "../db/stores/installation.ts";
import { requireJson } from "../lib/json.ts";
import { readSettings, type Settings } from "../settings.ts";
import { version } from "../version.ts";
import { type Command, type Outcome, toKeyList } from "./command.ts";
import { databasePath, loadUsedSettings, nodeMac } from "./environment.ts";
import { exists, makeFolder, readKeysFile } from "./keys-file.ts";
import { withSecretFiles } from "./secret-files.ts";

/** What a backup is, beside its files. */
const Manifest = v.object({
  gateway: v.string(),
  created_at: v.string(),
  /** Newest migration of the database. */
  schema: v.string(),
  /** Versions of the master keys at that time. The keys themselves are not in the backup. */
  master_keys: v.array(v.string()),
  /** Whether counters of limits were in Redis too, which is not in the backup. */
  redis: v.boolean(),
  files: v.array(v.object({ name: v.pipe(v.string(), v.regex(/^[\w.-]+$/)), bytes: v.number(), sha256: v.string() })),
});
type Manifest = v.InferOutput<typeof Manifest>;

const manifestName = "manifest.json";
const databaseName = "gateway.db";
const spillName = "gateway.db-spill";
const journalPrefix = "gateway.db-limits-";

/** The path of a file database. @throws {TypeError} For others: their server makes its own backups. */
function requirePath({ database }: Pick<Settings, "database">, action: string): string {
  const path = isLocalDatabase(database) ? databasePath(database) : undefined;
  if (path !== undefined) return path;
  throw new TypeError(
    `Cannot ${action} ${database === ":memory:" ? "a database in memory" : "a remote database: use the backups of its server"}`,
  );
}

/** Where log rows wait, and the beginning of the names of journals of limits. */
function placesOf({ logSpill, limitJournalFile }: Settings, path: string): { spill: string; journal: string } {
  return { spill: logSpill.path ?? `${path}-spill`, journal: `${limitJournalFile ?? `${path}-limits`}-` };
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of createReadStream(path)) hash.update(part);
  return hash.digest("hex");
}

/** Copies a database that may be in use, whole and without what was deleted. */
async function copyDatabase(from: string, to: string): Promise<string | undefined> {
  const database = await openDatabase({ url: `file:${from.split("/").map(encodeURIComponent).join("/")}` });
  try {
    await database.write([{ sql: "VACUUM INTO ?", args: [to] }]);
    chmodSync(to, 0o600);
    const { rows } = await database.read("SELECT name FROM sqlite_schema WHERE name = 'migrations'");
    if (rows.length === 0) return undefined;
    return String((await database.read("SELECT max(id) AS id FROM migrations")).rows[0]?.id);
  } finally {
    await database.close();
  }
}

function listJournals(journal: string): string[] {
  const [folder, beginning] = [dirname(journal), basename(journal)];
  const names = exists(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.startsWith(beginning)).map((name) => join(folder, name));
}

async function backUp(folder: string): Promise<Outcome> {
  const settings = loadUsedSettings();
  const path = requirePath(settings, "back up");
  if (exists(folder) && readdirSync(folder).length > 0) throw new Error(`Cannot back up to ${folder}: it is not empty`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { spill, journal } = placesOf(settings, path);
  // what moves into the database meanwhile is then in both, and stored once
  for (const file of listJournals(journal)) {
    copyFileSync(file, join(folder, `${journalPrefix}${basename(file).slice(basename(journal).length)}`));
  }
  if (exists(spill)) await copyDatabase(spill, join(folder, spillName));
  const schema = (await copyDatabase(path, join(folder, databaseName))) ?? "";
  const files = await Promise.all(
    readdirSync(folder).map(async (name) => {
      const file = join(folder, name);
      return { name, bytes: statSync(file).size, sha256: await digestOf(file) };
    }),
  );
  const manifest: Manifest = {
    gateway: version,
    created_at: new Date().toISOString(),
    schema,
    master_keys: toKeyList(settings.gateway.masterKeys).map((key) => key.version),
    redis: settings.gateway.redis !== undefined,
    files,
  };
  writeFileSync(join(folder, manifestName), `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: 0o600 });
  return { lines: [JSON.stringify(manifest, undefined, 2), ...notesOf(manifest, settings.formerMasterKeys)] };
}

/** What a backup does not have. */
function notesOf({ master_keys, redis }: Manifest, keys: string | undefined): string[] {
  const lines = [
    `Store the master keys (${master_keys.join(", ")}${keys === undefined ? "" : ` of ${keys}`}) elsewhere: the backup needs them`,
  ];
  if (redis)
    lines.push("Redis is not part of it: counters of limits are in the database too, cached responses are not");
  return lines;
}

/** The manifest of a backup whose files are as they were made. */
async function readBackup(folder: string): Promise<Manifest> {
  const path = join(folder, manifestName);
  if (!exists(path)) throw new Error(`Cannot restore ${folder}: it has no ${manifestName}`);
  const { success, output } = v.safeParse(Manifest, requireJson(readFileSync(path, "utf8")));
  if (!success) throw new Error(`Cannot restore ${folder}: its ${manifestName} is not that of a backup`);
  for (const { name, sha256 } of output.files) {
    const file = join(folder, name);
    if (!exists(file)) throw new Error(`Cannot restore ${folder}: ${name} is missing`);
    if ((await digestOf(file)) !== sha256) throw new Error(`Cannot restore ${folder}: ${name} was changed`);
  }
  return output;
}

/** Whether the keys of this machine open a database, which is brought to the schema of this version. */
async function requireOpens(path: string, settings: Settings, keysFile: string, versions: string): Promise<void> {
  const text = settings.gateway.masterKeys ?? readKeysFile(keysFile);
  if (text === undefined) {
    throw new Error(
      `Cannot restore without the master keys (${versions}): put ${keysFile} back, or set GATEWAY_MASTER_KEYS`,
    );
  }
  const database = await openDatabase({ url: `file:${path.split("/").map(encodeURIComponent).join("/")}` });
  try {
    await migrate(database);
    await openInstallation({
      store: createInstallationStore(database),
      masterKeys: toKeyList(text),
      readMasterKeys: undefined,
      createMac: nodeMac,
      keyPrefix: settings.gateway.keyPrefix ?? defaultKeyPrefix,
      now: Date.now(),
      bootstrap: {},
    });
  } finally {
    await database.close();
  }
}

/** Moves the files of a former database away; returns their new names. */
function moveAway(path: string, places: ReturnType<typeof placesOf>): string[] {
  const suffix = `.replaced-${Date.now()}`;
  const files = [path, `${path}-wal`, `${path}-shm`, places.spill, `${places.spill}-wal`, `${places.spill}-shm`];
  return [...files, ...listJournals(places.journal)].filter(exists).map((file) => {
    renameSync(file, `${file}${suffix}`);
    return `${file}${suffix}`;
  });
}

async function restore(folder: string, replaces: boolean): Promise<Outcome> {
  const settings = readSettings(withSecretFiles(process.env));
  const path = requirePath(settings, "restore");
  const manifest = await readBackup(folder);
  if (exists(path) && !replaces) {
    throw new Error(`Cannot restore: ${path} exists; with --replace its files get other names`);
  }
  makeFolder(path);
  const release = await markServed({ url: settings.database, isShared: false }, () => {});
  const draft = `${path}.restoring`;
  try {
    rmSync(draft, { force: true });
    copyFileSync(join(folder, databaseName), draft);
    chmodSync(draft, 0o600);
    const keysFile = settings.masterKeysFile ?? join(dirname(path), "master.keys");
    await requireOpens(draft, settings, keysFile, manifest.master_keys.join(", "));
    const places = placesOf(settings, path);
    const replaced = moveAway(path, places);
    renameSync(draft, path);
    for (const { name } of manifest.files) {
      if (name === spillName) copyFileSync(join(folder, name), places.spill);
      if (name.startsWith(journalPrefix)) {
        copyFileSync(join(folder, name), `${places.journal}${name.slice(journalPrefix.length)}`);
      }
    }
    const { created_at, schema } = manifest;
    const lines = [JSON.stringify({ restored: path, created_at, schema, replaced }, undefined, 2)];
    if (settings.gateway.redis) {
      lines.push("Redis was not changed: its counters of limits are those of the time before, until their windows end");
    }
    return { lines };
  } finally {
    for (const end of ["", "-wal", "-shm"]) rmSync(`${draft}${end}`, { force: true });
    release();
  }
}

/** Commands for backups. */
export const backupCommands: readonly Command[] = [
  {
    name: "backup",
    parameters: "FOLDER",
    about: [
      "Copies the database, log rows that wait and journals of limits into a new folder, with a manifest, also while",
      "gateways serve. The master keys are not copied.",
    ],
    options: [],
    positionals: 1,
    run: (_, [folder = ""]) => backUp(folder),
  },
  {
    name: "restore",
    parameters: "FOLDER [--replace]",
    about: [
      "Puts a backup in the place of DATABASE_URL, once its files are whole and the master keys open it. Stop every gateway first.",
      "--replace gives the files of a database that is there other names.",
    ],
    options: [],
    flags: ["replace"],
    positionals: 1,
    run: (_, [folder = ""], flags) => restore(folder, flags.has("replace")),
  },
];

import { defaultKeyPrefix } from "../auth/api-key.ts";
import { type Installation, openInstallation } from "../auth/first-start.ts";
import { readMasterKeys } from "../auth/master-keys.ts";
import type { MasterKeyList } from "../control/rotation.ts";
import { type Database, openDatabase } from "../db/client.ts";
import { migrate } from "../db/migrate.ts";
import { createInstallationStore } from "../db/stores/installation.ts";
import { type HostSettings, loadUsedSettings, nodeMac } from "./environment.ts";

/** A malformed command line. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Result of a command; it failed if there are problems. */
export interface Outcome {
  lines: string[];
  problems?: string[];
  /** Exit code of a command that did not fail. Default 0. */
  code?: number;
}

/** What only some commands need. */
export interface CommandParts {
  /** Values of the options that may be given more than once. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** Shows a line at once, for commands that do not end. */
  print(line: string): void;
}

/** An operator command. */
export interface Command {
  /** One or two words. */
  name: string;
  /** Synopsis of options and positional arguments. */
  parameters: string;
  about: readonly string[];
  /** Options, each with a value. */
  options: readonly string[];
  /** Letters of options, by their names. */
  shorts?: Readonly<Record<string, string>>;
  /** Its code 2 means that its plan has something to do: where it is not understood it ends with 1. */
  hasPlan?: boolean;
  /** Options without a value. */
  flags?: readonly string[];
  /** Options with a value that may be given more than once. */
  lists?: readonly string[];
  /** Number of positional arguments. */
  positionals: number;
  /** @throws {UsageError} If a value is invalid. */
  run(
    values: Readonly<Record<string, string | undefined>>,
    positionals: readonly string[],
    flags: ReadonlySet<string>,
    more: CommandParts,
  ): Promise<Outcome> | Outcome;
}

/** An open database. */
export interface Opened {
  settings: HostSettings;
  database: Database;
  keys: MasterKeyList;
  /** Undefined when the keys come from the environment, which cannot change. */
  readKeys: (() => MasterKeyList) | undefined;
  installation: Installation;
}

export function toKeyList(text: string | undefined): MasterKeyList {
  const [first, ...others] = text === undefined ? [] : readMasterKeys(text);
  if (!first) throw new TypeError("Cannot work without master keys: set GATEWAY_MASTER_KEYS");
  return [first, ...others];
}

/** Opens the database of the environment, and closes it afterwards. */
export async function withDatabase<Value>(run: (opened: Opened) => Promise<Value>): Promise<Value> {
  const settings = loadUsedSettings();
  const { masterKeys, readMasterKeys: reread, databaseAuthToken: authToken, keyPrefix } = settings.gateway;
  const keys = toKeyList(masterKeys);
  const readKeys = reread && (() => toKeyList(reread()));
  const database = await openDatabase({ url: settings.database, ...(authToken !== undefined && { authToken }) });
  try {
    await migrate(database);
    const store = createInstallationStore(database);
    if ((await store.readRootSecret()) === undefined)
      throw new Error("Cannot work on an empty database: start the gateway first");
    const installation = await openInstallation({
      store,
      masterKeys: keys,
      readMasterKeys: readKeys,
      createMac: nodeMac,
      keyPrefix: keyPrefix ?? defaultKeyPrefix,
      now: Date.now(),
      bootstrap: {},
    });
    return await run({ settings, database, keys, readKeys, installation });
  } finally {
    await database.close();
  }
}

import { createMasterKeyText, toMasterKeysText } from "../auth/master-keys.ts";
import {
  countRecords,
  findDropProblem,
  type MasterKeyList,
  nextVersion,
  rewrapAll,
  wrapsAll,
} from "../control/rotation.ts";
import { createRotationStore } from "../db/stores/rotation.ts";
import { type Opened, type Outcome, toKeyList, UsageError, withDatabase } from "./command.ts";
import { changeKeysFile } from "./keys-file.ts";

const plural = (records: number) => (records === 1 ? "1 record" : `${records} records`);

/** Adds a version to the file, unless the last rotation is unfinished. */
function addVersion({ settings, database }: Opened): Promise<void> {
  return changeKeysFile(settings.masterKeysFile, async (text) => {
    const keys = toKeyList(text);
    const counts = await countRecords(createRotationStore(database));
    if (!wrapsAll(keys[0].version, counts)) return undefined;
    const version = nextVersion([...counts.keys(), ...keys.map((key) => key.version)]);
    return `${createMasterKeyText(version)},${toMasterKeysText(keys)}`;
  });
}

/** Makes the next version of the master keys, and wraps every record with it. */
export function rotateKeys(): Promise<Outcome> {
  return withDatabase(async (opened) => {
    const { database, readKeys } = opened;
    if (readKeys) await addVersion(opened);
    const store = createRotationStore(database);
    const keys = readKeys?.() ?? opened.keys;
    const { version, records, failed } = await rewrapAll({ store, keys, readMasterKeys: readKeys });
    const counts = await countRecords(store);
    const free = keys.filter((key) => key.version !== version && !counts.get(key.version));
    const problems = failed.map(
      ({ organisationId, kind, recordId, field, kekVersion }) =>
        `Cannot re-wrap ${field} of ${kind} ${recordId} in organisation ${organisationId}: its data key, wrapped by ${kekVersion}, does not open`,
    );
    const nothing = `Every record is wrapped by ${version} already: list a new version first in GATEWAY_MASTER_KEYS`;
    const done = `${version} wraps ${plural(counts.get(version) ?? 0)}, ${records} of them re-wrapped now`;
    return {
      lines: [
        records === 0 && problems.length === 0 && !readKeys ? nothing : done,
        ...free.map((key) => `No record names ${key.version} any more: it can be dropped`),
      ],
      problems,
    };
  });
}

/** Takes a version out of the file of master keys. */
export function dropKey(version: string): Promise<Outcome> {
  if (!/^v[1-9][0-9]{0,5}$/.test(version)) throw new UsageError(`Cannot drop "${version}": versions are written v1`);
  return withDatabase(async ({ settings, database, keys, readKeys }) => {
    const store = createRotationStore(database);
    let problem: string | undefined;
    const check = async (listed: MasterKeyList) => {
      problem = findDropProblem(version, listed, await countRecords(store));
      return problem === undefined;
    };
    if (readKeys) {
      await changeKeysFile(settings.masterKeysFile, async (text) => {
        const listed = toKeyList(text);
        const rest = listed.filter((key) => key.version !== version);
        return (await check(listed)) ? toMasterKeysText(rest) : undefined;
      });
    } else {
      await check(keys);
    }
    if (problem !== undefined) return { lines: [], problems: [problem] };
    const done = `Dropped ${version} from ${settings.masterKeysFile}`;
    return { lines: [readKeys ? done : `No record names ${version}: take it out of GATEWAY_MASTER_KEYS`] };
  });
}

/** Shows the versions of the master keys, and how many records each wraps. */
export function listKeys(hasJson: boolean): Promise<Outcome> {
  return withDatabase(async ({ database, keys }) => {
    const counts = await countRecords(createRotationStore(database));
    const recordsOf = (version: string) => counts.get(version) ?? 0;
    const listed = keys.map(({ version }, index) => ({ version, records: recordsOf(version), writes: index === 0 }));
    const missing = [...counts.keys()].filter((version) => !listed.some((key) => key.version === version));
    const problems = missing.map(
      (version) => `${version} wraps ${plural(recordsOf(version))} and is not among the master keys`,
    );
    if (hasJson) return { lines: [JSON.stringify({ keys: listed, missing }, undefined, 2)], problems };
    const lines = listed.map(
      ({ version, records, writes }) => `${version} wraps ${plural(records)}${writes ? ", writes" : ""}`,
    );
    return { lines, problems };
  });
}

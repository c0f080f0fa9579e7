import {
  type MasterKey,
  type ReadMasterKeys,
  unwrapRootSecret,
  versionOfRootSecret,
  wrapRootSecret,
} from "../auth/master-keys.ts";
import type { RotationStore, SecretId } from "../db/stores/rotation.ts";
import type { SecretRow } from "../db/tables/secrets.ts";
import { createVault, type Vault } from "./vault.ts";

/** Rows that are read and written together. */
const batchRows = 100;
/** How often the table is scanned again for secrets that other processes sealed meanwhile. */
const maxPasses = 10;

/** Master keys; the first one wraps. */
export type MasterKeyList = readonly [MasterKey, ...MasterKey[]];

/** Number of records per master key version, including the root secret. */
export async function countRecords(store: RotationStore): Promise<Map<string, number>> {
  const counts = await store.countSecrets();
  const stored = await store.readRootSecret();
  if (stored === undefined) return counts;
  const version = versionOfRootSecret(stored);
  return counts.set(version, (counts.get(version) ?? 0) + 1);
}

/** Whether a version wraps every record. */
export function wrapsAll(version: string, counts: ReadonlyMap<string, number>): boolean {
  return [...counts].every(([named, records]) => named === version || records === 0);
}

/** The version after all that are listed, or named by a record. */
export function nextVersion(versions: Iterable<string>): string {
  const numbers = [...versions].map((version) => Number(version.slice(1))).filter(Number.isSafeInteger);
  return `v${Math.max(0, ...numbers) + 1}`;
}

/** Why a version cannot be dropped; undefined when it can. */
export function findDropProblem(
  version: string,
  keys: MasterKeyList,
  counts: ReadonlyMap<string, number>,
): string | undefined {
  const records = counts.get(version) ?? 0;
  if (!keys.some((key) => key.version === version)) return `Cannot drop ${version}: it is not among the master keys`;
  if (records > 0) {
    const shown = records === 1 ? "1 record names it" : `${records} records name it`;
    return `Cannot drop ${version}: ${shown}; run keys rotate first`;
  }
  if (keys[0].version === version) return `Cannot drop ${version}: it is the version that wraps new secrets`;
  return undefined;
}

/** Options of `rewrapAll`. */
interface RewrapOptions {
  store: RotationStore;
  keys: MasterKeyList;
  /** Reads the keys again, if they can change during the run. */
  readMasterKeys?: ReadMasterKeys | undefined;
}

/** Result of rewrapping. */
interface Rewrapped {
  /** Version that wraps now. */
  version: string;
  /** Rewrapped records. */
  records: number;
  /** Secrets that could not be opened; they stay unchanged. */
  failed: SecretRow[];
}

async function rewrapRootSecret({ store, keys, readMasterKeys }: RewrapOptions): Promise<number> {
  for (;;) {
    const [writing, ...others] = (await readMasterKeys?.()) ?? keys;
    const stored = await store.readRootSecret();
    if (stored === undefined || !writing || versionOfRootSecret(stored) === writing.version) return 0;
    const secret = await unwrapRootSecret(stored, [writing, ...others]);
    if (await store.replaceRootSecret(stored, await wrapRootSecret(secret, writing))) return 1;
  }
}

/** Rows with rewrapped data keys, and rows that do not open. */
async function rewrapRows(rows: readonly SecretRow[], vault: Vault) {
  const failed: SecretRow[] = [];
  const changes: { row: SecretRow; wrapped: Pick<SecretRow, "kekVersion" | "wrappedKey"> }[] = [];
  for (const row of rows) {
    try {
      changes.push({ row, wrapped: await vault.rewrap(row) });
    } catch {
      failed.push(row);
    }
  }
  return { changes, failed };
}

/** Scans the secrets once. */
async function rewrapSecrets(store: RotationStore, vault: Vault): Promise<Pick<Rewrapped, "records" | "failed">> {
  let records = 0;
  const failed: SecretRow[] = [];
  for (let after: SecretId | undefined; ; ) {
    const rows = await store.secretsNotUnder(vault.version, after, batchRows);
    const batch = await rewrapRows(rows, vault);
    records += await store.replaceWrappedKeys(batch.changes);
    failed.push(...batch.failed);
    after = rows.at(-1);
    if (rows.length < batchRows) return { records, failed };
  }
}

/**
 * Wraps the root secret and every data key with the current master key; the secrets themselves stay sealed. Each batch
 * is a separate transaction, so the run may stop anywhere and continue later, while gateways are serving.
 */
export async function rewrapAll(options: RewrapOptions): Promise<Rewrapped> {
  const { store } = options;
  const vault = createVault(options.keys, options.readMasterKeys);
  let records = await rewrapRootSecret(options);
  for (let pass = 1; ; pass++) {
    const result = await rewrapSecrets(store, vault);
    records += result.records;
    // secrets sealed behind the current position are found by the next scan
    if (result.records === 0 || pass === maxPasses) return { version: vault.version, records, failed: result.failed };
  }
}

import type { FirstStart, InstallationStore, NewOrganisation } from "../db/stores/installation.ts";
import type { NewApiKeyRow } from "../db/tables/api-keys.ts";
import { deriveKey, type Mac, type MacFactory, randomBytes } from "../lib/hash.ts";
import { maskSecret, mintApiKey, readLookupId, requireBootstrapKey } from "./api-key.ts";
import {
  type MasterKey,
  type ReadMasterKeys,
  unwrapRootSecret,
  versionOfRootSecret,
  wrapRootSecret,
} from "./master-keys.ts";
import { type KeyKind, scopesOfKind } from "./scopes.ts";

/** Keys of the first start, shown once. Null where the operator chose the key. */
export interface FirstKeys {
  adminKey: string | null;
  workspaceKey: string | null;
}

/** Options for opening the installation. */
interface OpenInstallationOptions {
  store: InstallationStore;
  masterKeys: readonly MasterKey[];
  /** Called when the root secret names a key that was not given. */
  readMasterKeys?: ReadMasterKeys | undefined;
  createMac: MacFactory;
  keyPrefix: string;
  now: number;
  /** Keys that the operator chose for the first start. */
  bootstrap: { adminKey?: string; workspaceKey?: string };
}

/** Keys for one purpose each, derived from the root secret. */
interface InstallationKeys {
  pepper: Uint8Array<ArrayBuffer>;
  logHash: Uint8Array<ArrayBuffer>;
  state: Uint8Array<ArrayBuffer>;
  audit: Uint8Array<ArrayBuffer>;
  /** Seals stored response bodies. */
  bodies: Uint8Array<ArrayBuffer>;
  /** Names and seals entries of the cache. */
  cache: Uint8Array<ArrayBuffer>;
}

/** An open installation; `firstKeys` only if this process created it. */
export interface Installation {
  keys: InstallationKeys;
  firstKeys: FirstKeys | undefined;
}

async function deriveKeys(rootSecret: Uint8Array<ArrayBuffer>): Promise<InstallationKeys> {
  const [pepper, logHash, state, audit, bodies, cache] = await Promise.all([
    deriveKey(rootSecret, "key-pepper"),
    deriveKey(rootSecret, "log-hash"),
    deriveKey(rootSecret, "state"),
    deriveKey(rootSecret, "audit-mac"),
    deriveKey(rootSecret, "bodies"),
    deriveKey(rootSecret, "cache-key"),
  ]);
  return { pepper, logHash, state, audit, bodies, cache };
}

/** Input for a key's row. */
interface NewKeyOptions {
  digest: (text: string) => string | Promise<string>;
  keyPrefix: string;
  now: number;
  /** Default: the name of a first key. */
  name?: string;
}

/** The row of a further admin key of an organisation. */
export function createAdminKeyRow(
  key: string,
  organisationId: string,
  options: Omit<NewKeyOptions, "name">,
): Promise<NewApiKeyRow> {
  const named = { ...options, name: "Admin key created by a command" };
  return toKeyRow(key, "organisation-service", { organisationId, workspaceId: null }, named);
}

/** A new key and the row that stores its digest. */
async function toKeyRow(
  key: string,
  kind: KeyKind,
  owner: { organisationId: string; workspaceId: string | null },
  options: NewKeyOptions,
): Promise<NewApiKeyRow> {
  return {
    id: crypto.randomUUID(),
    lookupId: readLookupId(key, options.keyPrefix) ?? null,
    ...owner,
    name: options.name ?? (kind === "organisation-service" ? "First admin key" : "First workspace key"),
    kind,
    digest: await options.digest(key),
    masked: maskSecret(key),
    scopes: JSON.stringify(scopesOfKind(kind)),
    status: "active",
    creationMode: "auto",
    expiresAt: null,
    createdAt: options.now,
  };
}

/** @throws {TypeError} If a key that the operator chose is unsuitable. */
function checkBootstrap({ adminKey, workspaceKey }: OpenInstallationOptions["bootstrap"]): void {
  if (adminKey !== undefined) requireBootstrapKey("the bootstrap admin key", adminKey);
  if (workspaceKey !== undefined) requireBootstrapKey("the bootstrap workspace key", workspaceKey);
  if (adminKey !== undefined && adminKey === workspaceKey) {
    throw new TypeError("Cannot use the bootstrap keys: they must differ");
  }
}

/** Input for a new organisation. */
interface NewOrganisationOptions {
  name: string;
  slug: string;
  adminKey: string;
  workspaceKey: string;
  digest: Mac;
  keyPrefix: string;
  now: number;
  /** E-mail address of the first owner. Default `owner@localhost`. */
  ownerEmail?: string;
}

/** Rows of a new organisation: the organisation, its default workspace, its owner and two keys. */
export async function createOrganisationRows(options: NewOrganisationOptions): Promise<NewOrganisation> {
  const { name, slug, now: createdAt, digest, keyPrefix } = options;
  const keyOptions = { digest, keyPrefix, now: createdAt };
  const organisationId = crypto.randomUUID();
  const workspaceId = crypto.randomUUID();
  const ofWorkspace = { id: workspaceId, organisationId, name: "default", slug: "default", isDefault: true };
  const owner = {
    id: crypto.randomUUID(),
    organisationId,
    email: options.ownerEmail ?? "owner@localhost",
    role: "owner" as const,
  };
  return {
    organisation: { id: organisationId, name, slug, createdAt },
    workspace: { ...ofWorkspace, createdAt },
    owner: { ...owner, createdAt },
    keys: [
      await toKeyRow(options.adminKey, "organisation-service", { organisationId, workspaceId: null }, keyOptions),
      await toKeyRow(options.workspaceKey, "workspace-service", { organisationId, workspaceId }, keyOptions),
    ],
  };
}

async function createFirstStart(options: OpenInstallationOptions, masterKey: MasterKey) {
  const { bootstrap, keyPrefix, now } = options;
  checkBootstrap(bootstrap);
  const rootSecret = randomBytes(32);
  const keys = await deriveKeys(rootSecret);
  const adminKey = bootstrap.adminKey ?? mintApiKey(keyPrefix).key;
  const workspaceKey = bootstrap.workspaceKey ?? mintApiKey(keyPrefix).key;
  const digest = options.createMac(keys.pepper);
  const start: FirstStart = {
    rootSecret: await wrapRootSecret(rootSecret, masterKey),
    ...(await createOrganisationRows({
      name: "default",
      slug: "default",
      adminKey,
      workspaceKey,
      digest,
      keyPrefix,
      now,
    })),
  };
  const firstKeys: FirstKeys = {
    adminKey: bootstrap.adminKey === undefined ? adminKey : null,
    workspaceKey: bootstrap.workspaceKey === undefined ? workspaceKey : null,
  };
  return { start, keys, firstKeys };
}

/** Unwraps the root secret; reads newer master keys if it names one of them. */
async function openRootSecret(
  stored: string,
  { masterKeys, readMasterKeys }: Pick<OpenInstallationOptions, "masterKeys" | "readMasterKeys">,
) {
  const known = masterKeys.some(({ version }) => version === versionOfRootSecret(stored));
  return unwrapRootSecret(stored, known ? masterKeys : ((await readMasterKeys?.()) ?? masterKeys));
}

/** Whether a database holds the installation whose keys are given. */
export async function holdsInstallation(
  { keys }: Pick<Installation, "keys">,
  options: Pick<OpenInstallationOptions, "masterKeys" | "readMasterKeys"> & {
    store: Pick<InstallationStore, "readRootSecret">;
  },
): Promise<boolean> {
  const stored = await options.store.readRootSecret();
  if (stored === undefined) return false;
  try {
    const { state } = await deriveKeys(await openRootSecret(stored, options));
    return state.every((byte, index) => byte === keys.state[index]);
  } catch {
    return false; // it is sealed with other master keys
  }
}

/**
 * Opens the installation in a database; an empty database gets its first organisation, workspace, owner and keys.
 *
 * @throws {Error} If the master keys do not open it.
 * @throws {TypeError} If the database is empty and a bootstrap key is unsuitable.
 */
export async function openInstallation(options: OpenInstallationOptions): Promise<Installation> {
  const { store } = options;
  const [writing] = options.masterKeys;
  if (!writing) throw new TypeError("Cannot open the database: no master key is given");
  for (;;) {
    const stored = await store.readRootSecret();
    if (stored !== undefined) {
      return { keys: await deriveKeys(await openRootSecret(stored, options)), firstKeys: undefined };
    }
    const { start, keys, firstKeys } = await createFirstStart(options, writing);
    if (await store.writeFirstStart(start)) return { keys, firstKeys };
  }
}

import type { Database } from "../db/client.ts";
import type { Change } from "../db/stores/audit.ts";
import { type ControlStores, createControlStores } from "../db/stores/control.ts";
import type { Clock } from "../lib/clock.ts";
import type { Mac } from "../lib/hash.ts";
import { type Committer, createCommitter } from "./commit.ts";
import { type Credentials, createCredentials, type ResolveReference } from "./credentials.ts";
import { createDirectory, type Directory } from "./directory.ts";
import { createFollower, type Follower } from "./follower.ts";
import type { Vault } from "./vault.ts";

/** Organisations, workspaces, people, keys and all that governs them. */
export interface ControlPlane {
  readonly stores: ControlStores;
  readonly vault: Vault;
  readonly committer: Committer;
  readonly directory: Directory;
  readonly follower: Follower;
  readonly credentials: Credentials;
}

/** What the control plane is made from. */
export interface ControlPlaneOptions {
  database: Database;
  vault: Vault;
  /** Digest of audit rows. */
  auditMac: Mac;
  clock: Clock;
  /** Gets secrets from stores outside. */
  resolveReference: ResolveReference;
  /** Told of what changed on this node or another; undefined when anything may have. */
  changed(changes: readonly Change[] | undefined): void;
}

/** Creates the control plane of a gateway. */
export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { database, vault, clock, resolveReference } = options;
  const { now } = clock;
  const stores = createControlStores(database);
  const directory = createDirectory(stores);
  const applied = (changes: readonly Change[]) => {
    directory.forget(changes);
    options.changed(changes);
  };
  const lost = () => {
    directory.forgetAll();
    options.changed(undefined);
  };
  const committer = createCommitter({ database, audit: stores.audit, mac: options.auditMac, now, applied });
  const follower = await createFollower(stores.audit, { changed: applied, lost });
  const credentials = createCredentials({ vault, clock, resolveReference });
  return { stores, vault, committer, directory, follower, credentials };
}

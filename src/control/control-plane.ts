import type { Database } from "../db/client.ts";
import type { AuditHead, Change } from "../db/stores/audit.ts";
import { type ControlStores, createControlStores } from "../db/stores/control.ts";
import { createOauthStore } from "../db/stores/oauth.ts";
import type { AddressGuard } from "../lib/address.ts";
import type { Clock } from "../lib/clock.ts";
import type { Mac } from "../lib/hash.ts";
import type { Outbound } from "../lib/outbound.ts";
import type { McpServers } from "../mcp/registry/mcp-server.ts";
import { createMcpServers } from "../mcp/registry/mcp-servers.ts";
import { createMcpSync, type McpSync } from "../mcp/registry/mcp-sync.ts";
import { type VerifiedPart, verifyPart } from "./audit-verify.ts";
import { type Committer, createCommitter } from "./commit.ts";
import { type Credentials, createCredentials, createSecretOpener } from "./credentials.ts";
import type { DeclaredIn } from "./declared-in.ts";
import { createDirectory, type Directory } from "./directory.ts";
import { createFollower, type Follower } from "./follower.ts";
import { createKeyCleanup } from "./key-cleanup.ts";
import { createRefusals, createRefusalWriter, type Refusals } from "./refusals.ts";
import { type ContentOpener, createContentOpener } from "./sealed-contents.ts";
import { createSecretResolver } from "./secret-managers/resolver.ts";
import type { Vault } from "./vault.ts";

/** Organisations, workspaces, users, keys and all that governs them. */
export interface ControlPlane {
  readonly stores: ControlStores;
  /** The same, whose reads are answered with what was last known while the database is away. For the path of requests. */
  readonly known: ControlStores;
  readonly vault: Vault;
  readonly contents: ContentOpener;
  readonly committer: Committer;
  readonly directory: Directory;
  readonly follower: Follower;
  readonly credentials: Credentials;
  readonly mcpServers: McpServers;
  readonly mcpSync: McpSync;
  readonly refusals: Refusals;
  /** The file that the configuration comes from. Undefined: callers change it. */
  readonly declaredIn: DeclaredIn | undefined;
  /** Verifies the next part of an organisation's audit log. */
  verifyAudit(organisationId: string, after: AuditHead): Promise<VerifiedPart>;
  /** Writes rows for counted refusals: of past minutes, or all. */
  writeRefusals(options: { all: boolean }): Promise<void>;
  /** Updates keys and deletes old changes; run it about once a minute. */
  cleanUp(): Promise<void>;
}

/** Options of the control plane. */
interface ControlPlaneOptions {
  database: Database;
  vault: Vault;
  /** Digest of audit rows. */
  auditMac: Mac;
  clock: Clock;
  outbound: Outbound;
  guard: AddressGuard;
  declaredIn: DeclaredIn | undefined;
  /** Number of the newest change in what the process knows, where it begins without the database. */
  firstChange?: number | undefined;
  /**
   * Called for changes on this node or another; undefined when anything may have changed.
   *
   * @param newest Number of the newest of them.
   */
  changed(changes: readonly Change[] | undefined, newest?: number): void;
  /** Called once more for changes on this node, when a database on another machine lists them. */
  repeated(changes: readonly Change[]): void;
  /** Called when the database is back after it was away. */
  returned(): void;
  /** Resolves once the other processes of this gateway have applied a change of this one. Absent: no others run. */
  announced?: (() => Promise<void>) | undefined;
}

/** How long a node may be offline and still learn what changed. */
const keepChangesMs = 60 * 60_000;

/** Follows what changes, on this node and on others. */
async function followChanges(
  options: ControlPlaneOptions,
  { stores, directory }: Pick<ControlPlane, "stores" | "directory">,
) {
  const applied = (changes: readonly Change[], newest: number) => {
    directory.forget(changes);
    options.changed(changes, newest);
  };
  const lost = () => {
    directory.forgetAll();
    options.changed(undefined);
  };
  const repeated = (changes: readonly Change[]) => {
    // a local database has no replicas: what was read after a change has it
    if (!options.database.remote) return;
    directory.forget(changes);
    options.repeated(changes);
  };
  const returned = () => {
    directory.forgetAll();
    options.returned();
  };
  const events = { changed: applied, repeated, lost, returned };
  const follower = await createFollower(stores.audit, events, options.firstChange);
  return { follower, applied };
}

/** Creates the control plane of a gateway. */
export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { database, vault, clock, outbound, guard } = options;
  const { now } = clock;
  const stores = createControlStores(database);
  const known = createControlStores(database.lastKnown);
  const contents = createContentOpener(stores, vault);
  const directory = createDirectory(known, createContentOpener(known, vault));
  const { follower, applied } = await followChanges(options, { stores, directory });
  const committer = createCommitter({
    database,
    audit: stores.audit,
    mac: options.auditMac,
    now,
    applied(changes, numbers) {
      follower.made(numbers);
      applied(changes, Math.max(...numbers));
    },
    announced: options.announced,
  });
  const resolver = createSecretResolver({ outbound, guard, clock });
  const { revokeFamiliesOfKey: endSignIns } = createOauthStore(database);
  const keepKeys = createKeyCleanup({ stores, endSignIns, write: database.write, now });
  const hasUsers = async (organisationId: string) =>
    (await stores.users.count({ organisationId, workspaceId: null })) > 0;
  const refusals = createRefusals(clock);
  const writeRefusals = createRefusalWriter(refusals, committer);
  const cleanUp = async () => {
    await database.write([stores.audit.forgetChanges(now() - keepChangesMs)]);
    await keepKeys();
  };
  const opener = createSecretOpener({ vault, resolver });
  const credentials = createCredentials({ clock, opener });
  const mcpServers = createMcpServers({ directory, opener, clock });
  const mcpSync = createMcpSync({ stores, committer, opener, outbound, clock });
  return {
    stores,
    known,
    vault,
    contents,
    committer,
    directory,
    follower,
    credentials,
    mcpServers,
    mcpSync,
    refusals,
    declaredIn: options.declaredIn,
    verifyAudit: (organisationId, after) =>
      verifyPart(stores.audit, organisationId, { mac: options.auditMac, after, hasUsers }),
    writeRefusals,
    cleanUp,
  };
}

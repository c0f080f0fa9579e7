import type { CachePlace } from "./entry.ts";

/** Entries of a part of an organisation. */
export interface PurgeScope {
  readonly organisationId: string;
  /** Null: all workspaces. */
  readonly workspaceId: string | null;
  /** Digest of a namespace. Null: all, and entries without one. */
  readonly namespace: string | null;
}

/** Whether an entry belongs to a scope. */
export function isWithin(place: CachePlace, { organisationId, workspaceId, namespace }: PurgeScope): boolean {
  return (
    place.organisationId === organisationId &&
    (workspaceId === null || place.workspaceId === workspaceId) &&
    (namespace === null || place.namespace === namespace)
  );
}

/** An entry as it leaves the process. */
export interface SealedEntry {
  readonly place: CachePlace;
  readonly key: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
  /** Unix milliseconds. */
  readonly storedAt: number;
  readonly expiresAt: number;
}

/** Where entries outlive a process, or are shared by several. It sees sealed entries alone. */
export interface SharedTier {
  /** @param now Unix milliseconds. */
  find(place: CachePlace, key: string, now: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Stores entries; existing ones are replaced. */
  store(entries: readonly SealedEntry[]): Promise<void>;
  remove(place: CachePlace, key: string): Promise<void>;
  purge(scope: PurgeScope): Promise<void>;
  /** Removes what expired, and the oldest entries above the limit. */
  cleanUp(now: number): Promise<void>;
  close(): void;
}

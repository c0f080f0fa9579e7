/** Whose responses are shared: those of a workspace. */
export interface CacheTenant {
  readonly organisationId: string;
  readonly workspaceId: string;
}

/** Where an entry belongs. */
export interface CachePlace extends CacheTenant {
  /** Digest of the namespace; empty without one. */
  readonly namespace: string;
}

/** A stored response. */
export interface CacheEntry {
  /** The key it was stored under: compared when it is read. */
  readonly key: string;
  /** Body in JSON, as UTF-8, before the output guardrails. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Parameters that the provider does not support. */
  readonly dropped: readonly string[] | null;
  /** What the response cost in nano-dollars; null where unknown. */
  readonly cost: number | null;
  readonly tokens: number;
  /** Unix milliseconds. */
  readonly storedAt: number;
  readonly expiresAt: number;
}

/** Largest stored response, in bytes. */
export const maxEntryBytes = 4 * 1024 * 1024;

import type { KeyKind } from "./scopes.ts";

/** What a key gives to requests that bring none of their own. */
export interface KeyDefaults {
  metadata: Readonly<Record<string, string>> | null;
  /** Slug or id of a saved config. */
  configId: string | null;
  /** False: a request that names a config is refused. */
  allowConfigOverride: boolean;
}

/** Who is calling. Everything here comes from the credential, nothing from the request. */
export interface Principal {
  keyId: string;
  kind: KeyKind;
  organisationId: string;
  /** Null for keys of the organisation. */
  workspaceId: string | null;
  /** The person behind a user key or a token; null for services. */
  userId: string | null;
  /** Scopes of the key, written with a dot. */
  scopes: ReadonlySet<string>;
  defaults: KeyDefaults;
}

/** Defaults of a key that sets none. */
export const noDefaults: KeyDefaults = { metadata: null, configId: null, allowConfigOverride: true };

import type { KeyKind } from "./scopes.ts";

/** What a key gives to requests that bring none of their own. */
export interface KeyDefaults {
  metadata: Readonly<Record<string, string>> | null;
  /** Slug or id of a saved config. */
  configId: string | null;
  /** False: a request that names a config is refused. */
  allowConfigOverride: boolean;
}

/** Limits a credential carries itself, beside those of its workspace and the policies. */
export interface CredentialLimits {
  /** Budgets as they are stored or written in a token: one, or a list. */
  usageLimits: unknown;
  /** A list of rate limits. */
  rateLimits: unknown;
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
  /** Whom a token is about: an e-mail address, else its subject. Absent for keys. */
  person?: string | null;
  /** Scopes of the key, written with a dot. */
  scopes: ReadonlySet<string>;
  defaults: KeyDefaults;
  /** Limits of the key's record, or of the claims of a token. */
  limits?: CredentialLimits;
}

/** Defaults of a key that sets none. */
export const noDefaults: KeyDefaults = { metadata: null, configId: null, allowConfigOverride: true };

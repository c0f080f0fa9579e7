import type { Priority } from "../schemas/queues.ts";
import type { AllowedModels } from "./allowed-models.ts";
import type { KeyKind } from "./scopes.ts";

/** A key's defaults for requests. */
export interface KeyDefaults {
  metadata: Readonly<Record<string, string>> | null;
  /** Slug or id of a saved config. */
  configId: string | null;
  /** False: a request that names a config is rejected. */
  allowConfigOverride: boolean;
}

/** Limits of the credential itself, in addition to those of its workspace and policies. */
export interface CredentialLimits {
  /** Budgets as they are stored or written in a token: one, or a list. */
  usageLimits: unknown;
  /** A list of rate limits. */
  rateLimits: unknown;
  /** Unix milliseconds of the last reset of the key's usage. */
  lastResetAt: number | null;
}

/** What a token for one MCP server permits. */
interface ServerGrant {
  /** The OAuth client; null for tokens of an identity provider. */
  clientId: string | null;
  /** Id of the only server that it is for. */
  serverId: string;
  /** Scopes of OAuth: `mcp`, `mcp:read`, `mcp:write`. */
  scopes: ReadonlySet<string>;
}

/** The caller. Everything here comes from the credential, nothing from the request. */
export interface Principal {
  keyId: string;
  kind: KeyKind;
  organisationId: string;
  /** Null for keys of the organisation. */
  workspaceId: string | null;
  /** The user of a user key or a token; null for services. */
  userId: string | null;
  /** Subject of a token: an e-mail address, else `sub`. Absent for keys. */
  person?: string | null;
  /** Scopes of the key, in dot notation. */
  scopes: ReadonlySet<string>;
  defaults: KeyDefaults;
  /** Present for callers whose credential is for one MCP server. */
  grant?: ServerGrant;
  /** Limits of the key's record, or of the claims of a token. */
  limits?: CredentialLimits;
  /** Highest class of its requests where they wait. Absent: `normal`. */
  priority?: Priority;
  /** The models that its requests may name. Absent: all. */
  allowedModels?: AllowedModels;
  /** A session of the console stands for the key or user. Log rows say so. */
  isOfConsole?: true;
}

/** Defaults of a key without defaults. */
export const noDefaults: KeyDefaults = { metadata: null, configId: null, allowConfigOverride: true };

import type * as v from "valibot";
import type { RateLimits, UsageLimits } from "../schemas/control.ts";
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
  usageLimits: readonly UsageLimits[];
  rateLimits: v.InferOutput<typeof RateLimits>;
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
  /** Limits in a token; those of keys are in their record. */
  limits?: CredentialLimits;
}

/** Defaults of a key without defaults. */
export const noDefaults: KeyDefaults = { metadata: null, configId: null, allowConfigOverride: true };

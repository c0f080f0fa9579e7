import type { Principal } from "../../auth/principal.ts";
import { type KeyKind, mayHoldScope, normaliseScope } from "../../auth/scopes.ts";
import { toRecord } from "../../control/settings.ts";
import type { OrganisationRow, WorkspaceRow } from "../../db/tables/tenants.ts";
import { dayMs } from "../../lib/periods.ts";
import { forbid, refuseField } from "../core/request.ts";

/**
 * Refuses to give a key scopes the caller lacks: a key can only pass on what it holds. Keys of the organisation may
 * give all scopes of workspace keys, which they cannot hold themselves.
 *
 * @throws {PermissionError} AB03.
 */
export function requireGrantable(principal: Principal, kind: KeyKind, scopes: readonly string[]): void {
  if (principal.workspaceId === null && kind !== "organisation-service") return;
  const lacking = scopes.find((scope) => !principal.scopes.has(scope));
  if (lacking !== undefined) forbid(`This key cannot give the scope ${lacking}: it does not hold it`, "scopes");
}

/**
 * Scopes a body names, as they are stored.
 *
 * @throws {InvalidRequestError} AB01 for a scope that no key of this kind holds.
 */
export function readScopes(kind: KeyKind, named: readonly string[]): string[] {
  const scopes = named.map(normaliseScope);
  const wrong = scopes.findIndex((scope) => !mayHoldScope(kind, scope));
  if (wrong !== -1) refuseField(`scopes.${wrong}`, `${JSON.stringify(named[wrong])} is not a scope of a ${kind} key`);
  return [...new Set(scopes)];
}

/**
 * The models of a key as they are stored. A key with a list gives others no more than it has.
 *
 * @throws {InvalidRequestError} AB01 for a key of the organisation, which calls no models.
 * @throws {PermissionError} AB03.
 */
export function readAllowedModels(
  { allowedModels: own }: Principal,
  kind: KeyKind,
  given: readonly string[] | null | undefined,
): string[] | null {
  if (given && kind === "organisation-service")
    refuseField("allowed_models", "keys of the organisation call no models");
  if (own && !given) forbid("This key cannot give all models: it may use some only", "allowed_models");
  const lacking = own && given?.find((name) => !own.allows(name));
  if (lacking !== undefined) forbid(`This key cannot give the model ${lacking}: it may not use it`, "allowed_models");
  return given ? [...given] : null;
}

/** The settings of a workspace, or else its organisation, for keys of users. */
export interface UserKeyRules {
  /** Most keys of one user; null: unlimited. */
  count: number | null;
  /** Lifetime in days of a key without an expiry; null: unlimited. */
  defaultDays: number | null;
  maxDays: number | null;
}

/** Longest lifetime settings can express: a hundred years. */
const mostDays = 36_500;

/** Rules for keys of users; keys of services have none. */
export function readUserKeyRules(
  kind: KeyKind,
  organisation: OrganisationRow,
  workspace: WorkspaceRow | undefined,
): UserKeyRules {
  if (kind !== "workspace-user") return { count: null, defaultDays: null, maxDays: null };
  const levels = [workspace?.settings, organisation.settings].map(toRecord);
  // values that mean "no limit" count as not set
  const find = (name: string, least: number) => {
    const values = levels.map((level) => level[name]);
    const isSet = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= least;
    return values.find(isSet) ?? null;
  };
  const findDays = (name: string) => {
    const days = find(name, 1);
    return days === null ? null : Math.min(days, mostDays);
  };
  return {
    count: find("user_api_key_count", 0),
    defaultDays: findDays("user_api_key_ttl"),
    maxDays: findDays("user_api_key_max_ttl"),
  };
}

/**
 * When a key expires.
 *
 * @param given Undefined: as the rules say. Null: never.
 * @throws {InvalidRequestError} AB01 if that is later than the rules allow.
 */
export function decideExpiry(
  given: number | null | undefined,
  { defaultDays, maxDays }: UserKeyRules,
  createdAt: number,
): number | null {
  const days = Math.min(defaultDays ?? maxDays ?? Infinity, maxDays ?? Infinity);
  const byRule = days === Infinity ? null : createdAt + days * dayMs;
  const expiresAt = given === undefined ? byRule : given;
  if (maxDays !== null && (expiresAt ?? Infinity) > createdAt + maxDays * dayMs) {
    refuseField("expires_at", `must be at most ${maxDays} days after the key was made`);
  }
  return expiresAt;
}

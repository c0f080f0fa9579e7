import type { Principal } from "../../auth/principal.ts";
import { type KeyKind, mayHoldScope, normaliseScope } from "../../auth/scopes.ts";
import type { OrganisationRow, WorkspaceRow } from "../../db/tables/tenants.ts";
import { isObject } from "../../lib/json.ts";
import { dayMs } from "../../lib/periods.ts";
import { forbid, refuseField } from "../core/request.ts";

/**
 * Refuses to give a key scopes the caller has no say over: a key gives what it holds. Keys of the organisation give every
 * scope of a workspace key too, which they could not hold themselves.
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
  if (wrong !== -1) refuseField(`scopes.${wrong}`, `${JSON.stringify(named[wrong])} is no scope of a ${kind} key`);
  return [...new Set(scopes)];
}

/** What a workspace, or else its organisation, says of the keys of people. */
export interface UserKeyRules {
  /** Most keys of one person; null: any number. */
  count: number | null;
  /** Days a key lives that says nothing; null: for ever. */
  defaultDays: number | null;
  maxDays: number | null;
  /** Days between two rotations; null: as the key says. */
  rotationDays: number | null;
}

/** Days of the periods that have names. */
export const namedDays: Readonly<Record<string, number>> = { weekly: 7, monthly: 30 };
/** Longest lifetime settings can mean: a hundred years. */
const mostDays = 36_500;

/** Rules for keys of people; keys of services have none. */
export function readUserKeyRules(
  kind: KeyKind,
  organisation: OrganisationRow,
  workspace: WorkspaceRow | undefined,
): UserKeyRules {
  if (kind !== "workspace-user") return { count: null, defaultDays: null, maxDays: null, rotationDays: null };
  const levels = [workspace?.settings, organisation.settings].flatMap((level) =>
    isObject(level) ? [{ ...level }] : [],
  );
  // what means "no limit" counts as not set
  const find = (name: string, least: number) => {
    const values = levels.map((level) => namedDays[String(level[name])] ?? level[name]);
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
    rotationDays: findDays("user_api_key_rotation_period"),
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

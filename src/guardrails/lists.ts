import * as v from "valibot";

/** Most words a check looks for. */
const maxWords = 10_000;

/** Words a check looks for. */
export const WordList = v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(maxWords));

/** Blocked entries, and the only allowed ones. An empty list has no effect. */
export interface Lists<Entry> {
  readonly blocked: readonly Entry[];
  readonly allowed: readonly Entry[];
}

/** Lists as sets, for many lookups. */
export interface ListSets<Entry> {
  readonly blocked: ReadonlySet<Entry>;
  readonly allowed: ReadonlySet<Entry>;
}

export function toSets<Entry>({ blocked, allowed }: Lists<Entry>): ListSets<Entry> {
  return { blocked: new Set(blocked), allowed: new Set(allowed) };
}

/** Entries that are both blocked and allowed; such lists contradict themselves. */
export function findConflicts<Entry>({ blocked, allowed }: Lists<Entry>): Entry[] {
  const known = new Set(allowed);
  return blocked.filter((entry) => known.has(entry));
}

/** Why something with these names is blocked; empty where it is allowed. */
export function findObjections<Entry>(
  names: readonly Entry[],
  { blocked, allowed }: ListSets<Entry>,
): ("blocked" | "not_allowed")[] {
  const isAllowed = allowed.size === 0 || names.some((name) => allowed.has(name));
  const isBlocked = names.some((name) => blocked.has(name));
  return [...(isBlocked ? (["blocked"] as const) : []), ...(isAllowed ? [] : (["not_allowed"] as const))];
}

import * as v from "valibot";

/** Most words a check looks for. */
const maxWords = 10_000;

/** Words a check looks for. */
export const WordList = v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(maxWords));

/** What is refused, and what alone is allowed. An empty list says nothing. */
export interface Lists<Entry> {
  readonly blocked: readonly Entry[];
  readonly allowed: readonly Entry[];
}

/** Lists as they are asked, often and for much. */
export interface ListSets<Entry> {
  readonly blocked: ReadonlySet<Entry>;
  readonly allowed: ReadonlySet<Entry>;
}

export function toSets<Entry>({ blocked, allowed }: Lists<Entry>): ListSets<Entry> {
  return { blocked: new Set(blocked), allowed: new Set(allowed) };
}

/** Entries that are blocked and allowed at once: such lists cannot be followed. */
export function findConflicts<Entry>({ blocked, allowed }: Lists<Entry>): Entry[] {
  const known = new Set(allowed);
  return blocked.filter((entry) => known.has(entry));
}

/** What stands against something that is known under each of the names; empty where nothing does. */
export function findObjections<Entry>(
  names: readonly Entry[],
  { blocked, allowed }: ListSets<Entry>,
): ("blocked" | "not_allowed")[] {
  const isAllowed = allowed.size === 0 || names.some((name) => allowed.has(name));
  const isBlocked = names.some((name) => blocked.has(name));
  return [...(isBlocked ? (["blocked"] as const) : []), ...(isAllowed ? [] : (["not_allowed"] as const))];
}

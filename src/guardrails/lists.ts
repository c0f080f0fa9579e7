/** What is refused, and what alone is allowed. An empty list says nothing. */
export interface Lists<Entry> {
  readonly blocked: readonly Entry[];
  readonly allowed: readonly Entry[];
}

/** Entries that are blocked and allowed at once: such lists cannot be followed. */
export function findConflicts<Entry>({ blocked, allowed }: Lists<Entry>): Entry[] {
  return blocked.filter((entry) => allowed.includes(entry));
}

/** What stands against something that is known under each of the names; empty where nothing does. */
export function findObjections<Entry>(
  names: readonly Entry[],
  { blocked, allowed }: Lists<Entry>,
): ("blocked" | "not_allowed")[] {
  const isAllowed = allowed.length === 0 || names.some((name) => allowed.includes(name));
  const isBlocked = names.some((name) => blocked.includes(name));
  return [...(isBlocked ? (["blocked"] as const) : []), ...(isAllowed ? [] : (["not_allowed"] as const))];
}

type Body = Readonly<Record<string, unknown>>;

/** The pieces of a stream do not add up to exactly one response. */
export class InexactError extends Error {
  override readonly name = "InexactError";
}

/** Ends the work: what came cannot be put together without loss. */
export function refuseInexact(what: string): never {
  throw new InexactError(`Cannot put the stream together: ${what}`);
}

/** How the pieces of one member become its value. */
export type Join = (known: unknown, piece: unknown, name: string) => unknown;

const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;

/** Text that comes in pieces. */
export const joinText: Join = (known, piece, name) => {
  if (isAbsent(piece)) return known;
  if (typeof piece !== "string" || (!isAbsent(known) && typeof known !== "string")) return refuseInexact(name);
  return `${known ?? ""}${piece}`;
};

/** Lists that grow. */
export const joinLists: Join = (known, piece, name) => {
  if (isAbsent(piece)) return known;
  if (!Array.isArray(piece) || (!isAbsent(known) && !Array.isArray(known))) return refuseInexact(name);
  return [...(Array.isArray(known) ? known : []), ...piece];
};

/** The last value that came. */
export const takeLast: Join = (known, piece) => (isAbsent(piece) ? known : piece);

/** A value that comes once. */
export const takeOnly: Join = (known, piece, name) => {
  if (isAbsent(piece)) return known;
  return isAbsent(known) || JSON.stringify(known) === JSON.stringify(piece) ? piece : refuseInexact(name);
};

/**
 * Adds a piece to an object.
 *
 * @param joins How each member grows.
 * @param other How all other members grow.
 */
export function joinMembers(
  target: Record<string, unknown>,
  piece: Body,
  { joins, other }: { joins: Readonly<Record<string, Join>>; other: Join },
): void {
  for (const name of Object.keys(piece)) {
    const join = Object.hasOwn(joins, name) ? (joins[name] ?? other) : other;
    const value = join(Object.hasOwn(target, name) ? target[name] : undefined, piece[name], name);
    // names come from outside: `__proto__` is a member like any other
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  }
}

/** An object whose own members grow. */
export function joinObjects(joins: Readonly<Record<string, Join>>, other: Join = takeOnly): Join {
  return (known, piece, name) => {
    if (isAbsent(piece)) return known;
    if (typeof piece !== "object" || Array.isArray(piece)) return refuseInexact(name);
    const joined = { ...(typeof known === "object" ? known : {}) } as Record<string, unknown>; // only made here
    joinMembers(joined, piece as Body, { joins, other }); // an object that is no list
    return joined;
  };
}

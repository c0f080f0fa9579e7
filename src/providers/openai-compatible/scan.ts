const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
const space = 0x20;

/** Numbers stay below 2^30: engines keep those in place. */
const mask = 0x3fffffff;

/**
 * A number for the bytes of the name that ends before `end`, read backwards to its quote (FNV-1a,
 * http://www.isthe.com/chongo/tech/comp/fnv/); different names have different ones.
 */
function numberOf(bytes: Uint8Array, end: number): number {
  let hash = 0x811c9dc5 & mask;
  for (let index = end - 1; index >= 0; index--) {
    const byte = bytes[index] ?? quote;
    if (byte === quote) break;
    hash = Math.imul(hash ^ byte, 0x01000193) & mask;
  }
  return hash;
}

/** Numbers of names, for `findMember`. */
export function namesOf(names: readonly string[]): ReadonlySet<number> {
  const encoder = new TextEncoder();
  return new Set(
    names.map((name) => {
      const bytes = encoder.encode(name);
      return numberOf(bytes, bytes.length);
    }),
  );
}

/**
 * Whether the objects of a stream's events have a member for whose name the test is true, at whichever depth. It is given the
 * number of the name, as `namesOf` has it. Nothing is decoded: a name is what stands between quotes before a colon, and quotes
 * inside texts are escaped. A text that begins with a colon may be taken for a name; a name that ends with a backslash is not
 * seen.
 */
export function findMember(bytes: Uint8Array, test: (name: number) => boolean): boolean {
  const { length } = bytes;
  for (let at = 1; at < length; at++) {
    if (bytes[at] !== colon) continue;
    let end = at - 1;
    while (bytes[end] === space) end--;
    if (bytes[end] !== quote || bytes[end - 1] === backslash) continue;
    if (test(numberOf(bytes, end))) return true;
  }
  return false;
}

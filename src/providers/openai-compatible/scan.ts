const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
const lineFeed = 0x0a;
const space = 0x20;

/** A number for the bytes of a name (FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/); different names have different ones. */
function numberOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ (bytes[index] ?? 0), 0x01000193);
  return hash;
}

/** Numbers of names, for `findMember`. */
export function namesOf(names: readonly string[]): ReadonlySet<number> {
  const encoder = new TextEncoder();
  return new Set(
    names.map((name) => {
      const bytes = encoder.encode(name);
      return numberOf(bytes, 0, bytes.length);
    }),
  );
}

/** Where the text ends that begins behind `start`; -1 where it does not. */
function endOfText(bytes: Uint8Array, start: number): number {
  let end = bytes.indexOf(quote, start);
  while (end >= 0) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return end;
    end = bytes.indexOf(quote, end + 1);
  }
  return -1;
}

/**
 * Whether the objects of a stream's events have a member for whose name the test is true, at whichever depth. It is given the
 * number of the name, as `namesOf` has it. Texts are stepped over, nothing is decoded.
 */
export function findMember(bytes: Uint8Array, test: (name: number) => boolean): boolean {
  let at = bytes.indexOf(quote);
  let line = -1;
  while (at >= 0) {
    const end = endOfText(bytes, at + 1);
    if (end < 0) return false;
    if (line < at) line = bytes.indexOf(lineFeed, at);
    if (line >= 0 && line < end) {
      // no text goes on behind its line: the quote stood in a comment
      at = bytes.indexOf(quote, line);
      continue;
    }
    let behind = end + 1;
    while (bytes[behind] === space) behind++;
    if (bytes[behind] === colon && test(numberOf(bytes, at + 1, end))) return true;
    at = bytes.indexOf(quote, end + 1);
  }
  return false;
}

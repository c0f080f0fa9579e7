/** The usual seed (https://datatracker.ietf.org/doc/html/draft-eastlake-fnv). */
const offsetBasis = 0x811c9dc5;

/**
 * A hash of 32 bits (FNV-1a, by UTF-16 code units) of a text. Many strings with the same hash can be made on purpose.
 *
 * @param start The first character that is hashed.
 * @param end The one behind the last.
 */
export function fnv1a(text: string, seed: number = offsetBasis, start = 0, end: number = text.length): number {
  let hash = seed;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

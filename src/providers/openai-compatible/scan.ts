const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
const space = 0x20;

/** Names with their opening quote, in a table by their last two bytes. */
type NameTable = readonly (readonly Uint8Array[])[];

const places = 256;

/** Names for `findMember`. */
export function namesOf(names: readonly string[]): NameTable {
  const encoder = new TextEncoder();
  const table: Uint8Array[][] = Array.from({ length: places }, () => []);
  for (const name of new Set(names)) {
    const bytes = encoder.encode(`"${name}`);
    const last = bytes.length - 1;
    table[placeOf(bytes[last] ?? 0, bytes[last - 1] ?? 0)]?.push(bytes);
  }
  return table;
}

function placeOf(last: number, before: number): number {
  return (last * 31 + before) & (places - 1);
}

/**
 * Whether the bytes before `end`, the position of a closing quote, are one of the names. All of its bytes are compared.
 */
function isListed(names: NameTable, bytes: Uint8Array, end: number): boolean {
  const found = names[placeOf(bytes[end - 1] ?? 0, bytes[end - 2] ?? 0)];
  if (found === undefined) return false;
  for (let at = 0; at < found.length; at++) {
    const name = found[at] as Uint8Array; // the index is in range
    const start = end - name.length;
    let index = name.length - 1;
    while (index >= 0 && name[index] === bytes[start + index]) index--;
    // after a backslash the quote is part of a longer name
    if (index < 0) return bytes[start - 1] !== backslash;
  }
  return false;
}

/**
 * Whether the JSON objects of a stream's events have a field with a listed name, or one with another name, at any
 * depth. Nothing is decoded: a name is a quoted string before a colon, and quotes inside strings are escaped. A string
 * that begins with a colon may be mistaken for a name; a name that ends with a backslash is not found.
 */
export function findMember(bytes: Uint8Array, names: NameTable, wanted: "listed" | "other"): boolean {
  const wantsListed = wanted === "listed";
  const { length } = bytes;
  for (let at = 1; at < length; at++) {
    if (bytes[at] !== colon) continue;
    let end = at - 1;
    while (bytes[end] === space) end--;
    if (bytes[end] !== quote || bytes[end - 1] === backslash) continue;
    if (isListed(names, bytes, end) === wantsListed) return true;
  }
  return false;
}

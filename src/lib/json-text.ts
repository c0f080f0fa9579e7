/** Where a reader of JSON text is, between two pieces of it. */
export interface JsonPlace {
  /** Inside a string. */
  readonly isInside: boolean;
  /** Beginning of an escape sequence that the next piece continues. */
  readonly escape: string;
}

/** Where JSON text begins. */
export const jsonStart: JsonPlace = { isInside: false, escape: "" };

/** One character of JSON text as it reads, and as it is written. */
interface JsonCharacter {
  /** Decoded; empty for the beginning of an escape sequence. */
  readonly text: string;
  readonly written: string;
  /** Part of the value of a string. */
  readonly isInside: boolean;
}

const shortEscapes: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Length of the escape sequence at an index; undefined where its end has not come. */
function lengthOfEscape(text: string, start: number): number | undefined {
  const kind = text[start + 1];
  if (kind === undefined) return undefined;
  const length = kind === "u" ? 6 : 2;
  return start + length <= text.length ? length : undefined;
}

function decodeEscape(written: string): string {
  const kind = written[1] ?? "";
  if (kind !== "u") return shortEscapes[kind] ?? kind;
  const code = Number.parseInt(written.slice(2), 16);
  return Number.isNaN(code) ? "\ufffd" : String.fromCharCode(code);
}

/** Reads a piece of JSON text character by character (RFC 8259, section 7). The pieces may be cut anywhere. */
export function readJsonText(piece: string, place: JsonPlace): { characters: JsonCharacter[]; place: JsonPlace } {
  const text = place.escape + piece;
  const known = place.escape.length;
  const characters: JsonCharacter[] = [];
  let isInside = place.isInside;
  for (let index = 0; index < text.length; ) {
    const one = text.charAt(index);
    const length = isInside && one === "\\" ? lengthOfEscape(text, index) : 1;
    if (length === undefined) {
      characters.push({ text: "", written: text.slice(Math.max(index, known)), isInside });
      return { characters, place: { isInside, escape: text.slice(index) } };
    }
    const isQuote = one === '"';
    characters.push({
      text: length === 1 ? one : decodeEscape(text.slice(index, index + length)),
      written: text.slice(Math.max(index, known), index + length),
      isInside: isInside && !isQuote,
    });
    if (isQuote) isInside = !isInside;
    index += length;
  }
  return { characters, place: { isInside, escape: "" } };
}

/** A piece of JSON text decoded, and where it ends: as `readJsonText`, without its characters where there are no escapes. */
export function decodeJsonText(piece: string, place: JsonPlace): { text: string; place: JsonPlace } {
  if (place.escape !== "" || piece.includes("\\")) {
    const read = readJsonText(piece, place);
    return { text: read.characters.map(({ text }) => text).join(""), place: read.place };
  }
  let { isInside } = place;
  for (let at = piece.indexOf('"'); at >= 0; at = piece.indexOf('"', at + 1)) isInside = !isInside;
  return { text: piece, place: isInside === place.isInside ? place : { isInside, escape: "" } };
}

import { endOfString } from "./json.ts";

/** Spans are at least so long: each is looked up by its digest. */
const leastSpan = 1_024;
/** Levels of the objects in the lists of the outermost object: messages, tools and parts of instructions. */
const itemDepth = 3;

const quote = 0x22;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isOneOf = (signs: string) => {
  const codes = new Set([...signs].map((sign) => sign.charCodeAt(0)));
  return (byte: number | undefined) => byte !== undefined && codes.has(byte);
};
const mayPrecedeString = isOneOf("{[,:");
const mayFollowString = isOneOf(",:]}");

/** Whether a string stands from `start` to `end`, its quotes, where JSON may have one. */
function standsAlone(bytes: Uint8Array, start: number, end: number): boolean {
  let before = start - 1;
  while (isSpace(bytes[before])) before--;
  let after = end + 1;
  while (isSpace(bytes[after])) after++;
  // a text that was cut may end in a string
  return mayPrecedeString(bytes[before]) && (after >= bytes.length || mayFollowString(bytes[after]));
}

/**
 * Cuts the text of a JSON object behind objects in its lists, such as messages and tools: a body that repeats an earlier one
 * consists of the same spans up to what was added. No string crosses an end, and no member of an object does.
 *
 * @returns Where the spans end, the last at the end of the text. Undefined for what is no JSON object, as far as that shows.
 */
export function spanEnds(bytes: Uint8Array): number[] | undefined {
  if (bytes[0] !== openBrace) return undefined;
  const ends: number[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < bytes.length; index++) {
    switch (bytes[index]) {
      case quote: {
        const end = endOfString(bytes, index + 1);
        if (!standsAlone(bytes, index, end)) return undefined;
        index = end;
        break;
      }
      case openBrace:
      case 0x5b: // [
        depth++;
        break;
      case closeBrace:
      case 0x5d: // ]
        if (depth-- !== itemDepth || bytes[index] !== closeBrace || index + 1 - start < leastSpan) break;
        start = index + 1;
        ends.push(start);
        break;
    }
  }
  if (start < bytes.length) ends.push(bytes.length);
  return ends;
}

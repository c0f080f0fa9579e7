/** Shorter text is searched as it is. */
const shortest = 16 * 1024;

const decoder = new TextDecoder();
const beyondAscii = /[^\0-\x7f]/;

/** Whether a character beyond ASCII is white space of patterns (https://tc39.es/ecma262/#prod-WhiteSpace). */
function isSpace(code: number): boolean {
  if (code < 0x2000) return code === 0xa0 || code === 0x1680;
  if (code <= 0x205f) return code <= 0x200a || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f;
  return code === 0x3000 || code === 0xfeff;
}

/**
 * A text of the same length in which patterns of ASCII match at the same places: characters beyond ASCII are spaces where
 * they are white space, and else a sign that no pattern names. Engines search text of one byte a character several times
 * as fast. Short text, and text in ASCII, is returned as it is.
 */
export function toAsciiShadow(text: string): string {
  if (text.length < shortest || !beyondAscii.test(text)) return text;
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    bytes[index] = code < 128 ? code : isSpace(code) ? 0x20 : 0x01;
  }
  return decoder.decode(bytes);
}

/** Shorter values may be ordinary words: masking them would only damage text. */
const shortestValue = 8;

/** Encodings of a value: plain, inside JSON, in JSON inside JSON, in a URL. */
function spellingsOf(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  return [value, inJson, JSON.stringify(inJson).slice(1, -1), encodeURIComponent(value.toWellFormed())];
}

/** Masks known values. */
export interface ValueMask {
  /** False where `mask` would change nothing. */
  mayStandIn(text: string): boolean;
  mask(text: string): string;
}

/** Finds given values in text, in any encoding. Values of less than 8 characters are ignored. */
export function createValueMask(values: readonly string[], show: (value: string) => string): ValueMask {
  const shown = new Map<string, string>();
  for (const value of values) {
    if (value.length < shortestValue) continue;
    for (const spelling of spellingsOf(value)) shown.set(spelling, show(value));
  }
  // one value may contain another
  const spellings = [...shown].sort(([one], [other]) => other.length - one.length);
  return {
    mayStandIn: (text) => spellings.some(([spelling]) => text.includes(spelling)),
    mask: (text) => spellings.reduce((result, [spelling, by]) => result.replaceAll(spelling, () => by), text),
  };
}

/** The credential in a header value, without its scheme. */
export function withoutScheme(value: string): string {
  return value.replace(/^(?:bearer|basic|token|key|digest|apikey)\s+/i, "");
}

/** Shortest value, without separators, that is taken for a random one; longer ones of any letters are. */
const randomLength = { mixed: 16, any: 40 };

/** Whether a value looks as if it were drawn at random, as keys and ids are: digits and letters, or cases, change often. */
export function looksRandom(value: string): boolean {
  const plain = value.replace(/[-_.~:=+/]/g, "");
  if (plain.length < randomLength.mixed || /[^0-9A-Za-z]/.test(plain)) return false;
  const digits = plain.match(/[0-9]+/g)?.length ?? 0;
  const cases = plain.match(/[a-z][A-Z]/g)?.length ?? 0;
  return digits >= 3 || cases >= 4 || plain.length >= randomLength.any;
}

/** The segments of an address's path that look random; none for other text. */
export function secretSegments(url: string): string[] {
  const [, path = ""] = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^?#]*)/is.exec(url) ?? [];
  return path.split("/").filter(looksRandom);
}

/** An address whose segments that look random are masked: the paths of webhooks and of hosted servers are credentials. */
export function maskPath(url: string): string {
  const [, origin = "", path = "", rest = ""] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)([^?#]*)(.*)$/is.exec(url) ?? [];
  if (origin === "") return url;
  const shown = path.split("/").map((segment) => (looksRandom(segment) ? "*****" : segment));
  return origin + shown.join("/") + rest;
}

/** An address without its possibly secret parts: user, query, fragment, and segments of the path that look random. */
export function maskAddress(url: string): string {
  return maskPath(url)
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1*****@")
    .replace(/[?#].*$/s, "?*****");
}

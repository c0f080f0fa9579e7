/** Shorter values are words of any text: masking them would hide what was said and nothing else. */
const shortestValue = 8;

/** Ways a value may be written: as it is, inside JSON, in JSON inside of JSON, in an address. */
function spellingsOf(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  return [value, inJson, JSON.stringify(inJson).slice(1, -1), encodeURIComponent(value.toWellFormed())];
}

/** Masks values that are known. */
export interface ValueMask {
  /** False where `mask` would change nothing. */
  mayStandIn(text: string): boolean;
  mask(text: string): string;
}

/** Finds given values in texts, however they are written there. Values of less than 8 characters stay. */
export function createValueMask(values: readonly string[], show: (value: string) => string): ValueMask {
  const shown = new Map<string, string>();
  for (const value of values) {
    if (value.length < shortestValue) continue;
    for (const spelling of spellingsOf(value)) shown.set(spelling, show(value));
  }
  // one may be part of another
  const spellings = [...shown].sort(([one], [other]) => other.length - one.length);
  return {
    mayStandIn: (text) => spellings.some(([spelling]) => text.includes(spelling)),
    mask: (text) => spellings.reduce((result, [spelling, by]) => result.replaceAll(spelling, () => by), text),
  };
}

/** The credential in the value of a header, without the name of its scheme. */
export function withoutScheme(value: string): string {
  return value.replace(/^(?:bearer|basic|token|key|digest|apikey)\s+/i, "");
}

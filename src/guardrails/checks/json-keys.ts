import * as v from "valibot";
import type { Steps } from "../../lib/steps.ts";
import type { JsonPieces } from "../json-pieces.ts";
import { WordList } from "../lists.ts";
import { afterOnly, type Check, CheckError } from "../types.ts";

const JsonKeys = v.object({
  keys: WordList,
  operator: v.optional(v.picklist(["any", "all", "none"]), "any"),
});

/** The keys of the JSON piece that has most of those looked for. */
function* findKeys(pieces: JsonPieces["pieces"], keys: readonly string[]): Steps<readonly string[]> {
  let most: readonly string[] = [];
  for (const piece of pieces) {
    const found = Array.isArray(piece) ? [] : keys.filter((key) => Object.hasOwn(piece, key));
    if (found.length > most.length) most = found;
    yield 4 * keys.length;
  }
  return most;
}

/** Keys in the JSON pieces of a response: one piece has any or all of them, or no piece has one. */
export const jsonKeys: Check<v.InferOutput<typeof JsonKeys>> = {
  id: "default.jsonKeys",
  phases: afterOnly,
  parameters: JsonKeys,
  async run({ readPieces, mustSeeAll, work }, { keys, operator }) {
    const { pieces, isCut } = await readPieces();
    if (pieces.length === 0 && !isCut) return { pass: false, data: { explanation: "The text has no JSON", operator } };
    const foundKeys = await work.run(findKeys(pieces, keys));
    const found = new Set(foundKeys);
    const missingKeys = keys.filter((key) => !found.has(key));
    const pass = { any: foundKeys.length > 0, all: missingKeys.length === 0, none: foundKeys.length === 0 }[operator];
    // finding a key decides "any" and "none", finding all decides "all"; otherwise a later piece might
    const isSettled = operator === "all" ? pass : foundKeys.length > 0;
    if (isCut && !isSettled && mustSeeAll) throw new CheckError("Cannot check: the text has too many pieces of JSON");
    const explanation = `A piece of JSON has ${foundKeys.length} of ${keys.length} keys, expected ${operator}`;
    return { pass, data: { explanation, operator, foundKeys, missingKeys, ...(isCut && { isCut }) } };
  },
};

import * as v from "valibot";
import { WordList } from "../lists.ts";
import { afterOnly, type Check, CheckError } from "../types.ts";

const JsonKeys = v.object({
  keys: WordList,
  operator: v.optional(v.picklist(["any", "all", "none"]), "any"),
});

/** Members the JSON pieces of an answer have: a piece has any or all of them, or no piece has one. */
export const jsonKeys: Check<v.InferOutput<typeof JsonKeys>> = {
  id: "default.jsonKeys",
  phases: afterOnly,
  parameters: JsonKeys,
  async run({ readPieces, mustSeeAll, work }, { keys, operator }) {
    const { pieces, isCut } = await readPieces();
    if (pieces.length === 0 && !isCut) return { pass: false, data: { explanation: "The text has no JSON", operator } };
    const foundIn = pieces.map((piece) =>
      work.spend(() => keys.filter((key) => !Array.isArray(piece) && Object.hasOwn(piece, key))),
    );
    const foundKeys = foundIn.reduce((most, some) => (some.length > most.length ? some : most), []);
    const found = new Set(foundKeys);
    const missingKeys = keys.filter((key) => !found.has(key));
    const pass = { any: foundKeys.length > 0, all: missingKeys.length === 0, none: foundKeys.length === 0 }[operator];
    // a key found settles "any" and "none", all of them settle "all"; otherwise a later piece might
    const isSettled = operator === "all" ? pass : foundKeys.length > 0;
    if (isCut && !isSettled && mustSeeAll) throw new CheckError("Cannot check: the text has too many pieces of JSON");
    const explanation = `A piece of JSON has ${foundKeys.length} of ${keys.length} keys, wanted is ${operator}`;
    return { pass, data: { explanation, operator, foundKeys, missingKeys, ...(isCut && { isCut }) } };
  },
};

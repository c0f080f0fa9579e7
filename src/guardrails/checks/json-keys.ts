import * as v from "valibot";
import { readJsonPieces } from "../json-pieces.ts";
import { afterOnly, type Check, CheckError } from "../types.ts";

const JsonKeys = v.object({
  keys: v.pipe(v.array(v.string()), v.minLength(1)),
  operator: v.optional(v.picklist(["any", "all", "none"]), "any"),
});

/** Members the JSON pieces of an answer have: a piece has any or all of them, or no piece has one. */
export const jsonKeys: Check<v.InferOutput<typeof JsonKeys>> = {
  id: "default.jsonKeys",
  phases: afterOnly,
  parameters: JsonKeys,
  run({ text, mustSeeAll }, { keys, operator }) {
    const { pieces, isCut } = readJsonPieces(text);
    if (pieces.length === 0 && !isCut) return { pass: false, data: { explanation: "The text has no JSON", operator } };
    const foundIn = pieces.map((piece) => keys.filter((key) => !Array.isArray(piece) && Object.hasOwn(piece, key)));
    const foundKeys = foundIn.reduce((most, found) => (found.length > most.length ? found : most), []);
    const missingKeys = keys.filter((key) => !foundKeys.includes(key));
    const pass = { any: foundKeys.length > 0, all: missingKeys.length === 0, none: foundKeys.length === 0 }[operator];
    // a key found settles "any" and "none", all of them settle "all"; otherwise a later piece might
    const isSettled = operator === "all" ? pass : foundKeys.length > 0;
    if (isCut && !isSettled && mustSeeAll) throw new CheckError("Cannot check: the text has too many pieces of JSON");
    const explanation = `A piece of JSON has ${foundKeys.length} of ${keys.length} keys, wanted is ${operator}`;
    return { pass, data: { explanation, operator, foundKeys, missingKeys, ...(isCut && { isCut }) } };
  },
};

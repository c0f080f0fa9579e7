import { en } from "./en.ts";
import { translate, withoutPrototypes } from "./own-words.ts";
import { translation } from "./translation.ts";

/** The words of the language in use. */
export const text = withoutPrototypes(en);

if (translation !== undefined) translate(text, translation);

import { en } from "./en.ts";
import { withoutPrototypes } from "./own-words.ts";

/** The words of the language in use. */
export const text = withoutPrototypes(en);

import { en } from "./en.ts";

/** The words of the language in use. */
export const text = en;

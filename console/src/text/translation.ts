import type { de } from "./de.ts";
import { text } from "./frame.ts";
import { type Language, language } from "./locale.ts";
import { translate } from "./own-words.ts";

/** Where the words of other languages are. English is part of the scripts. */
const loads: Readonly<Record<Exclude<Language, "en">, () => Promise<typeof de>>> = {
  de: async () => (await import("./de.ts")).de,
};

/** The words of the language in use, once they are loaded; undefined: English. */
export let translation: typeof de | undefined;

/**
 * Loads the words of the language in use, before anything is shown and before any other page is loaded. Modules of the first
 * page are there before it: they read words when they show them, and hold none in tables.
 */
export async function loadTranslation(): Promise<void> {
  if (language === "en") return;
  translation = await loads[language]();
  translate(text, translation);
}

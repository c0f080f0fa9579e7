/** The languages of the console, by what they call themselves. `translation.ts` loads their words. */
export const languageNames = { en: "English", de: "Deutsch" } as const;

export type Language = keyof typeof languageNames;

const isLanguage = (name: string | null | undefined): name is Language =>
  name !== null && name !== undefined && Object.hasOwn(languageNames, name);

export const languages: readonly Language[] = Object.keys(languageNames).filter(isLanguage);

const storageKey = "console-language";

/** What the browser asks for, most wanted first. Outside a browser: nothing. */
const wanted: readonly string[] = typeof document === "undefined" ? [] : navigator.languages;

const languageOf = (tag: string): string => tag.split("-")[0]?.toLowerCase() ?? "";

function chooseLanguage(): Language {
  const stored = typeof document === "undefined" ? null : localStorage.getItem(storageKey);
  return isLanguage(stored) ? stored : (wanted.map(languageOf).find(isLanguage) ?? "en");
}

/** The language of this page: the one that was chosen in this browser, else the first of the browser's that there is. */
export const language: Language = chooseLanguage();

/** Chooses a language for this browser. The page is loaded again, as words stand in tables that are made once. */
export function chooseAnother(name: Language): void {
  localStorage.setItem(storageKey, name);
  location.reload();
}

/**
 * The locale of numbers, dates and plural forms: that of the viewer where it is of the language of the words. English words
 * with a German decimal comma would mislead.
 */
export const locale = (): string => wanted.find((tag) => languageOf(tag) === language) ?? language;

import { message } from "./message.ts";

/**
 * The same words in objects without a prototype. Names of others are looked up in them: `constructor` is none of the words.
 */
export function withoutPrototypes<T>(value: T): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, withoutPrototypes(member)] as const);
  return Object.assign(Object.create(null), Object.fromEntries(members));
}

/** Puts words of another language in the place of English ones. A word without a translation stays English. */
export function translate(words: object, translation: object): void {
  const translations = new Map<string, unknown>(Object.entries(translation));
  for (const [name, word] of Object.entries(words)) {
    const other = translations.get(name);
    if (typeof other === "object" && other !== null) translate(word, other);
    else if (typeof other === "string")
      Object.assign(words, { [name]: typeof word === "function" ? message(other) : other });
  }
}

// Every language of the console has the words of English: the same names, values and plural forms.

import assert from "node:assert/strict";
import { test } from "node:test";
import { IntlMessageFormat } from "../../console/node_modules/intl-messageformat/index.js";
import { de } from "../../console/src/text/de.ts";
import { en } from "../../console/src/text/en.ts";
import { languageNames } from "../../console/src/text/locale.ts";
import { translate, withoutPrototypes } from "../../console/src/text/own-words.ts";

/** The words of each language as they are loaded. */
const loaded: Readonly<Record<string, object>> = { en, de };
/** The words of each language as pages use them. */
const tables: Readonly<Record<string, object>> = { en, de: withoutPrototypes(en) };
translate(tables.de ?? {}, de);

type Word = string | ((values: object) => string);

/** The words of a table by their paths. */
function wordsIn(table: object, above = ""): readonly (readonly [string, Word])[] {
  return Object.entries(table).flatMap(([name, word]) =>
    typeof word === "object" && word !== null ? wordsIn(word, `${above}${name}.`) : [[above + name, word] as const],
  );
}

/** The pattern of a message; undefined for a function that puts a sentence together. */
const patternOf = (word: Word): string | undefined =>
  typeof word === "function" && "pattern" in word ? String(word.pattern) : undefined;

interface Part {
  /** Of FormatJS: 0 is text, 7 is `#`, all others have the name of a value. */
  readonly type: number;
  readonly value: string;
  readonly pluralType?: string;
  readonly options?: Readonly<Record<string, { readonly value: readonly Part[] }>>;
}

/** The parts of a pattern, also those inside of others. */
function partsOf(parts: readonly Part[]): readonly Part[] {
  return parts.flatMap((part) => [
    part,
    ...Object.values(part.options ?? {}).flatMap((option) => partsOf(option.value)),
  ]);
}

const readPattern = (pattern: string): readonly Part[] =>
  partsOf(new IntlMessageFormat(pattern, "en", undefined, { ignoreTag: true }).getAst() as readonly Part[]);

/** Names that a pattern takes from its values, each once. */
const valuesOf = (pattern: string): readonly string[] => [
  ...new Set(readPattern(pattern).flatMap(({ type, value }) => (type === 0 || type === 7 ? [] : [value]))),
];

/** Plural forms of a language that a pattern lacks where words depend on them. */
function missingForms(pattern: string, language: string): readonly string[] {
  const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
  return readPattern(pattern).flatMap(({ pluralType, options = {} }) => {
    const hasWords = options.other?.value.some(({ type, value }) => type === 0 && /\p{L}/u.test(value)) === true;
    return pluralType !== undefined && hasWords ? pluralCategories.filter((form) => !(form in options)) : [];
  });
}

const english = new Map(wordsIn(tables.en ?? {}));

test("every language is compared", () => {
  assert.deepEqual(Object.keys(loaded).toSorted(), Object.keys(languageNames).toSorted());
});

for (const [language, table] of Object.entries(tables)) {
  const words = new Map(wordsIn(table));
  const given = new Map(wordsIn(loaded[language] ?? {}));

  test(`${language} has every word of English and no other, none of them empty`, () => {
    assert.deepEqual(
      {
        missing: [...english.keys()].filter((path) => !given.has(path)),
        superfluous: [...given.keys()].filter((path) => !english.has(path)),
      },
      { missing: [], superfluous: [] },
    );
    assert.deepEqual(
      [...words]
        .filter(([path, word]) => typeof word !== typeof english.get(path) || word === "")
        .map(([path]) => path),
      [],
    );
  });

  test(`messages of ${language} take the values of those in English`, () => {
    const wrong = [...words].flatMap(([path, word]) => {
      const [own, original] = [patternOf(word), patternOf(english.get(path) ?? "")];
      if (own === undefined || original === undefined) return [];
      const [has, wants] = [valuesOf(own).toSorted(), valuesOf(original).toSorted()];
      return has.join() === wants.join() ? [] : [`${path}: ${has} instead of ${wants}`];
    });
    assert.deepEqual(wrong, []);
  });

  test(`messages of ${language} can be read, and have the plural forms of the language`, () => {
    const wrong = [...words].flatMap(([path, word]) => {
      const pattern = patternOf(word);
      if (typeof word !== "function" || pattern === undefined) return [];
      const values = Object.fromEntries(valuesOf(pattern).map((name) => [name, 2]));
      assert.ok(word(values).length > 0, path);
      return missingForms(pattern, language).map((form) => `${path}: ${form}`);
    });
    assert.deepEqual(wrong, []);
  });
}

/** The words of another language: the same names, and the pattern of a message where English has a function. */
export type WordsOf<English> = English extends string | ((values: never) => string)
  ? string
  : { readonly [Name in keyof English]: WordsOf<English[Name]> };

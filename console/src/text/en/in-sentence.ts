/** A label as part of an English sentence: `Slug` as `slug`. Words such as `API key` stay as they are. */
export const inSentence = (label: string): string => label.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());

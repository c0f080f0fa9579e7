/** A reference to a saved prompt or partial. */
interface PromptReference {
  /** Its id or slug. */
  name: string;
  /** `default`, `latest`, a number or a label. */
  version: string;
}

/** Reads `slug`, `slug@3`, `slug@latest` or `slug@label`. */
export function readPromptReference(text: string): PromptReference {
  const end = text.indexOf("@");
  return end < 0 ? { name: text, version: "default" } : { name: text.slice(0, end), version: text.slice(end + 1) };
}

/** The number of a numbered version; undefined for other versions. */
export function readVersionNumber(version: string): number | undefined {
  return /^[1-9][0-9]{0,8}$/.test(version) ? Number(version) : undefined;
}

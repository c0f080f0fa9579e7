/** Compares by UTF-16 code units, as JSON Canonicalization does (RFC 8785, section 3.2.3). */
function byName(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/**
 * A JSON value as text. Equal values have the same text, whatever the order of their members. Undefined members are
 * left out.
 */
export function toCanonical(value: unknown): string {
  if (typeof value === "string" || typeof value === "number") return JSON.stringify(value);
  if (value === null || value === undefined) return "null";
  if (typeof value !== "object") return String(value);
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === "" ? "" : ","}${toCanonical(item)}`;
    return `[${text}]`;
  }
  const members = value as Readonly<Record<string, unknown>>; // an object that is no list
  for (const name of Object.keys(members).sort(byName)) {
    const member = members[name];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${toCanonical(member)}`;
  }
  return `{${text}}`;
}

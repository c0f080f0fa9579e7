/**
 * The same words in objects without a prototype. Names of others are looked up in them: `constructor` is none of the words.
 */
export function withoutPrototypes<T>(value: T): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, withoutPrototypes(member)] as const);
  return Object.assign(Object.create(null), Object.fromEntries(members));
}

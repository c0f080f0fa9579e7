/** The lesser of two strings in the order of their code units. */
export function minText(one: string, other: string): string {
  if (one < other) return one;
  return other;
}

/** The greater of two strings in the order of their code units. */
export function maxText(one: string, other: string): string {
  if (one > other) return one;
  return other;
}

/** How many of something are allowed. */
interface Range {
  readonly min: number;
  readonly max: number;
  /** The count has to be outside the range. */
  readonly not: boolean;
}

/** Whether a count satisfies a range. */
export function isInRange(count: number, { min, max, not }: Range): boolean {
  return (count >= min && count <= max) !== not;
}

/** A sentence with the count and the expected range. */
export function explainRange(count: number, what: string, { min, max, not }: Range): string {
  return `The text has ${count} ${what}, expected ${not ? "anything but " : ""}${min} to ${max}`;
}

/** How many of something there may be. */
interface Range {
  readonly min: number;
  readonly max: number;
  /** The count has to be outside. */
  readonly not: boolean;
}

/** Whether a count is where a range wants it. */
export function isInRange(count: number, { min, max, not }: Range): boolean {
  return (count >= min && count <= max) !== not;
}

/** Says in a sentence what was counted and wanted. */
export function explainRange(count: number, what: string, { min, max, not }: Range): string {
  return `The text has ${count} ${what}, wanted is ${not ? "anything but " : ""}${min} to ${max}`;
}

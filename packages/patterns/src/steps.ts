/**
 * Interruptible work: it yields the number of steps since the last yield, and its runner decides whether to continue now,
 * later or not at all. A step is one instruction of a pattern at one character.
 */
export type Steps<Result> = Generator<number, Result, void>;

/** Steps between two yields, roughly: a millisecond at most. */
export const stepsPerPiece = 25_000;

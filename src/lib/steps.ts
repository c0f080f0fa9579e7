/**
 * Interruptible work: it yields the number of steps since the last yield, and its runner decides whether to continue now,
 * later or not at all. A step is roughly the work for one character.
 */
export type Steps<Result> = Generator<number, Result, void>;

/** Steps between two yields, roughly: a millisecond at most. */
export const stepsPerPiece = 25_000;

/** Work exceeded its limit of steps. */
class StepsError extends Error {
  override readonly name = "StepsError";
}

/**
 * Runs all of the work synchronously.
 *
 * @throws {StepsError} If it takes more steps than `most`.
 */
export function runNow<Result>(work: Steps<Result>, most: number): Result {
  let spent = 0;
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    spent += value;
    if (spent > most) throw new StepsError(`Cannot finish: it takes more than ${most} steps`);
  }
}

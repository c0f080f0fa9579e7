/**
 * Work in small pieces: it yields how many steps it took since it yielded last, and whoever runs it decides whether it goes on
 * at once, later or not at all. A step is about as much as looking at one character.
 */
export type Steps<Result> = Generator<number, Result, void>;

/** Steps between two yields, about: a millisecond at most. */
export const stepsPerPiece = 25_000;

/** Work took more steps than it may. */
export class StepsError extends Error {
  override readonly name = "StepsError";
}

/**
 * Does all of the work at once.
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

import * as v from "valibot";

/** An integer within bounds. */
export const wholeFrom = (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  v.pipe(
    v.number("must be a number"),
    v.integer("must be a whole number"),
    v.minValue(minimum, `must be at least ${minimum}`),
    v.maxValue(maximum, `must be at most ${maximum}`),
  );

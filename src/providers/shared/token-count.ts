import * as v from "valibot";

/** A count of tokens, also where a host writes it as text; undefined for anything else, which must not fail a response. */
function toTokenCount(value: unknown): number | undefined {
  const count = typeof value === "string" && /^[0-9]{1,15}$/.test(value) ? Number(value) : value;
  return typeof count === "number" ? count : undefined;
}

/** A count of tokens in a response; undefined where it is not a number. */
export const tokenCount = v.nullish(v.pipe(v.unknown(), v.transform(toTokenCount)));

import { Budget } from "../../lib/budget.ts";

/** A text counts once for each string it is inside, at most so many. */
const maxLayers = 4;
/** Values of JSON inside strings, for one report: the bound of the body does not see them. */
const maxValues = 1_000_000;
/** Levels of nesting of JSON inside strings. */
const maxDepth = 256;
/** Longer text that does not begin like JSON is not parsed. */
const shortText = 64;

/** The budget of the strings of one report that may be JSON. @param bodyBytes Largest size of the report. */
export function createUnpackBudget(bodyBytes: number): Budget {
  return new Budget({
    source: "caller",
    what: "the JSON in strings of the report",
    bytes: maxLayers * bodyBytes,
    values: maxValues,
    keys: maxValues,
    depth: maxDepth,
  });
}

/**
 * A string that is JSON counts as what it says; any other value is returned as it is.
 *
 * @throws {ExcessError}
 */
export function unpackText(value: unknown, budget: Budget): unknown {
  if (typeof value !== "string" || !(/^\s*[[{"]/.test(value) || value.length < shortText)) return value;
  try {
    return budget.json(value) ?? value;
  } catch (error) {
    if (error instanceof SyntaxError) return value;
    throw error;
  }
}

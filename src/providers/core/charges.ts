import { finiteNumber, isObject } from "../../lib/json.ts";

/** A part of what a response cost, as its provider reports it: a number of US dollars in the usage. */
interface ChargePart {
  /** Where it stands in the usage: names of members, from the outside in. */
  readonly path: readonly string[];
  /** A member of the usage that is true where the part belongs to the cost. Default: it always does. */
  readonly where?: string;
}

/** Where a provider reports what a response cost. The parts add up. */
export type ChargeRules = readonly ChargePart[];

/** US dollars that one response can cost, at most. A larger number is an error. */
const mostDollars = 10_000;

function dollarsAt(usage: object, path: readonly string[]): number | undefined {
  let value: unknown = usage;
  for (const name of path) value = isObject(value) ? value[name] : undefined;
  const dollars = finiteNumber(value);
  return dollars !== undefined && dollars >= 0 && dollars <= mostDollars ? dollars : undefined;
}

/**
 * US dollars of each part of a reported cost.
 *
 * @param usage The usage of a response, as the provider sent it.
 * @returns Undefined where a part is missing, or is no amount of money.
 */
export function readCharge(rules: ChargeRules | undefined, usage: unknown): number[] | undefined {
  if (!rules || !isObject(usage)) return undefined;
  const parts: number[] = [];
  for (const { path, where } of rules) {
    if (where !== undefined && usage[where] !== true) continue;
    const dollars = dollarsAt(usage, path);
    if (dollars === undefined) return undefined;
    parts.push(dollars);
  }
  return parts;
}

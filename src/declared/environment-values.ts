import { isObject } from "../lib/json.ts";

/** Stands for the value of a variable that is not set. */
export class UnsetVariable {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** The name in `{ $env: NAME }`; undefined for any other value. */
function variableOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const { $env: name, ...others } = value;
  return typeof name === "string" && Object.keys(others).length === 0 && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
    ? name
    : undefined;
}

/** Values of variables by the variable, and what a value with them became. */
interface Filled {
  readonly value: unknown;
  /** Names of variables by their values, so that no output shows a value. */
  readonly variables: ReadonlyMap<string, string>;
}

/** A value with the environment's values in place of `{ $env: NAME }`. */
export function fillVariables(value: unknown, environment: Readonly<Record<string, string | undefined>>): Filled {
  const variables = new Map<string, string>();
  const fill = (one: unknown): unknown => {
    const name = variableOf(one);
    if (name !== undefined) {
      const found = environment[name];
      if (found === undefined || found === "") return new UnsetVariable(name);
      variables.set(found, name);
      return found;
    }
    if (Array.isArray(one)) return one.map(fill);
    if (!isObject(one)) return one;
    return Object.fromEntries(Object.entries(one).map(([member, inner]) => [member, fill(inner)]));
  };
  return { value: fill(value), variables };
}

/** Names of the variables in a value that are not set. */
export function unsetIn(value: unknown): string[] {
  if (value instanceof UnsetVariable) return [value.name];
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.values(value).flatMap(unsetIn);
}

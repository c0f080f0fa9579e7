import { boundsOf, type IntegerName } from "./tables/variables.ts";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable's value; empty counts as unset. */
export function text(environment: Environment, name: string): string | undefined {
  const value = environment[name]?.trim();
  return value === "" ? undefined : value;
}

/** A whole number within the bounds of its variable. */
export function integer(environment: Environment, name: IntegerName): number | undefined {
  const value = text(environment, name);
  if (value === undefined) return undefined;
  const { least, most } = boundsOf(name);
  const number = /^[0-9]{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new TypeError(`Cannot use ${name}: it must be a whole number from ${least} to ${most}`);
}

/** The items of a comma-separated list. */
export function list(environment: Environment, name: string): string[] {
  return (text(environment, name) ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** True or false; false by default. */
export function flag(environment: Environment, name: string): boolean {
  const value = text(environment, name)?.toLowerCase();
  if (value === undefined || ["false", "off", "0"].includes(value)) return false;
  if (["true", "on", "1"].includes(value)) return true;
  throw new TypeError(`Cannot use ${name}: it must be true or false`);
}

/** A flag that defaults to true. */
export function flagOn(environment: Environment, name: string): boolean {
  return text(environment, name) === undefined || flag(environment, name);
}

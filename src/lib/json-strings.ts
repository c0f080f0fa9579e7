import { isObject } from "./json.ts";

/** Returns a replacement for a string, or the same string. */
export type Replace = (text: string) => string;

/** Deepest nesting that is walked: twice that of bodies, for JSON inside strings. */
export const maxWalkDepth = 128;

type ChangeItem = (item: unknown, index: number) => unknown;

/** A list with its items changed, or the same list. Other values stay as they are. */
export function mapItems(value: readonly unknown[], change: ChangeItem): readonly unknown[];
export function mapItems(value: unknown, change: ChangeItem): unknown;
export function mapItems(value: unknown, change: ChangeItem): unknown {
  if (!Array.isArray(value)) return value;
  let changed: unknown[] | undefined;
  for (let index = 0; index < value.length; index++) {
    const after = change(value[index], index);
    if (after === value[index]) continue;
    changed ??= [...value];
    changed[index] = after;
  }
  return changed ?? value;
}

/** Names and values of members, in their order. */
export type Members = [name: string, member: unknown][];

/** The members of an object before one. */
export function membersBefore(name: string, value: Readonly<Record<string, unknown>>): Members {
  const entries = Object.entries(value);
  return entries.slice(
    0,
    entries.findIndex(([one]) => one === name),
  );
}

/** An object with its members changed, or the same object. */
export function mapMembers(
  value: Readonly<Record<string, unknown>>,
  change: (member: unknown, name: string) => unknown,
): Readonly<Record<string, unknown>> {
  let members: Members | undefined;
  for (const name in value) {
    const member = value[name];
    const after = change(member, name);
    if (after !== member) members ??= membersBefore(name, value);
    members?.push([name, after]);
  }
  return members ? Object.fromEntries(members) : value;
}

/**
 * A JSON value with its strings replaced, or the same value. Names of members stay.
 *
 * @param left Members that stay if they are strings. Lists and objects of these names are walked.
 */
export function mapStrings(value: unknown, replace: Replace, left?: ReadonlySet<string>): unknown {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return mapItems(value, (item) => mapStrings(item, replace, left));
  if (!isObject(value)) return value;
  return mapMembers(value, (member, name) =>
    typeof member === "string" && left?.has(name) ? member : mapStrings(member, replace, left),
  );
}

/** What a walk over a JSON value meets. */
interface JsonVisitor {
  string?(text: string): void;
  number?(number: number): void;
  /** A name of a member. */
  name?(name: string): void;
}

/** Visits the strings of a JSON value, the numbers and the names of members; what is nested too deep is left out. */
export function visitJson(value: unknown, visitor: JsonVisitor, depth = 0): void {
  if (typeof value === "string") visitor.string?.(value);
  else if (typeof value === "number") visitor.number?.(value);
  else if (depth === maxWalkDepth) return;
  else if (Array.isArray(value)) for (const item of value) visitJson(item, visitor, depth + 1);
  else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      visitor.name?.(name);
      visitJson(value[name], visitor, depth + 1);
    }
  }
}

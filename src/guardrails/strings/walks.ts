import { isObject } from "../../lib/json.ts";
import { mapItems, mapStrings, type Replace } from "../../lib/json-strings.ts";
import type { Body } from "../types.ts";

/** Replaces the strings of a value; returns the same value if nothing changed. */
export type Walk = (value: unknown, replace: Replace) => unknown;

/** Walks for members of an object, by name, in the order in which their strings are read. */
export type MemberWalks = Readonly<Record<string, Walk>>;

/** A value that is a string. */
export const text: Walk = (value, replace) => (typeof value === "string" ? replace(value) : value);

/** Every string of a JSON value. */
export const everyString: Walk = (value, replace) => mapStrings(value, replace);

/** Every string of a JSON value but those of the named members. */
export const everyStringBut =
  (left: ReadonlySet<string>): Walk =>
  (value, replace) =>
    mapStrings(value, replace, left);

/** Nothing. */
export const noString: Walk = (value) => value;

/** The items of a list. */
export const items =
  (walk: Walk): Walk =>
  (value, replace) =>
    mapItems(value, (item) => walk(item, replace));

/** The items of a list; a single object counts as a list of one. */
export const itemsOrOne =
  (walk: Walk): Walk =>
  (value, replace) =>
    isObject(value) ? walk(value, replace) : mapItems(value, (item) => walk(item, replace));

/** An object with some members walked, or the same object. */
export function walkMembers(value: Body, walks: readonly (readonly [string, Walk])[], replace: Replace): Body {
  let changed = value;
  for (const [name, walk] of walks) {
    const before = changed[name];
    if (before === undefined) continue;
    const after = walk(before, replace);
    if (after !== before) changed = { ...changed, [name]: after };
  }
  return changed;
}

/** Some members of an object. */
export function members(walks: MemberWalks): Walk {
  const entries = Object.entries(walks);
  return (value, replace) => (isObject(value) ? walkMembers(value, entries, replace) : value);
}

import { isObject } from "../lib/json.ts";
import type { Body, Replace } from "./types.ts";

/** An object with one field changed, or the same object. */
export function withMember<Value extends Body>(
  value: Value,
  name: string,
  change: (member: unknown) => unknown,
): Value {
  const before = value[name];
  if (before === undefined) return value;
  const after = change(before);
  return after === before ? value : { ...value, [name]: after };
}

/** A list with its items changed, or the same list. */
export function mapItems(value: unknown, change: (item: unknown, index: number) => unknown): unknown {
  if (!Array.isArray(value)) return value;
  const changed = value.map(change);
  return changed.some((item, index) => item !== value[index]) ? changed : value;
}

/** An object with its members changed, or the same object. */
export function mapMembers(value: Body, change: (member: unknown, name: string) => unknown): Body {
  let isChanged = false;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => {
    const after = change(member, name);
    isChanged ||= after !== member;
    return [name, after];
  });
  return isChanged ? Object.fromEntries(members) : value;
}

/** Replaces a value that is a string. */
export const onText =
  (replace: Replace) =>
  (value: unknown): unknown =>
    typeof value === "string" ? replace(value) : value;

/** Every string of a JSON value. */
export function walkValues(value: unknown, replace: Replace): unknown {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return mapItems(value, (item) => walkValues(item, replace));
  if (!isObject(value)) return value;
  return mapMembers(value, (inner) => walkValues(inner, replace));
}

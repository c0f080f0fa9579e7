import { isObject } from "../lib/json.ts";
import type { Body, Replace } from "./types.ts";

/** An object with one field changed, or the same object. */
export function withMember<Value extends Body>(
  value: Value,
  name: string,
  change: (member: unknown) => unknown,
): Value {
  const before = value[name];
  const after = change(before);
  return after === before ? value : { ...value, [name]: after };
}

/** A list with its items changed, or the same list. */
export function mapItems(value: unknown, change: (item: unknown, index: number) => unknown): unknown {
  if (!Array.isArray(value)) return value;
  const changed = value.map(change);
  return changed.some((item, index) => item !== value[index]) ? changed : value;
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
  let changed = value;
  for (const name of Object.keys(value)) changed = withMember(changed, name, (inner) => walkValues(inner, replace));
  return changed;
}

import * as v from "valibot";
import { isObject } from "../lib/json.ts";
import { Time } from "../schemas/control.ts";
import type { Fields } from "./document.ts";
import { UnsetVariable } from "./environment-values.ts";

/** The members of an object with these names; those that are absent are null. */
export function pick(value: unknown, names: readonly string[]): Fields {
  const members = isObject(value) ? value : {};
  return Object.fromEntries(names.map((name) => [name, members[name] ?? null]));
}

/** A budget as it is compared: what a file can say of it. Null without one. */
export function toBudget(value: unknown): Fields | null {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(one)) return null;
  const { type = "cost" } = one;
  return { type, ...pick(one, ["credit_limit", "alert_threshold", "periodic_reset", "periodic_reset_days"]) };
}

/** A budget as every body takes it. */
export const toBudgetBody = (budget: unknown): readonly unknown[] | null => (budget === null ? null : [budget]);

/** Rate limits as they are compared: null without any. */
export function toRateLimits(value: unknown): readonly Fields[] | null {
  const list: readonly unknown[] = Array.isArray(value) ? value : isObject(value) ? [value] : [];
  return list.length === 0 ? null : list.map((one) => withoutNulls(pick(one, ["type", "unit", "value", "queue"])));
}

/** A time in the form of responses. */
export function toTime(value: unknown): string | null {
  const read = v.safeParse(Time, value);
  return read.success ? new Date(read.output).toISOString() : null;
}

/** A flag in the form of JSON. */
export const toFlag = (value: unknown): boolean => value === true || value === 1;

/** An object without the members that are null or undefined. */
export function withoutNulls(value: unknown): Record<string, unknown> {
  const members = isObject(value) ? value : {};
  return Object.fromEntries(Object.entries(members).filter(([, one]) => one !== null && one !== undefined));
}

/** Null in place of an object without members. */
export const orNull = (value: Record<string, unknown>): Record<string, unknown> | null =>
  Object.keys(value).length === 0 ? null : value;

/** The names of records by their ids; others stay. */
export function namesOf(ids: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof ids === "string") return names.get(ids) ?? ids;
  return Array.isArray(ids) ? ids.map((id) => namesOf(id, names)) : ids;
}

/** Settings as responses show them, each secret under its own name. */
export function unmasked(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name.replace(/^masked_/, ""), unmasked(one)]));
}

/** Settings as they are compared: names of headers in lower case, without members that are null. */
export function toSettings(value: unknown): Record<string, unknown> {
  const entries = Object.entries(withoutNulls(value)).map(([name, one]): [string, unknown] => {
    if (!isObject(one) || one instanceof UnsetVariable) return [name, one];
    const inner = withoutNulls(one);
    const isHeaders = name === "custom_headers" || name === "passthrough_headers";
    if (!isHeaders) return [name, inner];
    return [name, Object.fromEntries(Object.entries(inner).map(([header, text]) => [header.toLowerCase(), text]))];
  });
  return Object.fromEntries(entries.filter(([, one]) => !isObject(one) || Object.keys(one).length > 0));
}

/** Mappings of secrets as they are compared. */
export function toMappings(value: unknown): readonly Fields[] | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const list = value.map((one) => {
    const { target_field, ...others } = withoutNulls(one);
    // two words for the same
    return { ...others, target_field: String(target_field).replace(/^model_config\./, "configurations.") };
  });
  return list.toSorted((one, other) => (one.target_field < other.target_field ? -1 : 1));
}

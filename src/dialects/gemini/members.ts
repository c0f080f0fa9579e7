import { isObject } from "../../lib/json.ts";

/** Fields of an object, by their camelCase names. */
export type Members = Record<string, unknown>;

/** The fields of an object by camelCase names: both spellings are accepted, as by Google. Empty for other values. */
export function membersOf(value: unknown): Members {
  if (!isObject(value)) return {};
  if (!Object.keys(value).some((name) => name.includes("_"))) return value;
  const named: Members = {};
  for (const [name, one] of Object.entries(value)) {
    const camel = name.replace(/(?<=[A-Za-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    if (camel === name || value[camel] === undefined) named[camel] = one;
  }
  return named;
}

/** Items of a list; a single object counts as a list of one. */
export function itemsOf(value: unknown): Members[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter(isObject).map(membersOf);
}

/** Strings of a list, or a single one. */
export function stringsOf(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((one) => typeof one === "string");
}

/** A number, also one written as a string. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

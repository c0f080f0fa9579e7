import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";

/** Deepest filter, most of its parts, and most values of a list. */
const maxDepth = 8;
const maxParts = 100;
const maxValues = 100;

type Value = string | number | boolean;

/** Whether the attributes of a file match. */
export type FileFilter = (attributes: Readonly<Record<string, unknown>>) => boolean;

function refuse(message: string): never {
  throw new InvalidRequestError(`Cannot use filters: ${message}`, { param: "filters", code: "invalid_filters" });
}

function isValue(value: unknown): value is Value {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

/** Two values by their order; undefined for those of different types. */
function compare(one: unknown, other: Value): number | undefined {
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one !== "string" || typeof other !== "string") return undefined;
  return one === other ? 0 : one < other ? -1 : 1;
}

/** Comparisons by order: an attribute that is absent, or of another type, does not match. */
const orders: Readonly<Record<string, (order: number) => boolean>> = {
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
};

function readList(type: "in" | "nin", key: string, value: unknown): FileFilter {
  if (!Array.isArray(value) || value.length > maxValues || !value.every(isValue)) {
    return refuse(`the value of ${type} must be a list of at most ${maxValues} strings, numbers or booleans`);
  }
  const values = new Set<unknown>(value);
  return (attributes) => values.has(attributes[key]) === (type === "in");
}

function readComparison(type: unknown, key: unknown, value: unknown): FileFilter {
  if (typeof key !== "string" || key === "" || key.length > 64) return refuse("key must be the name of an attribute");
  if (type === "in" || type === "nin") return readList(type, key, value);
  if (!isValue(value)) return refuse("value must be a string, a number or a boolean");
  if (type === "eq") return (attributes) => attributes[key] === value;
  if (type === "ne") return (attributes) => attributes[key] !== value;
  const order = typeof type === "string" && Object.hasOwn(orders, type) ? orders[type] : undefined;
  if (!order) return refuse("type is one of eq, ne, gt, gte, lt, lte, in, nin, and, or");
  return (attributes) => {
    const found = compare(attributes[key], value);
    return found !== undefined && order(found);
  };
}

/** Reads a filter and those within it. */
class FilterReader {
  #parts = 0;

  read(filter: unknown, depth: number): FileFilter {
    if (depth > maxDepth) return refuse(`they are nested more than ${maxDepth} deep`);
    if (++this.#parts > maxParts) return refuse(`they have more than ${maxParts} parts`);
    if (!isObject(filter)) return refuse("each must be an object with a type");
    const { type, key, value, filters } = filter;
    if (type !== "and" && type !== "or") return readComparison(type, key, value);
    if (!Array.isArray(filters) || filters.length === 0) return refuse(`filters of ${type} must be a list`);
    const inner = filters.map((one) => this.read(one, depth + 1));
    if (type === "and") return (attributes) => inner.every((matches) => matches(attributes));
    return (attributes) => inner.some((matches) => matches(attributes));
  }
}

/**
 * Reads the filters of a search (https://platform.openai.com/docs/guides/retrieval#attribute-filtering).
 *
 * @throws {InvalidRequestError} 400 naming what is wrong.
 */
export function readFilters(filters: unknown): FileFilter {
  return filters === undefined || filters === null ? () => true : new FilterReader().read(filters, 1);
}

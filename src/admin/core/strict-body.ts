import type * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";

/** Something in a body that its schema would ignore silently. */
interface IgnoredPart {
  path: readonly string[];
  problem: string;
}

/** The parts of a schema that are read: those all valibot kinds have, and some that few have. */
export interface SchemaParts {
  readonly kind?: unknown;
  readonly type?: unknown;
  readonly pipe?: readonly SchemaParts[];
  readonly wrapped?: SchemaParts;
  readonly options?: readonly unknown[];
  readonly entries?: Readonly<Record<string, SchemaParts>>;
  readonly item?: SchemaParts;
  readonly value?: SchemaParts;
  readonly key?: string;
  readonly literal?: unknown;
  readonly metadata?: { readonly shownOnly?: readonly string[] };
}

type Walk = (schema: SchemaParts, value: unknown, path: readonly string[]) => IgnoredPart | undefined;

const objects = new Set(["object", "loose_object", "strict_object"]);

function first<Item>(items: Iterable<Item>, find: (item: Item) => IgnoredPart | undefined): IgnoredPart | undefined {
  for (const item of items) {
    const found = find(item);
    if (found) return found;
  }
  return undefined;
}

/** Kinds of schema that may accept a list, an object, or either. */
const lists = new Set(["array", "tuple"]);
const either = new Set(["union", "variant", "custom", "unknown", "any"]);

/** Whether a schema may accept a value of this shape. */
function mayMean({ type, wrapped }: SchemaParts, value: unknown): boolean {
  if (wrapped) return mayMean(wrapped, value);
  const name = String(type);
  if (either.has(name)) return true;
  if (Array.isArray(value)) return lists.has(name);
  return isObject(value) === (objects.has(name) || name === "record");
}

/** The alternatives that may apply to a value: of variants, the one it names. */
function alternativesOf({ type, key, options = [] }: SchemaParts, value: unknown): SchemaParts[] {
  const all = options.filter((option): option is SchemaParts => isObject(option) && mayMean(option, value));
  if (type !== "variant" || key === undefined || !isObject(value)) return all;
  const named = all.filter(({ entries }) => entries?.[key]?.literal === value[key]);
  return named.length > 0 ? named : all;
}

/** Nothing if one alternative accepts the value, else the issues of the one that got furthest. */
function ofAlternatives(schema: SchemaParts, value: unknown, path: readonly string[]): IgnoredPart | undefined {
  let furthest: IgnoredPart | undefined;
  for (const option of alternativesOf(schema, value)) {
    const found = findIn(option, value, path);
    if (!found) return undefined;
    if (!furthest || found.path.length > furthest.path.length) furthest = found;
  }
  return furthest;
}

const ofObject: Walk = ({ type, entries = {}, pipe = [] }, value, path) => {
  if (Array.isArray(value)) return { path, problem: "must be an object" };
  if (!isObject(value)) return undefined;
  const shown = new Set(pipe.flatMap(({ metadata }) => metadata?.shownOnly ?? []));
  return first(Object.entries(value), ([name, member]) => {
    if (member === null) return undefined;
    const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
    if (entry) return findIn(entry, member, [...path, name]);
    const isTaken = type !== "object" || shown.has(name);
    return isTaken ? undefined : { path: [...path, name], problem: "is not a known field" };
  });
};

const ofRecord: Walk = ({ value: inner }, value, path) => {
  if (Array.isArray(value)) return { path, problem: "must be an object" };
  if (!isObject(value) || !inner) return undefined;
  return first(Object.entries(value), ([name, member]) => findIn(inner, member, [...path, name]));
};

/** The schemas that see a value as it was sent: those after a transformation see another one. */
function schemasOfPipe(pipe: readonly SchemaParts[]): SchemaParts[] {
  const end = pipe.findIndex(({ kind }) => kind === "transformation");
  return pipe.slice(1, end < 0 ? pipe.length : end).filter(({ kind }) => kind === "schema");
}

/** The schemas of objects and lists that a value may be of: without wrappers, unions as their alternatives. */
export function objectSchemasOf(schemas: readonly SchemaParts[], value: unknown): SchemaParts[] {
  return schemas.flatMap((schema) => {
    const { type, wrapped, pipe = [] } = schema;
    if (wrapped) return objectSchemasOf([wrapped], value);
    if (type === "union" || type === "variant") return objectSchemasOf(alternativesOf(schema, value), value);
    return [schema, ...objectSchemasOf(schemasOfPipe(pipe), value)];
  });
}

const findIn: Walk = (schema, value, path) => {
  if (value === null || value === undefined) return undefined;
  const { type, wrapped, item, pipe = [] } = schema;
  if (wrapped) return findIn(wrapped, value, path);
  const rest = first(schemasOfPipe(pipe), (part) => findIn(part, value, path));
  if (rest) return rest;
  if (type === "union" || type === "variant") return ofAlternatives(schema, value, path);
  if (objects.has(String(type))) return ofObject(schema, value, path);
  if (type === "record") return ofRecord(schema, value, path);
  if (type !== "array" || !item || !Array.isArray(value)) return undefined;
  return first(value.entries(), ([index, member]) => findIn(item, member, [...path, String(index)]));
};

/**
 * What a body holds that its schema would drop: unknown fields, and lists where objects are expected, which count as
 * empty objects.
 */
export function findIgnored(schema: v.GenericSchema, value: unknown): IgnoredPart | undefined {
  return findIn(schema as SchemaParts, value, []); // the parts every schema has, and the optional ones read here
}

/** @throws {InvalidRequestError} AB01, naming the field. */
export function refuseBody(path: string | undefined, problem: string): never {
  throw new InvalidRequestError(`Invalid request body: ${path === undefined ? "" : `${path}: `}${problem}`, {
    code: "AB01",
    ...(path !== undefined && { param: path }),
  });
}

/** The most useful issue of a value that fits no alternative: that of the alternative that got furthest. */
export function deepestIssue(issue: v.BaseIssue<unknown>): { path: string | undefined; message: string } {
  const keys = (one: v.BaseIssue<unknown>): string[] => (one.path ?? []).map(({ key }) => String(key));
  let path = keys(issue);
  let { message } = issue;
  for (let inner = issue.issues; inner; ) {
    const [best] = inner.toSorted((a, b) => (b.path?.length ?? 0) - (a.path?.length ?? 0));
    if (!best?.path?.length) break;
    path = [...path, ...keys(best)];
    message = best.message;
    inner = best.issues;
  }
  return { path: path.length === 0 ? undefined : path.join("."), message };
}

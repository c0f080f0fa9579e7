import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { objectSchemasOf, refuseBody, type SchemaParts } from "./strict-body.ts";

// Released clients build bodies from the arguments of a call: they repeat the ids of its path, write settings in snake
// case, and send null for what was not given.

const toSnakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll("-", "_");

const toSingular = (plural: string): string => plural.replace(/ies$/, "y").replace(/s$/, "");

/** Parameters of a path template by the names under which a body may repeat them: `/users/:userId` has `user_id`. */
function repeatedNames(template: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const segments = template.split("/");
  for (const [index, segment] of segments.entries()) {
    if (!segment.startsWith(":")) continue;
    const parameter = segment.slice(1);
    const record = toSnakeCase(toSingular(segments[index - 1] ?? ""));
    for (const name of [toSnakeCase(parameter), `${record}_id`, `${record}_slug`]) names.set(name, parameter);
    names.set("id", parameter); // of the last one
  }
  names.delete("organisation_id"); // every body may have it, and it is checked for all
  return names;
}

const sameId = (one: string, other: string): boolean =>
  one === other || (v.is(v.pipe(v.string(), v.uuid()), one) && one.toLowerCase() === other.toLowerCase());

/** What a route knows of its body. */
interface BodyRules {
  readonly method: string;
  /** Path template of the route. */
  readonly path: string;
  /** Parameters of the path of the call. */
  readonly params: Readonly<Record<string, string>>;
  readonly schema: v.GenericSchema;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Leaves out the ids that the path has. Fields of the schema have its meaning.
 *
 * @throws {InvalidRequestError} AB01, naming an id that differs from that of the path.
 */
function withoutPathIds({ path, params }: BodyRules, known: ReadonlySet<string>, body: Members): Members {
  const names = repeatedNames(path);
  const isRepeated = (name: string, value: unknown) => value !== null && names.has(name) && !known.has(name);
  const own = Object.entries(body).filter(([name, value]) => {
    if (!isRepeated(name, value)) return true;
    if (sameId(String(value), params[names.get(name) ?? ""] ?? "")) return false;
    return refuseBody(name, "differs from the id in the path");
  });
  return Object.fromEntries(own);
}

/** Renames fields to the spelling of the schema: `api_version` to `apiVersion`. */
function withKnownSpelling(known: ReadonlySet<string>, body: Members): Members {
  const spellings = new Map(Array.from(known, (name) => [toSnakeCase(name), name]));
  const members = new Map(Object.entries(body).filter(([name]) => known.has(name)));
  for (const [name, value] of Object.entries(body)) {
    if (known.has(name)) continue;
    const own = spellings.get(name) ?? name;
    const isTaken = members.get(own) != null;
    members.set(isTaken ? name : own, value);
  }
  return Object.fromEntries(members);
}

/** Leaves out members of a new record that are null where their field has no null: they mean the same as absent ones. */
function withoutNulls(schemas: readonly SchemaParts[], value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = schemas.flatMap(({ item }) => item ?? []);
    return items.length === 0 ? value : value.map((one) => withoutNulls(objectSchemasOf(items, one), one));
  }
  if (!isObject(value)) return value;
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    const entries = schemas.flatMap(({ entries: own = {} }) => (Object.hasOwn(own, name) ? (own[name] ?? []) : []));
    if (entries.length === 0) return [[name, member]];
    if (member !== null) return [[name, withoutNulls(objectSchemasOf(entries, member), member)]];
    // the entries of valibot's schemas are schemas
    return entries.some((entry) => v.is(entry as unknown as v.GenericSchema, null)) ? [[name, member]] : [];
  });
  return Object.fromEntries(members);
}

/**
 * A body in the form of its schema. What released clients send besides is left out: ids that equal those of the path, and in
 * new records null.
 *
 * @throws {InvalidRequestError} AB01, naming an id that differs from that of the path.
 */
export function toOwnForm(rules: BodyRules, value: unknown): unknown {
  if (!isObject(value)) return value;
  const schemas = objectSchemasOf([rules.schema as unknown as SchemaParts], value); // it has these parts
  const known = new Set(schemas.flatMap(({ entries = {} }) => Object.keys(entries)));
  const own = withKnownSpelling(known, withoutPathIds(rules, known, value));
  // in a change null clears a field, and is refused where a field cannot be cleared
  return rules.method === "POST" ? withoutNulls(schemas, own) : own;
}

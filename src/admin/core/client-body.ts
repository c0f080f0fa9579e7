import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { refuseBody } from "./body-issues.ts";

// Released clients build bodies from the arguments of a call: they repeat the ids of its path, and write settings in
// snake case.

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
  names.delete("organisation_id"); // every body may have it, and it was checked before
  return names;
}

const sameId = (one: string, other: string): boolean =>
  one === other || (v.is(v.pipe(v.string(), v.uuid()), one) && one.toLowerCase() === other.toLowerCase());

/** What a route knows of its body. */
interface BodyRules {
  /** Path template of the route. */
  readonly path: string;
  /** Parameters of the path of the call. */
  readonly params: Readonly<Record<string, string>>;
  readonly schema: v.GenericSchema;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Leaves out the ids that the path has, and that of the organisation. Fields of the schema have its meaning.
 *
 * @throws {InvalidRequestError} AB01, naming an id that differs from that of the path.
 */
function withoutPathIds({ path, params }: BodyRules, known: ReadonlySet<string>, body: Members): Members {
  const names = repeatedNames(path);
  const isRepeated = (name: string, value: unknown) => value !== null && names.has(name) && !known.has(name);
  const own = Object.entries(body).filter(([name, value]) => {
    if (name === "organisation_id" && typeof value === "string") return known.has(name);
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

/** Names of the fields of a body; those of a variant are those of all its options. */
function fieldsOf(schema: object): string[] {
  if ("entries" in schema && isObject(schema.entries)) return Object.keys(schema.entries);
  return "options" in schema && Array.isArray(schema.options) ? schema.options.flatMap(fieldsOf) : [];
}

/**
 * A body in the form of its schema, without the ids that equal those of the path.
 *
 * @throws {InvalidRequestError} AB01, naming an id that differs from that of the path.
 */
export function toOwnForm(rules: BodyRules, value: unknown): unknown {
  if (!isObject(value)) return value;
  const known = new Set(fieldsOf(rules.schema));
  return withKnownSpelling(known, withoutPathIds(rules, known, value));
}

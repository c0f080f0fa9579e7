import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { Draft } from "../checks/draft.ts";
import { type Parameter, type ParameterWords, parametersOf } from "../checks/parameters.ts";

// Which inputs a JSON schema asks for. Schemas of tools are written by others: references may lead in circles or nowhere, and
// alternatives may multiply. What no input fits is asked for as JSON.

/** Most alternatives of one member that are looked at. */
const maxVariants = 50;
/** Most members of one object that get an input. */
const maxMembers = 200;
/** Most references between the root and a member. */
const maxReferences = 16;
/** Deepest nesting of inputs. */
const maxDepth = 8;

/** A schema in its document. */
export interface PlacedSchema {
  readonly schema: JsonObject;
  /** The document that references lead into. */
  readonly root: JsonObject;
  /** References on the way to it: one that comes again leads in a circle. */
  readonly above: readonly string[];
  /** Number of objects and lists around it. */
  readonly depth: number;
}

/** A member of an object, and what can be shown of it as inputs. */
export interface SchemaMember {
  /** The input of a value that is no object with known members and no list of such. */
  readonly parameter: Parameter;
  /** Whether it may be such a value. */
  readonly isPlain: boolean;
  readonly object?: PlacedSchema;
  /** What its list holds. */
  readonly items?: PlacedSchema;
}

/** The schema at the root of a document. */
export function placeRoot(root: JsonObject): PlacedSchema {
  return resolve(root, { root, above: [], depth: 0 }) ?? { schema: {}, root, above: [], depth: 0 };
}

/** What a reference inside a document leads to: `#/$defs/Name`. */
function follow(root: JsonObject, reference: string): unknown {
  let at: unknown = root;
  for (const step of reference.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    const holder: object = typeof at === "object" && at !== null ? at : {};
    at = Object.hasOwn(holder, name) ? Reflect.get(holder, name) : undefined;
  }
  return reference.startsWith("#") ? at : undefined;
}

/** A schema with its reference followed; undefined where it leads in a circle or to no schema. */
function resolve(written: unknown, place: Omit<PlacedSchema, "schema">): PlacedSchema | undefined {
  let { above } = place;
  let at = written;
  while (isJsonObject(at) && typeof at.$ref === "string") {
    const { $ref: reference, ...beside } = at;
    if (above.includes(reference) || above.length >= maxReferences) return undefined;
    above = [...above, reference];
    const found = follow(place.root, reference);
    at = isJsonObject(found) ? { ...found, ...beside } : undefined;
  }
  if (at === true) at = {};
  return isJsonObject(at) ? { ...place, schema: at, above } : undefined;
}

/** One schema for each type of a list of types, and an enumeration for a constant. */
function split(placed: PlacedSchema): readonly PlacedSchema[] {
  const { schema } = placed;
  if ("const" in schema) return [{ ...placed, schema: { ...schema, enum: [schema.const] } }];
  if (!Array.isArray(schema.type)) return schema.type === "null" ? [] : [placed];
  return schema.type.filter((type) => type !== "null").map((type) => ({ ...placed, schema: { ...schema, type } }));
}

/** The schemas of which one applies, without null; undefined where they cannot be known. */
function variantsOf(written: unknown, place: Omit<PlacedSchema, "schema">): readonly PlacedSchema[] | undefined {
  const found: PlacedSchema[] = [];
  const open = [{ written, above: place.above }];
  for (let steps = 0; open.length > 0; steps++) {
    const next = open.shift();
    const placed = resolve(next?.written, { ...place, above: next?.above ?? [] });
    if (placed === undefined || steps >= maxVariants || placed.schema.allOf !== undefined) return undefined;
    const alternatives = [placed.schema.anyOf, placed.schema.oneOf].find(Array.isArray);
    if (alternatives === undefined) found.push(...split(placed));
    else open.push(...alternatives.slice(0, maxVariants).map((one) => ({ written: one, above: placed.above })));
  }
  return found.length > maxVariants ? undefined : found;
}

const hasMembers = ({ type, properties }: JsonObject): boolean =>
  (type === "object" || type === undefined) && isJsonObject(properties) && Object.keys(properties).length > 0;

/** An object with known members; undefined where a schema is none, or nested too deep. */
function objectOf(placed: PlacedSchema): PlacedSchema | undefined {
  return placed.depth < maxDepth && hasMembers(placed.schema) ? { ...placed, depth: placed.depth + 1 } : undefined;
}

/** The objects that a list holds. */
function itemsOf(placed: PlacedSchema): PlacedSchema | undefined {
  if (placed.schema.type !== "array") return undefined;
  const variants = variantsOf(placed.schema.items, placed);
  const [only, ...others] = variants ?? [];
  return only === undefined || others.length > 0 ? undefined : objectOf(only);
}

/** The schema of a list with what its items are in place of a reference. */
function withItems(placed: PlacedSchema): JsonObject {
  const [only, ...others] = placed.schema.items === undefined ? [] : (variantsOf(placed.schema.items, placed) ?? []);
  return only === undefined || others.length > 0 ? placed.schema : { ...placed.schema, items: only.schema };
}

function memberOf(name: string, written: unknown, of: PlacedSchema, words: ParameterWords): SchemaMember | undefined {
  const variants = variantsOf(written, of);
  const said = { ...(isJsonObject(written) && written), ...resolve(written, of)?.schema };
  const nested = variants?.map((placed) => ({ placed, object: objectOf(placed), items: itemsOf(placed) })) ?? [];
  const plain = nested.filter(({ object, items }) => object === undefined && items === undefined);
  const { title, description, default: initial } = said;
  const schema = {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(initial !== undefined && { default: initial }),
    ...(plain.length > 0 && { anyOf: plain.map(({ placed }) => withItems(placed)) }),
  };
  const required = Array.isArray(of.schema.required) && of.schema.required.includes(name) ? [name] : [];
  const [parameter] = parametersOf({ properties: { [name]: schema }, required }, words);
  const object = nested.find((one) => one.object !== undefined)?.object;
  const items = nested.find((one) => one.items !== undefined)?.items;
  return (
    parameter && {
      parameter,
      isPlain: variants === undefined || plain.length > 0 || nested.length === 0,
      ...(object !== undefined && { object }),
      ...(items !== undefined && { items }),
    }
  );
}

/** The members that an object's schema names, in its order. */
export function membersOfSchema(placed: PlacedSchema, words: ParameterWords): readonly SchemaMember[] {
  const { properties } = placed.schema;
  if (!isJsonObject(properties)) return [];
  return Object.entries(properties)
    .slice(0, maxMembers)
    .flatMap(([name, written]) => memberOf(name, written, placed, words) ?? []);
}

/** Whether a value is an object of JSON, and not something that is being typed. */
export const isRecord = (value: unknown): value is JsonObject => isJsonObject(value) && !(value instanceof Draft);

/** How a member with a value is shown: what it could be otherwise must not hide what it is. */
export function shapeOf({ isPlain, object, items }: SchemaMember, value: unknown): "object" | "list" | "plain" {
  const isUnset = value === undefined && !isPlain;
  if (object !== undefined && (isUnset || isRecord(value))) return "object";
  const isList = Array.isArray(value) && value.every(isRecord);
  return items !== undefined && (isUnset || isList) ? "list" : "plain";
}

/** The object that a plain value stands for, where one of the object's members takes it: `simple` as `{"mode": "simple"}`. */
export function toObject({ schema }: PlacedSchema, value: unknown): JsonObject {
  const takes = (member: unknown) => isJsonObject(member) && Array.isArray(member.enum) && member.enum.includes(value);
  const found = Object.entries(isJsonObject(schema.properties) ? schema.properties : {}).find(([, one]) => takes(one));
  return found === undefined ? {} : { [found[0]]: value };
}

/** Names of the members of a value that its schema does not name. */
export function othersOf(members: readonly SchemaMember[], value: JsonObject, keyOf: KeyOf): readonly string[] {
  const known = new Set(members.map(({ parameter }) => keyOf(value, parameter.name)));
  return Object.keys(value).filter((name) => !known.has(name));
}

/** The key by which a record has a member. */
export type KeyOf = (record: JsonObject, name: string) => string;

/** A member has one name. */
export const sameKey: KeyOf = (_, name) => name;

/** A member of a config may also be written in camelCase. */
export const freeKey: KeyOf = (record, name) => {
  if (Object.hasOwn(record, name)) return name;
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.hasOwn(record, camel) ? camel : name;
};

/** A member by its key: what objects inherit is none. */
export const memberBy = (record: JsonObject, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined;

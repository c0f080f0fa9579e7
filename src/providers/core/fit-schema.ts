import { Budget } from "../../lib/budget.ts";
import { isObject } from "../../lib/json.ts";

type Schema = Record<string, unknown>;

const combinators = ["anyOf", "oneOf", "allOf"] as const;

/** The schema behind a local reference to a definition; the schema itself where it is not a reference. */
function resolve(schema: unknown, root: Schema): unknown {
  if (!isObject(schema) || typeof schema.$ref !== "string") return schema;
  const [, holder = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(schema.$ref) ?? [];
  const definitions = root[holder];
  return isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : schema;
}

const namesIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((name): name is string => typeof name === "string") : [];

const isConstant = (schema: unknown): boolean => isObject(schema) && "const" in schema;

/** Several schemas for one property: any of them. */
function joinProperty(given: ReadonlySet<unknown>, budget: Budget): unknown {
  if (given.size === 1) return [...given][0];
  const distinct = new Map<string, unknown>();
  for (const schema of given) {
    const text = JSON.stringify(schema);
    budget.bytes(text.length);
    distinct.set(text, schema);
  }
  const [first, ...others] = distinct.values();
  if (others.length === 0) return first;
  if (isObject(first) && others.every(isConstant)) {
    const constants = others.map((one) => isObject(one) && one.const);
    if (isConstant(first)) return { enum: [...new Set([first.const, ...constants])] };
    if (Array.isArray(first.enum)) return { ...first, enum: [...new Set([...first.enum, ...constants])] };
  }
  const alternatives: unknown[] = isObject(first) && Array.isArray(first.anyOf) ? first.anyOf : [first];
  return { anyOf: [...alternatives, ...others] };
}

const schemaMaps = ["properties", "$defs", "definitions"] as const;
const schemaLists = ["anyOf", "oneOf", "allOf", "prefixItems"] as const;
/** Deeper schemas are sent as they are. */
const maxDepth = 32;

const isList = ({ type }: Schema): boolean => type === "array" || (Array.isArray(type) && type.includes("array"));

/** The schema with `items` in every list: hosts refuse lists without. The same schema where nothing is missing. */
function withItems(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth > maxDepth) return schema;
  let made = schema;
  const set = (name: string, value: unknown) => {
    if (value !== made[name]) made = { ...made, [name]: value };
  };
  if (isList(schema) && schema.items === undefined && schema.prefixItems === undefined) set("items", {});
  set("items", withItems(schema.items, depth + 1) ?? made.items);
  for (const name of schemaMaps) {
    const held = schema[name];
    if (!isObject(held)) continue;
    const entries = Object.entries(held).map(([key, one]) => [key, withItems(one, depth + 1)] as const);
    if (entries.some(([key, one]) => one !== held[key])) set(name, Object.fromEntries(entries));
  }
  for (const name of schemaLists) {
    const list = schema[name];
    if (!Array.isArray(list)) continue;
    const members = list.map((one: unknown) => withItems(one, depth + 1));
    if (members.some((one, index) => one !== list[index])) set(name, members);
  }
  return made;
}

/**
 * What fitting the schemas of one request may take: references can expand a short schema without end. Bytes are those of
 * schemas that are compared, values the properties and names that are joined.
 */
export function createSchemaBudget(): Budget {
  return new Budget({ source: "caller", what: "the schemas of the tools", bytes: 2 * 2 ** 20 });
}

/**
 * A function's schema in the form that nearly all hosts take: one object at its root, and lists with `items`.
 *
 * @throws {ExcessError} If the alternatives at its root exceed the budget.
 */
export function fitSchema(schema: Schema, { takesRootCombinators = false }: RootRules, budget: Budget): Schema {
  const folded = takesRootCombinators ? schema : new RootFolder(schema, budget).fold(schema);
  const made = withItems(folded);
  return isObject(made) ? made : folded;
}

interface RootRules {
  takesRootCombinators?: boolean;
}

/**
 * Makes one object of a function's schema: `anyOf`, `oneOf` and `allOf` at its root are folded into the union of their
 * properties. Required is what all alternatives require. Most hosts refuse these keywords there.
 */
class RootFolder {
  readonly #root: Schema;
  readonly #budget: Budget;
  /** Each schema is folded once, however many references it has; undefined while it is being folded. */
  readonly #folded = new Map<Schema, Schema | undefined>();

  constructor(root: Schema, budget: Budget) {
    this.#root = root;
    this.#budget = budget;
  }

  /** The folded schema; the same schema where nothing is to fold. What refers to itself adds nothing. */
  fold(schema: Schema, depth = 0): Schema {
    if (depth > maxDepth) return {};
    if (this.#folded.has(schema)) return this.#folded.get(schema) ?? {};
    this.#folded.set(schema, undefined);
    const folded = this.#foldNew(schema, depth);
    this.#folded.set(schema, folded);
    return folded;
  }

  #foldNew(schema: Schema, depth: number): Schema {
    if (!combinators.some((keyword) => Array.isArray(schema[keyword]))) {
      return schema.type === "object" ? schema : { ...schema, type: "object" };
    }
    const { anyOf, oneOf, allOf, ...rest } = schema;
    const properties = new Map<string, Set<unknown>>();
    this.#addProperties(properties, rest.properties);
    const required = new Set(namesIn(rest.required));
    const take = (value: unknown): string[] => {
      this.#budget.value();
      const member = resolve(value, this.#root);
      if (!isObject(member)) return [];
      const folded = this.fold(member, depth + 1);
      this.#addProperties(properties, folded.properties);
      const names = namesIn(folded.required);
      this.#budget.value(names.length);
      return names;
    };
    for (const member of Array.isArray(allOf) ? allOf : []) for (const name of take(member)) required.add(name);
    for (const alternatives of [anyOf, oneOf]) {
      if (!Array.isArray(alternatives) || alternatives.length === 0) continue;
      for (const name of namesInAll(alternatives.map(take))) required.add(name);
    }
    const { required: _, ...others } = rest;
    const joined = Object.fromEntries([...properties].map(([name, all]) => [name, joinProperty(all, this.#budget)]));
    return { ...others, type: "object", properties: joined, ...(required.size > 0 && { required: [...required] }) };
  }

  #addProperties(properties: Map<string, Set<unknown>>, added: unknown): void {
    if (!isObject(added)) return;
    for (const [name, property] of Object.entries(added)) {
      this.#budget.value();
      const known = properties.get(name);
      if (known) known.add(property);
      else properties.set(name, new Set([property]));
    }
  }
}

/** Names that are in each list. */
function namesInAll([first = [], ...others]: readonly string[][]): string[] {
  const sets = others.map((names) => new Set(names));
  return first.filter((name) => sets.every((names) => names.has(name)));
}

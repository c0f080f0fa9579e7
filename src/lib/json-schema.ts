import { dereference, type Schema, validate } from "@cfworker/json-schema";
import * as v from "valibot";
import { plainIssues } from "./issues.ts";
import { isObject } from "./json.ts";
import { compilePattern, type Pattern } from "./pattern.ts";

/** A JSON schema cannot be used, or a value is too large for it. The message is for the one who wrote the schema. */
export class JsonSchemaError extends Error {
  override readonly name = "JsonSchemaError";
  /** What is wrong, without the place. */
  readonly problem: string;
  /** Keywords and names that lead to the place in the schema. */
  readonly path: readonly string[];

  constructor(problem: string, path: readonly string[] = []) {
    super(path.length > 0 ? `${path.join(".")}: ${problem}` : problem);
    this.problem = problem;
    this.path = path;
  }
}

/** A JSON schema that was read: keywords that are known, all of the right types. */
export interface JsonSchema {
  readonly root: SchemaNode;
  /** Its patterns by their texts. */
  readonly patterns: ReadonlyMap<string, Pattern>;
}

/** Something in a value that does not fit a schema. */
export interface JsonSchemaProblem {
  /** JSON pointer to it; empty for the value itself. */
  path: string;
  message: string;
}

type SchemaNode = Readonly<Record<string, unknown>>;

/** Longest schema, in characters of its JSON, and how deep and with how many patterns. */
const maxSchemaLength = 64 * 1024;
const maxSchemaDepth = 32;
const maxPatterns = 50;
/** Most levels of a value. */
const maxValueDepth = 64;
/** Most characters that patterns look at in one piece of work, each pattern counted. */
const maxPatternWork = 2_000_000;
/** Most steps of one piece of work; a step is one schema applied to one value. */
const maxSteps = 100_000;

/** Keywords that hold a schema, a list of schemas, schemas by name. */
const single = new Set([
  ...["additionalProperties", "unevaluatedProperties", "propertyNames", "items", "unevaluatedItems", "contains"],
  ...["not", "if", "then", "else"],
]);
const listed = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const named = new Set(["$defs", "definitions", "properties", "patternProperties", "dependentSchemas"]);

const Text = v.optional(v.string());
const Num = v.optional(v.number());
const Count = v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)));
const Names = v.array(v.string());
const Type = v.picklist(["array", "boolean", "integer", "null", "number", "object", "string"]);

/** Keywords that hold no schema. What is not listed says nothing about a value, or is of another draft: it is left out. */
const Keywords = v.object({
  ...{ $id: Text, $anchor: Text, $ref: Text, pattern: Text, format: Text },
  ...{ enum: v.optional(v.array(v.unknown())), const: v.optional(v.unknown()) },
  type: v.optional(v.union([Type, v.array(Type)])),
  ...{ minimum: Num, maximum: Num, exclusiveMinimum: Num, exclusiveMaximum: Num },
  multipleOf: v.optional(v.pipe(v.number(), v.gtValue(0))),
  ...{ minLength: Count, maxLength: Count, minItems: Count, maxItems: Count, minContains: Count, maxContains: Count },
  ...{ minProperties: Count, maxProperties: Count, uniqueItems: v.optional(v.boolean()) },
  ...{ required: v.optional(Names), dependentRequired: v.optional(v.record(v.string(), Names)) },
});

/** Formats that are checked: those of the draft whose built-in patterns take time linear in the text. */
const formats = new Set([
  ...["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid"],
  ...["json-pointer", "relative-json-pointer"],
]);

/** Errors that only say that something inside was wrong; what it was is told, too. */
const outerKeywords = new Set(["$ref", "properties", "items", "prefixItems", "allOf", "if"]);

/** A node with the schemas inside it changed. */
function mapSchemas(node: SchemaNode, change: (inner: unknown, path: string) => unknown): SchemaNode {
  const inside = (name: string, value: unknown): unknown => {
    if (single.has(name)) return change(value, name);
    if (listed.has(name)) {
      if (!Array.isArray(value)) throw new JsonSchemaError("must be a list of schemas", [name]);
      return value.map((one, index) => change(one, `${name}[${index}]`));
    }
    if (!named.has(name)) return value;
    if (!isObject(value)) throw new JsonSchemaError("must be an object of schemas", [name]);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, change(one, `${name}.${key}`)]));
  };
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, inside(name, value)]));
}

const holdsSchemas = (name: string): boolean => single.has(name) || listed.has(name) || named.has(name);

/** Reads one schema and those inside it. */
function readNode(written: unknown, patterns: Map<string, Pattern>, depth: number): SchemaNode {
  // as objects, all schemas are counted when they are applied
  if (written === true) return {};
  if (written === false) return { not: {} };
  if (!isObject(written)) throw new JsonSchemaError("must be a schema: an object, true or false");
  if (depth > maxSchemaDepth) throw new JsonSchemaError(`must have at most ${maxSchemaDepth} levels`);
  if (written.$dynamicRef !== undefined) throw new JsonSchemaError("cannot be used here: use $ref", ["$dynamicRef"]);
  const { success, output, issues } = v.safeParse(Keywords, written, plainIssues);
  if (!success) throw new JsonSchemaError(issues[0].message, [v.getDotPath(issues[0]) ?? ""]);
  const { format, ...keywords } = output;
  const keepPattern = (text: string): void => {
    if (patterns.has(text)) return;
    if (patterns.size === maxPatterns) throw new JsonSchemaError(`must have at most ${maxPatterns} patterns`);
    const pattern = compilePattern(text);
    if (typeof pattern === "string") throw new JsonSchemaError(`the pattern ${text} ${pattern}`);
    patterns.set(text, pattern);
  };
  if (keywords.pattern !== undefined) keepPattern(keywords.pattern);
  if (isObject(written.patternProperties)) for (const text of Object.keys(written.patternProperties)) keepPattern(text);
  const schemas = Object.fromEntries(Object.entries(written).filter(([name]) => holdsSchemas(name)));
  const inner = mapSchemas(schemas, (one, path) => {
    try {
      return readNode(one, patterns, depth + 1);
    } catch (error) {
      if (!(error instanceof JsonSchemaError)) throw error;
      throw new JsonSchemaError(error.problem, [path, ...error.path]);
    }
  });
  return { ...keywords, ...(format !== undefined && formats.has(format) && { format }), ...inner };
}

/**
 * Reads a JSON schema (draft 2020-12). References lead inside it only; nothing is fetched.
 *
 * @throws {JsonSchemaError} If it is none, is too large, or uses what cannot be checked.
 */
export function readJsonSchema(written: unknown): JsonSchema {
  if (!isObject(written)) throw new JsonSchemaError("must be a JSON schema, written as an object");
  if (JSON.stringify(written).length > maxSchemaLength) {
    throw new JsonSchemaError(`must have at most ${maxSchemaLength} characters`);
  }
  const patterns = new Map<string, Pattern>();
  const root = readNode(written, patterns, 1);
  resolve(toApplied(root, new Application(patterns, {}, new JsonSchemaWork())));
  return { root, patterns };
}

/** Finds what references lead to. */
function resolve(schema: Schema): Record<string, Schema | boolean> {
  let lookup: Record<string, Schema | boolean>;
  try {
    lookup = dereference(schema);
  } catch (error) {
    throw new JsonSchemaError(`is no JSON schema: ${error instanceof Error ? error.message : String(error)}`);
  }
  for (const one of Object.values(lookup)) {
    const target = typeof one === "object" ? one.__absolute_ref__ : undefined;
    if (target !== undefined && lookup[target] === undefined) {
      throw new JsonSchemaError(`must hold what it refers to: ${isObject(one) ? one.$ref : target}`);
    }
  }
  return lookup;
}

/** Counts what checking costs, and ends it where that is too much. Schemas that lead to each other could go on for ages. */
export class JsonSchemaWork {
  #steps = 0;
  #patternWork = 0;

  /** Counts schemas that are applied. */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > maxSteps) throw new JsonSchemaError("Cannot check the value: it takes too many steps");
  }

  /** Counts a text a pattern looks at. */
  spendOnPattern(text: string): void {
    this.#patternWork += text.length + 10;
    if (this.#patternWork > maxPatternWork) throw new JsonSchemaError("Cannot check so many texts with patterns");
  }
}

/** One check of one value: what is in it, and what patterns say of its texts. */
class Application {
  readonly texts = new Set<string>();
  readonly names = new Set<string>();
  longestText = 0;
  longestList = 0;
  readonly work: JsonSchemaWork;
  readonly #patterns: ReadonlyMap<string, Pattern>;

  constructor(patterns: ReadonlyMap<string, Pattern>, value: unknown, work: JsonSchemaWork) {
    this.#patterns = patterns;
    this.work = work;
    this.#look(value, 1);
  }

  #look(value: unknown, depth: number): void {
    if (depth > maxValueDepth) throw new JsonSchemaError(`Cannot check more than ${maxValueDepth} levels`);
    if (typeof value === "string") this.#note(value, this.texts);
    if (Array.isArray(value)) {
      this.longestList = Math.max(this.longestList, value.length);
      for (const item of value) this.#look(item, depth + 1);
    } else if (isObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        this.#note(name, this.names);
        this.#look(member, depth + 1);
      }
    }
  }

  #note(text: string, among: Set<string>): void {
    this.longestText = Math.max(this.longestText, text.length);
    if (this.#patterns.size > 0) among.add(text);
  }

  /** The texts among some that a pattern matches, or those it does not. */
  select(pattern: string, among: ReadonlySet<string>, isWanted: boolean): string[] {
    return [...among].filter((text) => {
      this.work.spendOnPattern(text);
      return this.#patterns.get(pattern)?.test(text) === isWanted;
    });
  }
}

/** How many steps it takes to apply one schema, without those inside it. */
function toSteps(node: SchemaNode, { longestText, longestList }: Application): number {
  const own = Object.entries(node).filter(([name]) => !holdsSchemas(name));
  const inside = Object.entries(node).filter(([name]) => holdsSchemas(name));
  const members = inside.reduce((sum, [, value]) => sum + Object.keys(value ?? {}).length, 0);
  const readsText = ["minLength", "maxLength", "format"].some((name) => Object.hasOwn(node, name));
  const compares = node.uniqueItems === true ? longestList ** 2 / 500 : 0; // each item with each other
  const written = JSON.stringify(Object.fromEntries(own)).length / 500;
  return 1 + written + members / 50 + compares + (readsText ? longestText / 5_000 : 0);
}

/**
 * The schema as the library applies it to one value. Patterns of tenants run in linear time only, so none is left: `pattern`
 * becomes the list of the texts in the value it does not match, `patternProperties` the names in the value it matches.
 */
function toApplied(node: SchemaNode, application: Application): Schema {
  const { pattern, patternProperties, ...rest } = mapSchemas(node, (inner) =>
    toApplied(isObject(inner) ? inner : {}, application),
  );
  const applied: Record<string, unknown> = rest;
  if (typeof pattern === "string") {
    const { texts, names } = application;
    const bad = application.select(pattern, new Set([...texts, ...names]), false);
    // no text is an object, so these fail, with an error that shows the pattern
    const rule = { if: { not: count({ enum: bad }, application) }, else: { const: { pattern } } };
    if (bad.length > 0) applied.allOf = [...(Array.isArray(rest.allOf) ? rest.allOf : []), rule];
  }
  if (isObject(patternProperties)) {
    const properties = isObject(rest.properties) ? Object.entries(rest.properties) : [];
    const byName = new Map<string, unknown>(properties);
    for (const [text, inner] of Object.entries(patternProperties)) {
      const found = application.select(text, application.names, true);
      application.work.spend(found.length * (1 + JSON.stringify(inner).length / 100));
      for (const name of found) byName.set(name, byName.has(name) ? { allOf: [byName.get(name), inner] } : inner);
    }
    applied.properties = Object.fromEntries(byName);
  }
  return count(applied, application);
}

/** The schema, counting how often it is applied. */
function count(node: Record<string, unknown>, application: Application): Schema {
  const steps = toSteps(node, application);
  // the library reads this keyword of older drafts whenever it applies a schema; of 2020-12 it is no part
  return Object.defineProperty(node, "$recursiveRef", { get: () => application.work.spend(steps) });
}

/**
 * What in a value does not fit a schema; empty where it fits.
 *
 * @param work Shared by values that are checked for one purpose.
 * @throws {JsonSchemaError} If that takes too long to find out.
 */
export function checkJson(
  { root, patterns }: JsonSchema,
  value: unknown,
  work = new JsonSchemaWork(),
): JsonSchemaProblem[] {
  const schema = toApplied(root, new Application(patterns, value, work));
  try {
    const { valid, errors } = validate(value, schema, "2020-12", resolve(schema), false);
    if (valid) return [];
    const inner = errors.filter(({ keyword }) => !outerKeywords.has(keyword));
    return (inner.length > 0 ? inner : errors).map(({ instanceLocation, error }) => ({
      path: instanceLocation.slice(1),
      message: error,
    }));
  } catch (error) {
    // schemas that refer to themselves on the spot, and errors by the hundred thousand
    if (error instanceof RangeError) throw new JsonSchemaError("Cannot check the value: it takes too many steps");
    throw error;
  }
}

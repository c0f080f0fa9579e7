import { compilePattern, type Pattern, type PatternAmount, PatternSum } from "../../patterns/src/pattern.ts";
import { jsonFormats } from "./formats.ts";
import { isObject, readKeywords, type SchemaKeywords } from "./keywords.ts";

/** A JSON schema is unusable, or a value too large for it. The message is for the author of the schema. */
export class JsonSchemaError extends Error {
  override readonly name = "JsonSchemaError";
  /** What is wrong, without the location. */
  readonly problem: string;
  /** Keywords and names that lead to the location in the schema. */
  readonly path: readonly string[];

  constructor(problem: string, path: readonly string[] = []) {
    super(path.length > 0 ? `${path.join(".")}: ${problem}` : problem);
    this.problem = problem;
    this.path = path;
  }
}

/** A parsed JSON schema: its known keywords, with values of the right types. */
export interface JsonSchema {
  readonly root: SchemaNode;
  /** Size of its patterns. */
  readonly patterns: PatternAmount;
}

/** A schema and its subschemas. */
export interface SchemaNode {
  readonly keywords: SchemaKeywords;
  /** The schema `false`, which no value matches. */
  readonly isFalse: boolean;
  /** The values of `const` and of `enum`, in canonical form. */
  readonly constant: ReadonlySet<string> | undefined;
  readonly choices: ReadonlySet<string> | undefined;
  /** The same values as messages show them. */
  readonly shown: string;
  readonly single: ReadonlyMap<string, SchemaNode>;
  readonly listed: ReadonlyMap<string, readonly SchemaNode[]>;
  readonly named: ReadonlyMap<string, ReadonlyMap<string, SchemaNode>>;
  readonly pattern: Pattern | undefined;
  readonly namePatterns: ReadonlyMap<string, Pattern>;
  /** The target of `$ref`. */
  target?: SchemaNode;
  /** Steps for applying it, without its subschemas and the value. */
  readonly cost: number;
}

/** A text that is the same for equal values, whatever the order of their properties. */
export function toCanonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonical).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const names = Object.keys(value).toSorted();
  return `{${names.map((name) => `${JSON.stringify(name)}:${toCanonical(value[name])}`).join()}}`;
}

/** Limits of a schema: characters of its JSON, depth, and number of patterns. */
const maxSchemaLength = 64 * 1024;
const maxSchemaDepth = 32;
const maxPatterns = 50;
/** Instructions of all patterns of a schema. */
const maxPatternSizes = 10_000;

/** Keywords whose value is a schema, a list of schemas, or an object of schemas. */
const singleKeywords: readonly string[] = [
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "items",
  "unevaluatedItems",
  "contains",
  "not",
  "if",
  "then",
  "else",
];
const listedKeywords: readonly string[] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const namedKeywords: readonly string[] = [
  "$defs",
  "definitions",
  "properties",
  "patternProperties",
  "dependentSchemas",
];

/** Schemas by name, and unresolved references. */
class SchemaReader {
  readonly sum = new PatternSum(maxPatternSizes);
  readonly #patterns = new Map<string, Pattern>();
  /** Schemas by address: those with an `$id`, and those with an anchor. */
  readonly #named: [address: string, node: SchemaNode][] = [];
  readonly #places = new Map<string, SchemaNode>();
  readonly #references: { node: SchemaNode; written: string; base: string }[] = [];

  #toPattern(text: string): Pattern {
    const known = this.#patterns.get(text);
    if (known) return known;
    if (this.#patterns.size === maxPatterns) throw new JsonSchemaError(`must have at most ${maxPatterns} patterns`);
    const pattern = compilePattern(text, this.sum);
    if (typeof pattern === "string") throw new JsonSchemaError(`the pattern ${text} ${pattern}`);
    this.#patterns.set(text, pattern);
    return pattern;
  }

  /** Reads a schema and its subschemas. */
  read(written: unknown, base: string, depth = 1): SchemaNode {
    if (typeof written === "boolean") return toNode({}, { isFalse: !written });
    if (!isObject(written)) throw new JsonSchemaError("must be a schema: an object, true or false");
    if (depth > maxSchemaDepth) throw new JsonSchemaError(`must have at most ${maxSchemaDepth} levels`);
    if (written.$dynamicRef !== undefined) throw new JsonSchemaError("cannot be used here: use $ref", ["$dynamicRef"]);
    const keywords = readKeywords(written);
    if ("problem" in keywords) throw new JsonSchemaError(keywords.problem, [keywords.path]);
    const { $id, $anchor, $ref } = keywords;
    const own = $id === undefined ? base : resolveAddress($id, base);
    const inside = (value: unknown, path: string): SchemaNode =>
      readInside(path, () => this.read(value, own, depth + 1));
    const { patternProperties } = written;
    const node = toNode(keywords, {
      pattern: keywords.pattern === undefined ? undefined : this.#toPattern(keywords.pattern),
      namePatterns: toMap(
        Object.keys(isObject(patternProperties) ? patternProperties : {}).map((text) => [text, this.#toPattern(text)]),
      ),
      ...readSchemas(written, inside),
    });
    if (depth === 1 || $id !== undefined) this.#named.push([own, node]);
    if ($anchor !== undefined) this.#named.push([`${own}#${$anchor}`, node]);
    if ($ref !== undefined) this.#references.push({ node, written: $ref, base: own });
    return node;
  }

  /** Resolves the references. */
  resolve(): void {
    for (const [address, node] of this.#named) {
      if (this.#places.has(address)) throw new JsonSchemaError(`is not a JSON schema: it has ${address} twice`);
      this.#places.set(address, node);
    }
    for (const { node, written, base } of this.#references) {
      const target = this.#find(resolveAddress(written, base));
      if (!target) throw new JsonSchemaError(`must contain the target of its reference: ${written}`);
      node.target = target;
    }
  }

  #find(address: string): SchemaNode | undefined {
    const [resource = "", fragment = ""] = address.split("#");
    if (!fragment.startsWith("/")) return this.#places.get(fragment === "" ? resource : address);
    let found = this.#places.get(resource);
    const names = fragment.slice(1).split("/").map(decodeName);
    for (let index = 0; found && index < names.length; index++) {
      const keyword = names[index] ?? "";
      const { single, listed, named }: SchemaNode = found;
      if (single.has(keyword)) found = single.get(keyword);
      else {
        const name = names[++index] ?? "";
        found = listed.has(keyword) ? listed.get(keyword)?.[Number(name)] : named.get(keyword)?.get(name);
      }
    }
    return found;
  }
}

/** Decodes a name of a JSON pointer in a URI fragment (RFC 6901, section 6). */
function decodeName(name: string): string {
  try {
    return decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return name; // malformed escapes are taken literally
  }
}

function resolveAddress(written: string, base: string): string {
  const address = URL.parse(written, base);
  if (!address) throw new JsonSchemaError(`is not a JSON schema: ${written} is not a valid address`);
  return address.href.replace(/#$/, "");
}

function readInside<Result>(path: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof JsonSchemaError)) throw error;
    throw new JsonSchemaError(error.problem, [path, ...error.path]);
  }
}

const none: ReadonlyMap<string, never> = new Map<string, never>();

/** Most schemas have no entries of a kind, and share one map. */
function toMap<Value>(entries: readonly (readonly [string, Value])[]): ReadonlyMap<string, Value> {
  return entries.length === 0 ? none : new Map(entries);
}

/** The subschemas of a schema, by keyword. */
function readSchemas(written: Record<string, unknown>, read: (value: unknown, path: string) => SchemaNode) {
  const of = (names: readonly string[]) => names.filter((name) => Object.hasOwn(written, name));
  const single = of(singleKeywords).map((name) => [name, read(written[name], name)] as const);
  const listed = of(listedKeywords).map((name) => {
    const list = written[name];
    if (!Array.isArray(list)) throw new JsonSchemaError("must be a list of schemas", [name]);
    return [name, list.map((one, index) => read(one, `${name}[${index}]`))] as const;
  });
  const named = of(namedKeywords).map((name) => {
    const members = written[name];
    if (!isObject(members)) throw new JsonSchemaError("must be an object of schemas", [name]);
    return [name, new Map(Object.entries(members).map(([key, one]) => [key, read(one, `${name}.${key}`)]))] as const;
  });
  return { single: toMap(single), listed: toMap(listed), named: toMap(named) };
}

/** Longest value that a message shows, in characters. */
const maxShown = 200;

function shorten(text: string): string {
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

function toNode(written: SchemaKeywords, rest: Partial<SchemaNode>): SchemaNode {
  const { format, ...others } = written;
  const isKnown = format !== undefined && Object.hasOwn(jsonFormats, format);
  const keywords: SchemaKeywords = isKnown ? { ...others, format } : others;
  const names = JSON.stringify([keywords.required, keywords.dependentRequired]);
  return {
    keywords,
    isFalse: false,
    constant: keywords.const === undefined ? undefined : new Set([toCanonical(keywords.const)]),
    choices: keywords.enum && new Set(keywords.enum.map(toCanonical)),
    shown: shorten(JSON.stringify(keywords.const ?? keywords.enum) ?? ""),
    single: none,
    listed: none,
    named: none,
    pattern: undefined,
    namePatterns: none,
    ...rest,
    cost: 1 + names.length / 500,
  };
}

/** Address of a schema without one. */
const ownAddress = "https://schema.invalid/";

/**
 * Reads a JSON schema (draft 2020-12). References may only point inside it; nothing is fetched.
 *
 * @throws {JsonSchemaError} If it is not a schema, is too large, or uses unsupported keywords.
 */
export function readJsonSchema(written: unknown): JsonSchema {
  if (!isObject(written)) throw new JsonSchemaError("must be a JSON schema, written as an object");
  if (JSON.stringify(written).length > maxSchemaLength) {
    throw new JsonSchemaError(`must have at most ${maxSchemaLength} characters`);
  }
  const reader = new SchemaReader();
  const root = reader.read(written, ownAddress);
  reader.resolve();
  return { root, patterns: reader.sum };
}

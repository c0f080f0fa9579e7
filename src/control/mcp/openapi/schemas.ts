import { isObject } from "../../../lib/json.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Deepest schema that is taken over; what lies deeper accepts anything. */
const maxDepth = 24;
/** Most schemas of one tool. */
const maxNodes = 2_000;
/** Longest schema of one tool, in characters of its JSON. */
const maxLength = 64 * 1024;

/** The part of a document that a local reference names; undefined for any other. */
function resolveReference(document: Schema, reference: unknown): unknown {
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
  let value: unknown = document;
  for (const part of reference.slice(2).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** A value of a document, with the reference that it may be followed. */
export function followed(document: Schema, value: unknown): Schema | undefined {
  let found = value;
  for (let hops = 0; hops < 8 && isObject(found) && found.$ref !== undefined; hops++) {
    found = resolveReference(document, found.$ref);
  }
  return isObject(found) && found.$ref === undefined ? found : undefined;
}

/** Keywords with one schema, with a list of schemas, and with schemas by name. */
const single = new Set(["items", "additionalProperties", "not"]);
const listed = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
/** Keywords that say nothing about a request. */
const dropped = new Set([
  "example",
  "examples",
  "xml",
  "externalDocs",
  "discriminator",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

/** Copies schemas of a document: local references followed, cycles cut, and members that only answers have left out. */
class SchemaCopy {
  readonly #document: Schema;
  #nodes = 0;

  constructor(document: Schema) {
    this.#document = document;
  }

  copy(value: unknown, open: readonly unknown[] = []): unknown {
    if (typeof value === "boolean") return value;
    const schema = followed(this.#document, value);
    // a schema within itself, or too deep, accepts anything
    if (!schema || open.includes(schema) || open.length >= maxDepth || ++this.#nodes > maxNodes) return {};
    const inner = [...open, schema];
    const entries = Object.entries(schema).flatMap(([name, one]): [string, unknown][] => {
      if (dropped.has(name) || name.startsWith("x-")) return [];
      if (name === "nullable") return [];
      if (name === "properties") return [[name, this.#properties(one, inner)]];
      if (single.has(name)) return [[name, this.copy(one, inner)]];
      if (listed.has(name)) return [[name, Array.isArray(one) ? one.map((part) => this.copy(part, inner)) : []]];
      return [[name, one]];
    });
    const copied = Object.fromEntries(entries);
    if (Array.isArray(copied.required) && isObject(copied.properties)) {
      const { properties } = copied;
      copied.required = copied.required.filter((name) => Object.hasOwn(properties, String(name)));
    }
    const { type } = copied;
    // before version 3.1 of OpenAPI, null is allowed by a keyword
    return schema.nullable === true && typeof type === "string" ? { ...copied, type: [type, "null"] } : copied;
  }

  #properties(value: unknown, open: readonly unknown[]): Record<string, unknown> {
    const entries = Object.entries(isObject(value) ? value : {}).filter(
      ([, one]) => followed(this.#document, one)?.readOnly !== true,
    );
    return Object.fromEntries(entries.map(([name, one]) => [name, this.copy(one, open)]));
  }
}

/** A schema of a document that stands alone; one that is too large accepts anything. */
export function copySchema(document: Schema, value: unknown): Record<string, unknown> {
  const copied = new SchemaCopy(document).copy(value);
  if (!isObject(copied) || JSON.stringify(copied).length > maxLength) return {};
  return copied;
}

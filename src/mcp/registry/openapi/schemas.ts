import type { Budget } from "../../../lib/budget.ts";
import { countValues, isObject } from "../../../lib/json.ts";
import type { Steps } from "../../../lib/steps.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Deepest schema that is taken over; what lies deeper accepts anything. */
const maxDepth = 24;
/** Longest schema of one tool, in characters of its JSON: longer ones are not used to check arguments. */
const maxLetters = 64 * 1024;
const stepsPerField = 20;
/** Longest reference that is followed, in characters. */
const maxReference = 1_000;

/** A schema that stands alone, and what it takes to write it. Copies within it may be shared. */
interface Copied {
  readonly schema: Schema | boolean;
  /** Characters of its JSON. */
  readonly letters: number;
  /** Values in it. */
  readonly values: number;
  /** Levels of schemas in it. */
  readonly levels: number;
  /** Something in it accepts anything only because it lies too deep. */
  readonly isCut: boolean;
}

/** Accepts anything. */
const anything: Copied = { schema: {}, letters: 2, values: 1, levels: 0, isCut: false };

/** Room for the schemas of one tool. */
export interface Room {
  letters: number;
}

/** Room of a tool without schemas. */
export function createRoom(): Room {
  return { letters: maxLetters };
}

/** Keywords with one schema, with a list of schemas, and with schemas by name. */
const single = new Set([
  "items",
  "additionalProperties",
  "not",
  "contains",
  "propertyNames",
  "if",
  "then",
  "else",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const listed = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const named = new Set(["properties", "patternProperties", "dependentSchemas"]);
/** Keywords that say nothing about a request, or that only references need. */
const dropped = new Set([
  "example",
  "examples",
  "xml",
  "externalDocs",
  "discriminator",
  "deprecated",
  "readOnly",
  "writeOnly",
  "nullable",
  "$id",
  "$schema",
  "$comment",
  "$defs",
  "definitions",
]);

/** Fields of a copy, with their size. */
class Fields {
  readonly entries: [name: string, value: unknown][] = [];
  letters = 2;
  values = 1;
  levels = 0;
  isCut = false;

  add(name: string, value: unknown, size: Omit<Copied, "schema">): void {
    this.entries.push([name, value]);
    this.count(size, name.length + 4);
  }

  /** Counts a part. */
  count({ letters, values, levels, isCut }: Omit<Copied, "schema">, more = 1): void {
    this.letters += letters + more;
    this.values += values;
    this.levels = Math.max(this.levels, levels);
    this.isCut ||= isCut;
  }
}

/** Keywords of OpenAPI 3.0 as JSON Schema has them: null, and limits that are excluded. */
function toJsonSchema(schema: Schema, copied: Record<string, unknown>): Record<string, unknown> {
  const { required, properties, type } = copied;
  if (Array.isArray(required) && isObject(properties)) {
    copied.required = required.filter((name) => Object.hasOwn(properties, String(name)));
  }
  for (const [flag, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof copied[flag] !== "boolean") continue;
    if (copied[flag] && typeof copied[limit] === "number") {
      copied[flag] = copied[limit];
      delete copied[limit];
    } else delete copied[flag];
  }
  return schema.nullable === true && typeof type === "string" ? { ...copied, type: [type, "null"] } : copied;
}

/**
 * Reads a document: follows its references, and copies its schemas so that they stand alone, with cycles cut and without
 * fields that only responses have. Each schema is copied once, however many refer to it.
 */
export class DocumentReader {
  readonly budget: Budget;
  readonly #document: Schema;
  readonly #targets = new WeakMap<object, Schema | null>();
  readonly #copies = new WeakMap<object, Copied>();
  /** Copies that are cut, by the depth at which they were made. */
  readonly #cut = new WeakMap<object, Map<number, Copied>>();
  readonly #sizes = new WeakMap<object, Copied>();

  /** @param budget Counts the work, and what is made for tools. */
  constructor(document: Schema, budget: Budget) {
    this.#document = document;
    this.budget = budget;
  }

  /** The part of the document that a local reference names; undefined for any other. */
  #resolve(reference: unknown): unknown {
    if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
    if (reference.length > maxReference) return undefined;
    this.budget.step(reference.length);
    let value: unknown = this.#document;
    for (const part of reference.slice(2).split("/")) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
      value = value[name];
    }
    return value;
  }

  /** A value of the document, with the reference that it may be followed. */
  followed(value: unknown): Schema | undefined {
    this.budget.step(stepsPerField);
    if (!isObject(value)) return undefined;
    if (value.$ref === undefined) return value;
    const known = this.#targets.get(value);
    if (known !== undefined) return known ?? undefined;
    let found: unknown = value;
    for (let hops = 0; hops < 8 && isObject(found) && found.$ref !== undefined; hops++) {
      found = this.#resolve(found.$ref);
    }
    const target = isObject(found) && found.$ref === undefined ? found : null;
    this.#targets.set(value, target);
    return target ?? undefined;
  }

  /** The size of a value that is taken over as it is. */
  #size(value: unknown): Copied {
    if (typeof value !== "object" || value === null) {
      return { ...anything, letters: JSON.stringify(value)?.length ?? 0 };
    }
    const known = this.#sizes.get(value);
    if (known) return known;
    const values = countValues(value);
    this.budget.step(values);
    const size = { ...anything, letters: JSON.stringify(value).length, values };
    this.#sizes.set(value, size);
    return size;
  }

  *#copy(value: unknown, open: readonly unknown[]): Steps<Copied> {
    if (typeof value === "boolean") return { ...anything, schema: value, letters: 5 };
    const schema = this.followed(value);
    // a schema within itself accepts anything
    if (!schema || open.includes(schema)) return anything;
    const known = this.#copies.get(schema);
    if (open.length + (known?.levels ?? 1) > maxDepth) return { ...anything, isCut: true };
    const copy = known ?? this.#cut.get(schema)?.get(open.length);
    if (copy) return copy;
    if (this.budget.isDue) yield this.budget.endPiece();
    const fields = yield* this.#fields(schema, [...open, schema]);
    const { letters, values, levels, isCut } = fields;
    const made = toJsonSchema(schema, Object.fromEntries(fields.entries));
    // one that is too large for any tool accepts anything
    const copied =
      letters > maxLetters ? { ...anything, isCut } : { schema: made, letters, values, levels: levels + 1, isCut };
    if (isCut) this.#cut.set(schema, (this.#cut.get(schema) ?? new Map()).set(open.length, copied));
    else this.#copies.set(schema, copied);
    return copied;
  }

  *#fields(schema: Schema, open: readonly unknown[]): Steps<Fields> {
    const fields = new Fields();
    for (const [name, one] of Object.entries(schema)) {
      this.budget.step(stepsPerField);
      if (dropped.has(name) || name.startsWith("x-")) continue;
      if (single.has(name)) {
        const copied = yield* this.#copy(one, open);
        fields.add(name, copied.schema, copied);
      } else if (named.has(name) || (listed.has(name) && Array.isArray(one))) {
        const parts = yield* this.#parts(one, open);
        const schemas = parts.entries.map(([, part]) => part);
        fields.add(name, Array.isArray(one) ? schemas : Object.fromEntries(parts.entries), parts);
      } else fields.add(name, one, this.#size(one));
    }
    return fields;
  }

  /** Schemas in a list or by name, without those of fields that only responses have. */
  *#parts(value: unknown, open: readonly unknown[]): Steps<Fields> {
    const parts = new Fields();
    const list = Array.isArray(value) ? value.map((one): [string, unknown] => ["", one]) : undefined;
    for (const [name, one] of list ?? Object.entries(isObject(value) ? value : {})) {
      if (this.followed(one)?.readOnly === true) continue;
      const copied = yield* this.#copy(one, open);
      parts.add(name, copied.schema, copied);
    }
    return parts;
  }

  /** A schema of the document for a tool. One that the tool has no room for accepts anything. */
  *schema(value: unknown, room: Room): Steps<Record<string, unknown>> {
    const { schema, letters, values } = yield* this.#copy(value, []);
    if (!isObject(schema) || letters > room.letters) return {};
    this.take(letters, room);
    this.budget.value(values);
    return schema;
  }

  /** Counts characters of a tool. */
  take(letters: number, room: Room): void {
    room.letters -= letters;
    this.budget.bytes(letters);
  }
}

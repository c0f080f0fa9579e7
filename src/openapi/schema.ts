import * as v from "valibot";
import { isObject } from "../lib/json.ts";
import { JsonObject } from "../schemas/objects.ts";
import { ConfigObject } from "../schemas/routing.ts";

/** Converts a valibot schema to JSON Schema: bodies as sent (`input`), responses as received (`output`). */
export type JsonSchemaOf = (schema: v.GenericSchema, mode: "input" | "output") => object;

/** Where the document describes routing configs. */
export const routingConfigReference = "#/components/schemas/RoutingConfig";

/** Loaded on first use, so that servers do not load it unless the document is requested. */
export async function loadConverter(): Promise<JsonSchemaOf> {
  const { toJsonSchema } = await import("@valibot/to-json-schema");
  const convert: JsonSchemaOf = (schema, typeMode) =>
    toJsonSchema(describable(schema), {
      target: "draft-2020-12",
      typeMode,
      errorMode: "ignore",
      overrideSchema({ valibotSchema, jsonSchema }) {
        // files are the only class among the schemas
        if (valibotSchema.type === "instance") return { type: "string", format: "binary" };
        if (valibotSchema === ConfigObject) return { $ref: routingConfigReference };
        // stated explicitly: type generators take its absence for "no other fields"
        if (valibotSchema.type === "loose_object") return { ...jsonSchema, additionalProperties: true };
        // fields that change nothing are accepted, too
        if (Reflect.get(valibotSchema, "hasShown") === true) {
          const { additionalProperties: _, ...open } = jsonSchema;
          return open;
        }
        // the object check is the only one that stands for a type
        const isObject = Reflect.get(valibotSchema, "check") === JsonObject.check;
        return isObject ? { type: "object", additionalProperties: true } : undefined;
      },
      overrideAction({ valibotAction, jsonSchema }) {
        if (valibotAction.type !== "metadata") return undefined;
        const metadata: object = Reflect.get(valibotAction, "metadata") ?? {};
        // of the schemas' metadata only defaults are relevant to readers
        const isShown = ([name]: [string, unknown]) => name === "default" || !Object.hasOwn(metadata, name);
        return Object.fromEntries(Object.entries(jsonSchema).filter(isShown));
      },
    });
  return convert;
}

/** Parts of a schema in order, including those of nested pipes. */
function partsOf(schema: object): object[] {
  const pipe: unknown = Reflect.get(schema, "pipe");
  if (!Array.isArray(pipe)) return [schema];
  return pipe.flatMap((part: object) => partsOf(part));
}

/** The schema of an object's fields, if one follows the mere object check. */
function behindObject(schema: object): v.GenericSchema | undefined {
  const [first, described, ...actions] = partsOf(schema);
  if (first !== JsonObject || Reflect.get(described ?? {}, "kind") !== "schema") return undefined;
  return v.pipe(described as v.GenericSchema, ...(actions as v.GenericPipeAction[])); // parts of a pipe are these
}

/** Fields of schemas that hold schemas: one, a list or a record of them. */
const innerSchemas = ["wrapped", "item", "items", "rest", "options", "entries", "key", "value"];

function isSchema(value: unknown): value is v.GenericSchema {
  return isObject(value) && value.kind === "schema";
}

/** Other schemas in place of those that a field of a schema holds. */
function mapSchemas(held: unknown, map: (schema: v.GenericSchema) => v.GenericSchema): unknown {
  if (isSchema(held)) return map(held);
  if (Array.isArray(held)) return held.map((one) => mapSchemas(one, map));
  if (!isObject(held)) return held;
  return Object.fromEntries(Object.entries(held).map(([name, one]) => [name, mapSchemas(one, map)]));
}

/**
 * The schema without mere object checks before the schemas of fields, at any depth: the converter would describe the check
 * alone.
 */
function describable(schema: v.GenericSchema): v.GenericSchema {
  if (schema === ConfigObject) return schema;
  const described = behindObject(schema) ?? schema;
  const pipe: unknown = Reflect.get(described, "pipe");
  if (Array.isArray(pipe)) {
    const [first, ...others] = pipe;
    // what a pipe begins with has the fields of the pipe
    return isSchema(first) ? v.pipe(describable(first), ...(others as v.GenericPipeAction[])) : described;
  }
  const inner = innerSchemas.flatMap((name) => {
    const held: unknown = Reflect.get(described, name);
    return isObject(held) || Array.isArray(held) ? [[name, mapSchemas(held, describable)] as const] : [];
  });
  // a copy has the fields that the converter reads
  return inner.length === 0 ? described : { ...described, ...Object.fromEntries(inner) };
}

import * as v from "valibot";
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
    toJsonSchema(behindObject(schema) ?? schema, {
      target: "draft-2020-12",
      typeMode,
      errorMode: "ignore",
      overrideSchema({ valibotSchema, jsonSchema }) {
        // files are the only class among the schemas
        if (valibotSchema.type === "instance") return { type: "string", format: "binary" };
        if (valibotSchema === ConfigObject) return { $ref: routingConfigReference };
        const described = behindObject(valibotSchema);
        if (described) return withoutDialect(convert(described, typeMode));
        // stated explicitly: type generators take its absence for "no other fields"
        if (valibotSchema.type === "loose_object") return { ...jsonSchema, additionalProperties: true };
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

/** A schema as part of another one. */
function withoutDialect(schema: object): object {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== "$schema"));
}

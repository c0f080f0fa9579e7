import * as v from "valibot";
import { JsonObject } from "../schemas/objects.ts";

/** A valibot schema as JSON Schema: bodies as they are sent (`input`), responses as they are received (`output`). */
export type JsonSchemaOf = (schema: v.GenericSchema, mode: "input" | "output") => object;

/** Loaded on first use: servers that nobody asks for the document do not pay for it. */
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
        const described = behindObject(valibotSchema);
        if (described) return withoutDialect(convert(described, typeMode));
        // said in so many words: generators of types take silence for "no other members"
        if (valibotSchema.type === "loose_object") return { ...jsonSchema, additionalProperties: true };
        // objects are the only check that stands for a type
        const isObject = Reflect.get(valibotSchema, "check") === JsonObject.check;
        return isObject ? { type: "object", additionalProperties: true } : undefined;
      },
      overrideAction({ valibotAction, jsonSchema }) {
        if (valibotAction.type !== "metadata") return undefined;
        const metadata: object = Reflect.get(valibotAction, "metadata") ?? {};
        // of what schemas say of themselves only defaults are for readers of the document
        const isShown = ([name]: [string, unknown]) => name === "default" || !Object.hasOwn(metadata, name);
        return Object.fromEntries(Object.entries(jsonSchema).filter(isShown));
      },
    });
  return convert;
}

/** A schema's parts in their order, those of pipes inside its pipe included. */
function partsOf(schema: object): object[] {
  const pipe: unknown = Reflect.get(schema, "pipe");
  if (!Array.isArray(pipe)) return [schema];
  return pipe.flatMap((part: object) => partsOf(part));
}

/** The schema that says what an object holds, where one stands behind the check that says only that it is an object. */
function behindObject(schema: object): v.GenericSchema | undefined {
  const [first, described, ...actions] = partsOf(schema);
  if (first !== JsonObject || Reflect.get(described ?? {}, "kind") !== "schema") return undefined;
  return v.pipe(described as v.GenericSchema, ...(actions as v.GenericPipeAction[])); // parts of a pipe are these
}

/** A schema as a part of another one. */
function withoutDialect(schema: object): object {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== "$schema"));
}

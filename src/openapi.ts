import * as v from "valibot";
import type { Endpoint } from "./endpoint.ts";
import { defineEndpoint, isAdminEndpoint } from "./endpoint.ts";
import { requestTypes } from "./inference/request-types.ts";
import { jsonReply } from "./lib/reply.ts";
import { pathParameters, toPathTemplate } from "./lib/route-path.ts";
import { JsonObject } from "./schemas/objects.ts";
import { apiVersion } from "./version.ts";

type JsonSchemaOf = (schema: v.GenericSchema, mode: "input" | "output") => object;

/** Loaded on first use: servers that nobody asks for the document do not pay for it. */
async function loadConverter(): Promise<JsonSchemaOf> {
  const { toJsonSchema } = await import("@valibot/to-json-schema");
  const convert: JsonSchemaOf = (schema, typeMode) =>
    toJsonSchema(schema, {
      ...{ target: "draft-2020-12", typeMode, errorMode: "ignore" },
      overrideSchema({ valibotSchema }) {
        // files are the only class among the schemas
        if (valibotSchema.type === "instance") return { type: "string", format: "binary" };
        const described = behindObject(valibotSchema);
        if (described) return withoutDialect(convert(described, typeMode));
        // objects are the only check that stands for a type
        return Reflect.get(valibotSchema, "check") === JsonObject.check ? { type: "object" } : undefined;
      },
    });
  return convert;
}

/** The schema that says what an object holds, where one stands before it that says only that it is one. */
function behindObject(schema: object): v.GenericSchema | undefined {
  const pipe: unknown = Reflect.get(schema, "pipe");
  if (!Array.isArray(pipe) || pipe[0] !== JsonObject || pipe[1]?.kind !== "schema") return undefined;
  const [first, ...actions]: [v.GenericSchema, ...v.GenericPipeAction[]] = [pipe[1], ...pipe.slice(2)];
  return v.pipe(first, ...actions);
}

/** A schema as a part of another one. */
function withoutDialect(schema: object): object {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== "$schema"));
}

function json(schema: object) {
  return { content: { "application/json": { schema } } };
}

function requestBody(schema: v.GenericSchema, endpoint: Endpoint, convert: JsonSchemaOf): object {
  const optional = isAdminEndpoint(endpoint) && endpoint.bodyOptional === true;
  const body = json(convert(schema, "input"));
  if (!("handleForm" in endpoint)) return { required: !optional, ...body };
  const form = { "multipart/form-data": body.content["application/json"] };
  return { required: true, content: endpoint.acceptsJson ? { ...form, ...body.content } : form };
}

/** What a row says of its bodies. */
function bodyOf(endpoint: Endpoint, convert: JsonSchemaOf): object {
  if ("body" in endpoint && endpoint.body) return { requestBody: requestBody(endpoint.body, endpoint, convert) };
  if (!("documentedBody" in endpoint) || !endpoint.documentedBody) return {};
  const { schema, types } = endpoint.documentedBody;
  const content = Object.fromEntries(types.map((type) => [type, { schema: convert(schema, "input") }]));
  return { requestBody: { required: true, content } };
}

/** What a caller needs. */
function securityOf({ access }: Endpoint): object {
  if (access === "public") return { security: [] };
  return access === "scim" ? { security: [{ bearer: [] }] } : { "x-gateway-scopes": access.scopes };
}

function operation(endpoint: Endpoint, convert: JsonSchemaOf): object {
  const parameters = [
    ...pathParameters(endpoint.path).map((name) => ({
      ...{ name, in: "path", required: true },
      schema: { type: "string" },
    })),
    ...(endpoint.query ?? []).map((query) => ({ ...query, in: "query", schema: { type: "string" } })),
  ];
  const answer = endpoint.response ? json(convert(endpoint.response, "output")) : {};
  return {
    summary: endpoint.summary,
    tags: [endpoint.tag],
    ...securityOf(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...bodyOf(endpoint, convert),
    responses: {
      [endpoint.access === "scim" ? endpoint.success : 200]: { description: "Success", ...answer },
      ...guardedAnswers(endpoint, answer),
      default: { description: "Failure", ...json({ $ref: "#/components/schemas/Error" }) },
    },
  };
}

const nullableText = { type: ["string", "null"] };

const errorSchema = {
  type: "object",
  required: ["status", "message", "error"],
  properties: {
    status: { const: "failure" },
    message: { type: "string" },
    error: {
      type: ["object", "string"],
      description: "A text only where a price or a model is not known",
      properties: {
        ...{ message: { type: "string" }, type: { type: "string" }, param: nullableText },
        // a number, and its name in `status`, on routes of the Gemini API
        ...{ code: { type: ["string", "integer", "null"] }, status: { type: "string" } },
      },
    },
    provider: { type: "string" },
    hook_results: { type: "object", description: "What guardrails said, where any ran" },
  },
};

/** What guardrails make of an answer, on routes they run for. */
function guardedAnswers(endpoint: Endpoint, answer: object): object {
  const name = "operation" in endpoint ? endpoint.operation : undefined;
  if (name === undefined || !(Object.hasOwn(requestTypes, name) || name === "completePrompt")) return {};
  const error = json({ $ref: "#/components/schemas/Error" });
  return {
    246: { description: "Success; a guardrail that does not deny failed, as hook_results tells", ...answer },
    446: { description: "A guardrail denied the request or its answer, as hook_results tells", ...error },
  };
}

/** The OpenAPI document of the rows. */
async function toOpenapi(endpoints: readonly Endpoint[]): Promise<object> {
  const convert = await loadConverter();
  const paths: Record<string, Record<string, object>> = {};
  for (const endpoint of endpoints) {
    const path = toPathTemplate(endpoint.path);
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operation(endpoint, convert) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "AI gateway", version: apiVersion },
    security: [{ gatewayKey: [] }, { bearer: [] }],
    paths,
    components: {
      schemas: { Error: errorSchema },
      securitySchemes: {
        gatewayKey: { type: "apiKey", in: "header", name: "x-gateway-api-key" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}

/** The row that answers with the document of all rows, itself included. */
export function createOpenapiEndpoint(others: readonly Endpoint[]): Endpoint {
  let document: Promise<object> | undefined;
  const row: Endpoint = defineEndpoint({
    method: "GET",
    path: "/openapi.json",
    tag: "System",
    summary: "This document",
    access: "public",
    async handle() {
      document ??= toOpenapi([...others, row]);
      return jsonReply(await document);
    },
  });
  return row;
}

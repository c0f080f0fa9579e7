import type * as v from "valibot";
import { basePathOf } from "./endpoint/public-origin.ts";
import type { Endpoint } from "./endpoint.ts";
import { definePublicEndpoint, isAdminEndpoint, operationNameOf } from "./endpoint.ts";
import { type ErrorForm, scimContentType } from "./errors.ts";
import { isOperation } from "./inference/facts/operation-facts.ts";
import { compressed } from "./lib/content-coding.ts";
import { jsonReply } from "./lib/reply.ts";
import { toPathTemplate } from "./lib/route-path.ts";
import { parameterComponents, parametersOf } from "./openapi/parameters.ts";
import { toRoutingConfigSchema } from "./openapi/routing-config.ts";
import { type JsonSchemaOf, loadConverter } from "./openapi/schema.ts";
import { apiVersion } from "./version.ts";

function json(schema: object) {
  return { content: { "application/json": { schema } } };
}

/** Content in the type of an endpoint: that of SCIM is `application/scim+json`. */
function contentOf({ kind }: Endpoint, schema: object) {
  return kind === "scim" ? { content: { [scimContentType]: { schema } } } : json(schema);
}

function requestBody(schema: v.GenericSchema, endpoint: Endpoint, convert: JsonSchemaOf): object {
  const optional = isAdminEndpoint(endpoint) && endpoint.bodyOptional === true;
  const body = json(convert(schema, "input"));
  // clients of SCIM may send plain JSON, too (RFC 7644, section 3.1)
  if (endpoint.kind === "scim") {
    return { required: true, content: { [scimContentType]: body.content["application/json"], ...body.content } };
  }
  if (!("handleForm" in endpoint)) return { required: !optional, ...body };
  const form = { "multipart/form-data": body.content["application/json"] };
  return { required: true, content: endpoint.acceptsJson ? { ...form, ...body.content } : form };
}

/** The request bodies of an endpoint. */
function bodyOf(endpoint: Endpoint, convert: JsonSchemaOf): object {
  if ("body" in endpoint && endpoint.body) return { requestBody: requestBody(endpoint.body, endpoint, convert) };
  if (!("documentedBody" in endpoint) || !endpoint.documentedBody) return {};
  const { schema, types } = endpoint.documentedBody;
  const content = Object.fromEntries(types.map((type) => [type, { schema: convert(schema, "input") }]));
  return { requestBody: { required: true, content } };
}

const eventStream = {
  "text/event-stream": {
    schema: { type: "string", description: "Server-sent events, each with a JSON object as its data" },
  },
};

/** Whether an endpoint can stream: its body has a field `stream`, or its path says so. */
function streams(endpoint: Endpoint, convert: JsonSchemaOf): boolean {
  if (endpoint.path.endsWith(":streamGenerateContent") || endpoint.kind === "mcp") return true;
  if (!("body" in endpoint) || !endpoint.body) return false;
  // a member of JSON Schema
  const { properties } = convert(endpoint.body, "input") as { properties?: object };
  return (
    properties !== undefined && (Object.hasOwn(properties, "stream") || Object.hasOwn(properties, "stream_format"))
  );
}

/** Content of a successful response. */
function successOf(endpoint: Endpoint, convert: JsonSchemaOf): object {
  const content = endpoint.response ? contentOf(endpoint, convert(endpoint.response, "output")).content : {};
  const streamed = streams(endpoint, convert) ? eventStream : {};
  const all = { ...content, ...streamed };
  return Object.keys(all).length > 0 ? { content: all } : {};
}

/** Required authentication: the kinds of keys that may call, and the scopes of which they need one. */
function securityOf({ access }: Endpoint): object {
  if (access === "public") return { security: [] };
  if (access === "scim") return { security: [{ Authorization: [] }] };
  return { "x-gateway-keys": access.keys, "x-gateway-scopes": access.scopes };
}

/** Operation id for generated clients, such as `postV1ChatCompletions`. */
function operationIdOf({ method, path }: Endpoint): string {
  const words = path.match(/\w+/g) ?? [];
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/** Schemas of errors whose form is not the common one. */
const errorSchemas: Readonly<Partial<Record<ErrorForm, string>>> = {
  gemini: "GeminiError",
  mcp: "RpcError",
  oauth: "OauthError",
  scim: "ScimError",
};

/** The schema of an endpoint's errors. */
function errorSchemaOf({ errorForm = "common", forGeminiClients }: Endpoint): object {
  const forms = [errorForm, ...(forGeminiClients ? (["gemini"] as const) : [])];
  const schemas = forms.map((form) => ({ $ref: `#/components/schemas/${errorSchemas[form] ?? "Error"}` }));
  return schemas.length === 1 ? (schemas[0] ?? {}) : { anyOf: schemas };
}

/** The id of an operation; paths that differ in their separators alone, as `errors/rate` and `errors-rate`, get numbers. */
function uniqueId(endpoint: Endpoint, used: Set<string>): string {
  const id = operationIdOf(endpoint);
  let unique = id;
  for (let number = 2; used.has(unique); number++) unique = `${id}${number}`;
  used.add(unique);
  return unique;
}

function operation(endpoint: Endpoint, operationId: string, convert: JsonSchemaOf): object {
  const parameters = parametersOf(endpoint);
  const body = bodyOf(endpoint, convert);
  const answer = successOf(endpoint, convert);
  const failure = contentOf(endpoint, errorSchemaOf(endpoint));
  return {
    operationId,
    summary: endpoint.summary,
    tags: [endpoint.tag],
    ...securityOf(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...body,
    responses: {
      [("success" in endpoint && endpoint.success) || 200]: { description: "Success", ...answer },
      ...guardedAnswers(endpoint, answer),
      "4XX": { description: "The request is invalid", ...failure },
      default: { description: "Failure", ...failure },
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
      description: "A string only if a price or model is unknown",
      properties: {
        message: { type: "string" },
        type: { type: "string" },
        param: nullableText,
        code: nullableText,
      },
    },
    provider: { type: "string" },
    hook_results: { type: "object", description: "Results of guardrails, if any ran" },
  },
};

/** Errors in the form of the Gemini API. */
const geminiErrorSchema = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message", "status"],
      properties: {
        code: { type: "integer", description: "The HTTP status" },
        message: { type: "string" },
        status: { type: "string", description: "The name of the failure, such as RESOURCE_EXHAUSTED" },
        details: { type: "array", items: { type: "object" }, description: "Those of the provider, then the gateway's" },
        type: { type: "string" },
        param: nullableText,
      },
    },
    provider: { type: "string" },
    hook_results: { type: "object", description: "Results of guardrails, if any ran" },
  },
};

/** Errors of MCP servers: those of JSON-RPC, or of OAuth with status 401 and 403. */
const rpcErrorSchema = {
  type: "object",
  properties: {
    jsonrpc: { const: "2.0" },
    id: { type: ["string", "number", "null"] },
    error: {
      type: ["object", "string"],
      description: "A string with status 401 and 403",
      properties: { code: { type: "integer" }, message: { type: "string" }, data: {} },
    },
    error_description: { type: "string" },
    error_details: { type: "object" },
  },
};

/** Errors of the authorization server (RFC 6749, section 5.2). */
const oauthErrorSchema = {
  type: "object",
  required: ["error"],
  properties: {
    error: { type: "string" },
    error_description: { type: "string" },
    status: { const: "failure" },
    message: { type: "string" },
    error_details: { type: "object" },
  },
};

/** Errors of the SCIM protocol (RFC 7644, section 3.12). */
const scimErrorSchema = {
  type: "object",
  required: ["schemas", "status", "detail"],
  properties: {
    schemas: { type: "array", items: { const: "urn:ietf:params:scim:api:messages:2.0:Error" } },
    status: { type: "string", description: "The HTTP status" },
    scimType: { type: "string", description: "The kind of a failure with status 400 or 409" },
    detail: { type: "string" },
  },
};

/** Responses of endpoints with guardrails. */
function guardedAnswers(endpoint: Endpoint, answer: object): object {
  const name = operationNameOf(endpoint);
  if (name === undefined || !(isOperation(name) || name === "completePrompt")) return {};
  const error = json(errorSchemaOf(endpoint));
  return {
    246: { description: "Success; a guardrail that does not deny failed; see hook_results", ...answer },
    446: { description: "A guardrail denied the request or its response; see hook_results", ...error },
  };
}

/** The OpenAPI document of the endpoints. */
async function toOpenapi(endpoints: readonly Endpoint[]): Promise<object> {
  const convert = await loadConverter();
  const paths: Record<string, Record<string, object>> = {};
  const used = new Set<string>();
  for (const endpoint of endpoints) {
    const path = toPathTemplate(endpoint.path);
    paths[path] = {
      ...paths[path],
      [endpoint.method.toLowerCase()]: operation(endpoint, uniqueId(endpoint, used), convert),
    };
  }
  return {
    openapi: "3.1.0",
    info: { title: "AI gateway", version: apiVersion, license: { name: "MIT", identifier: "MIT" } },
    security: [{ gatewayKey: [] }, { Authorization: [] }],
    paths,
    components: {
      schemas: {
        Error: errorSchema,
        GeminiError: geminiErrorSchema,
        RpcError: rpcErrorSchema,
        OauthError: oauthErrorSchema,
        ScimError: scimErrorSchema,
        RoutingConfig: toRoutingConfigSchema(convert),
      },
      parameters: parameterComponents,
      securitySchemes: {
        gatewayKey: { type: "apiKey", in: "header", name: "x-gateway-api-key" },
        Authorization: { type: "http", scheme: "bearer" },
      },
    },
  };
}

/** The endpoint that returns the document of all endpoints, including itself. */
export function createOpenapiEndpoint(others: readonly Endpoint[]): Endpoint {
  let document: Promise<object> | undefined;
  const row: Endpoint = definePublicEndpoint({
    method: "GET",
    path: "/openapi.json",
    tag: "System",
    summary: "This document",
    access: "public",
    async handle(context) {
      const { headers, services } = context;
      document ??= toOpenapi([...others, row]);
      // relative: the gateway that serves the document
      const servers = [{ url: basePathOf(context) || "/" }];
      const reply = jsonReply({ ...(await document), servers });
      return compressed(reply, headers.get("accept-encoding"), services.contentCodings);
    },
  });
  return row;
}

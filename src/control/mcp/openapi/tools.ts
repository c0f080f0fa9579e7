import { createHeaderRules, isHeaderName } from "../../../lib/headers.ts";
import { isObject, stringOf } from "../../../lib/json.ts";
import { toPlainName } from "../plain-name.ts";
import { copySchema, followed } from "./schemas.ts";

type Value = Readonly<Record<string, unknown>>;

/** Where an argument of a tool goes. */
interface ToolParameter {
  /** Its name among the arguments. */
  readonly argument: string;
  readonly name: string;
  readonly place: "path" | "query" | "header";
}

/** A tool that calls an operation of an API. */
export interface OpenapiTool {
  readonly definition: Value;
  readonly method: string;
  /** The path of the operation, with parameters in braces. */
  readonly path: string;
  readonly parameters: readonly ToolParameter[];
  /** How the other arguments become the body: its members, one argument as a whole, or not at all. */
  readonly body:
    | { readonly kind: "members"; readonly names: ReadonlyMap<string, string> }
    | { readonly kind: "whole" }
    | null;
}

const methods = ["get", "put", "post", "delete", "patch", "head"];
/** Most tools of a document. */
const maxTools = 500;
/** Headers that are no parameters (OpenAPI 3.1, section 4.8.12.2). */
const ignoredHeaders = new Set(["accept", "content-type", "authorization"]);
/** What an API may be sent of headers: nothing that belongs to a connection or to the gateway. */
const headerRules = createHeaderRules(["x-gateway-", "mcp-"]);

function isHeaderParameter(name: string): boolean {
  const lower = name.toLowerCase();
  return isHeaderName(name) && name.length <= 128 && !ignoredHeaders.has(lower) && headerRules.mayGoUpstream(lower);
}

/** A parameter as the document has it. */
interface Parameter {
  readonly name: string;
  readonly place: ToolParameter["place"];
  readonly isRequired: boolean;
  readonly schema: Record<string, unknown>;
}

function isPlace(text: unknown): text is ToolParameter["place"] {
  return text === "path" || text === "query" || text === "header";
}

/** Parameters of an operation: its own win over those of its path. */
function readParameters(document: Value, lists: readonly unknown[]): Parameter[] {
  const found = new Map<string, Parameter>();
  for (const one of lists.flatMap((list) => (Array.isArray(list) ? list : []))) {
    const parameter = followed(document, one);
    const name = stringOf(parameter?.name);
    const place = parameter?.in;
    if (!parameter || name === undefined || name === "" || !isPlace(place)) continue;
    if (place === "header" && !isHeaderParameter(name)) continue;
    const description = stringOf(parameter.description);
    const schema = { ...copySchema(document, parameter.schema), ...(description !== undefined && { description }) };
    found.set(`${place} ${name}`, { name, place, isRequired: place === "path" || parameter.required === true, schema });
  }
  return [...found.values()];
}

/** The body that an operation takes as JSON; undefined without one. */
function readBody(
  document: Value,
  operation: Value,
): { schema: Record<string, unknown>; isRequired: boolean } | undefined {
  const body = followed(document, operation.requestBody);
  const content = isObject(body?.content) ? body.content : {};
  const [, media] = Object.entries(content).find(([type]) => /^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) ?? [];
  if (!isObject(media)) return undefined;
  return { schema: copySchema(document, media.schema), isRequired: body?.required === true };
}

/** Arguments of a tool, and where they go. */
function joinArguments(parameters: readonly Parameter[], body: ReturnType<typeof readBody>) {
  const members =
    isObject(body?.schema.properties) && body.schema.type === "object" ? body.schema.properties : undefined;
  const whole: string[] = body && !members ? ["body"] : [];
  const counts = new Map<string, number>();
  for (const name of [...parameters.map((one) => one.name), ...Object.keys(members ?? {}), ...whole]) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const nameOf = (name: string, place: string) => ((counts.get(name) ?? 0) > 1 ? `${name}_${place}` : name);
  const properties = new Map<string, unknown>();
  const required: string[] = [];
  const placed = parameters.map(({ name, place, isRequired, schema }): ToolParameter => {
    const argument = nameOf(name, place);
    properties.set(argument, schema);
    if (isRequired) required.push(argument);
    return { argument, name, place };
  });
  const names = new Map<string, string>();
  const needed = Array.isArray(body?.schema.required) && body.isRequired ? body.schema.required : [];
  for (const [name, schema] of Object.entries(members ?? {})) {
    const argument = nameOf(name, "body");
    names.set(argument, name);
    properties.set(argument, schema);
    if (needed.includes(name)) required.push(argument);
  }
  if (body && !members) {
    properties.set("body", body.schema);
    if (body.isRequired) required.push("body");
  }
  const inputSchema = { type: "object", properties: Object.fromEntries(properties), required };
  const kind: OpenapiTool["body"] = members ? { kind: "members", names } : body ? { kind: "whole" } : null;
  return { placed, inputSchema, body: kind };
}

function annotationsOf(method: string) {
  const isRead = method === "get" || method === "head";
  return {
    readOnlyHint: isRead,
    ...(!isRead && { destructiveHint: method === "delete" }),
    ...((method === "put" || method === "delete") && { idempotentHint: true }),
  };
}

/** The tools of an OpenAPI document (versions 3.0 and 3.1), by name. */
export function readOpenapiTools(document: Value): ReadonlyMap<string, OpenapiTool> {
  const tools = new Map<string, OpenapiTool>();
  for (const [path, one] of Object.entries(isObject(document.paths) ? document.paths : {})) {
    const item = followed(document, one);
    if (!item || !path.startsWith("/")) continue;
    for (const method of methods) {
      const operation = isObject(item[method]) ? item[method] : undefined;
      if (!operation || tools.size === maxTools) continue;
      const name = toPlainName(stringOf(operation.operationId) || `${method}_${path.replace(/^\//, "")}`);
      if (tools.has(name)) continue;
      const parameters = readParameters(document, [item.parameters, operation.parameters]);
      const { placed, inputSchema, body } = joinArguments(parameters, readBody(document, operation));
      const title = stringOf(operation.summary);
      const description = stringOf(operation.description) ?? title ?? `${method.toUpperCase()} ${path}`;
      const definition = {
        name,
        ...(title !== undefined && { title: title.slice(0, 255) }),
        description: description.slice(0, 8_192),
        inputSchema,
        annotations: annotationsOf(method),
      };
      tools.set(name, { definition, method: method.toUpperCase(), path, parameters: placed, body });
    }
  }
  return tools;
}

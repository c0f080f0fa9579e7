import { toHeaderText } from "../lib/header-text.ts";
import { isHeaderName } from "../lib/headers.ts";
import { isObject } from "../lib/json.ts";

const keyword = "x-mcp-header";
const types = new Set(["string", "integer", "boolean"]);
/** Deepest schema that is looked at. */
const maxDepth = 32;

/** A schema to look at: whether the keyword may stand there. */
interface Place {
  readonly schema: unknown;
  readonly isProperty: boolean;
  readonly depth: number;
}

/** The schemas below one, and whether they are properties reached by properties alone. */
function below({ schema, isProperty, depth }: Place): Place[] {
  if (Array.isArray(schema)) return schema.map((one) => ({ schema: one, isProperty: false, depth: depth + 1 }));
  if (!isObject(schema)) return [];
  const isOnPath = isProperty || depth === 0;
  return Object.entries(schema).flatMap(([name, value]): Place[] => {
    if (name !== "properties" || !isOnPath || !isObject(value)) {
      return name === keyword ? [] : [{ schema: value, isProperty: false, depth: depth + 1 }];
    }
    return Object.values(value).map((one) => ({ schema: one, isProperty: true, depth: depth + 1 }));
  });
}

/** Why clients cannot repeat the arguments of a tool in headers as its schema asks; undefined where they can. */
export function findParamHeaderProblem(inputSchema: unknown): string | undefined {
  const names = new Set<string>();
  const waiting: Place[] = [{ schema: inputSchema, isProperty: false, depth: 0 }];
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    if (place.depth > maxDepth) continue;
    const { schema, isProperty } = place;
    if (isObject(schema) && Object.hasOwn(schema, keyword)) {
      const name = schema[keyword];
      if (!isProperty) return `${keyword} stands where no argument is`;
      if (typeof name !== "string" || !isHeaderName(name)) return `${keyword} is not a header name`;
      if (names.has(name.toLowerCase())) return `${keyword} "${name}" is repeated`;
      if (typeof schema.type !== "string" || !types.has(schema.type)) return `${keyword} needs a plain type`;
      names.add(name.toLowerCase());
    }
    waiting.push(...below(place));
  }
  return undefined;
}

/** The values of arguments that a schema wants repeated in headers (Model Context Protocol 2026-07-28, `x-mcp-header`). */
export function mirrorArguments(inputSchema: unknown, given: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  const visit = (schema: unknown, value: unknown, depth: number): void => {
    if (!isObject(schema) || depth > maxDepth) return;
    const name = schema[keyword];
    const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    if (typeof name === "string" && isHeaderName(name) && isPlain) {
      headers[`mcp-param-${name.toLowerCase()}`] = toHeaderText(String(value));
    }
    if (!isObject(schema.properties) || !isObject(value)) return;
    for (const [member, one] of Object.entries(schema.properties)) {
      if (Object.hasOwn(value, member)) visit(one, value[member], depth + 1);
    }
  };
  visit(inputSchema, given, 0);
  return headers;
}

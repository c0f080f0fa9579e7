import { checkJsonSteps, type JsonSchemaProblem, JsonSchemaWork } from "../../packages/json-schema/src/check.ts";
import { type JsonSchema, JsonSchemaError, readJsonSchema } from "../../packages/json-schema/src/schema.ts";
import { RpcError } from "../errors.ts";
import { runPaced } from "../lib/pace.ts";
import type { McpCall } from "./mcp-call.ts";
import { codes } from "./protocol.ts";
import type { McpServer } from "./registry/mcp-server.ts";

/** Most problems that an answer names. */
const shownProblems = 10;

/** Most schema applications: a body has at most 200,000 values. */
const maxApplications = 500_000;

/** Schemas by the definition they stand in; null for those that cannot be used. */
const schemas = new WeakMap<object, JsonSchema | null>();

/** The schema in a definition; null where it has none that can be used. */
function schemaIn(definition: Readonly<Record<string, unknown>>): JsonSchema | null {
  const known = schemas.get(definition);
  if (known !== undefined) return known;
  let schema: JsonSchema | null = null;
  try {
    schema = readJsonSchema(definition.inputSchema);
  } catch (error) {
    if (!(error instanceof JsonSchemaError)) throw error;
  }
  schemas.set(definition, schema);
  return schema;
}

/** The definition whose schema counts: the approved one, or the one last seen where changes pass. */
function definitionOf({ settings, capabilities }: McpServer, name: string) {
  const known = capabilities.tool.get(name);
  return settings.pinning === "log" ? known?.definition : known?.approved;
}

/** Problems of a value; a message if checking it takes too much. */
async function checkValue(schema: JsonSchema, value: unknown): Promise<readonly JsonSchemaProblem[] | string> {
  try {
    return await runPaced(checkJsonSteps(schema, value, new JsonSchemaWork(maxApplications)));
  } catch (error) {
    if (!(error instanceof JsonSchemaError)) throw error;
    return error.problem;
  }
}

/** Problems of the arguments of a call; empty where they match, or where no schema can say. */
async function findProblems({ server, message, context }: McpCall): Promise<readonly JsonSchemaProblem[]> {
  const definition = definitionOf(server, String(message.params.name));
  if (!definition) return [];
  const schema = schemaIn(definition);
  if (schema) {
    const found = await checkValue(schema, message.params.arguments ?? {});
    if (typeof found !== "string") return found;
    // whoever sends arguments that are too large to be checked would go round the schema; one without an end is the server's
    if (typeof (await checkValue(schema, {})) !== "string") return [{ path: "", message: found }];
    schemas.set(definition, null);
  }
  if (context.log.mcp) context.log.mcp.unchecked_arguments = true;
  return [];
}

/** Whether clients of a revision read problems of arguments in results: from 2025-11-25 on, for models to correct them. */
function readsInResults({ era, version }: McpCall): boolean {
  return era === "modern" || (version !== undefined && version >= "2025-11-25");
}

/**
 * Checks the arguments of a tool against its schema.
 *
 * @returns The result, which says what is wrong for the model to read; undefined where they match.
 * @throws {RpcError} -32602 for clients of older revisions.
 */
export async function checkArguments(call: McpCall): Promise<Record<string, unknown> | undefined> {
  const { message, server, era } = call;
  if (message.method !== "tools/call" || message.kind !== "request" || !server.settings.check_arguments)
    return undefined;
  const problems = await findProblems(call);
  if (problems.length === 0) return undefined;
  const shown = problems.slice(0, shownProblems).map(({ path, message }) => `${path === "" ? "/" : path}: ${message}`);
  const text = `Invalid arguments for the tool "${String(message.params.name).slice(0, 256)}": ${shown.join("; ")}`;
  if (!readsInResults(call)) {
    throw new RpcError(200, text, { rpcCode: codes.invalidParams, code: "invalid_arguments" });
  }
  const { mcp } = call.context.log;
  if (mcp) mcp.is_error = true;
  const content = [{ type: "text", text }];
  return { content, isError: true, ...(era === "modern" && { resultType: "complete" }) };
}

import { ExcessError } from "../../../lib/budget.ts";
import { isObject, stringOf } from "../../../lib/json.ts";
import type { Steps } from "../../../lib/steps.ts";
import { toPlainName } from "../plain-name.ts";
import { type RequestBody, readBody } from "./bodies.ts";
import { maxDescription, type Parameter, readParameters } from "./parameters.ts";
import { createRoom, type DocumentReader } from "./schemas.ts";
import { hasDotSegments } from "./styles.ts";

type Value = Readonly<Record<string, unknown>>;

/** A parameter of a tool. */
export interface ToolParameter extends Omit<Parameter, "schema" | "isRequired"> {
  /** Its name among the arguments. */
  readonly argument: string;
}

/** How arguments become a body. */
export interface ToolBody extends Pick<RequestBody, "form" | "type" | "fields"> {
  /** Names of its fields by argument; null if the argument `body` is the whole body. */
  readonly names: ReadonlyMap<string, string> | null;
  /** Arguments without a separate name are fields too. */
  readonly isOpen: boolean;
}

/** A tool that calls an operation of an API. */
export interface OpenapiTool {
  readonly definition: Value;
  readonly method: string;
  /** The path of the operation, with parameters in braces. */
  readonly path: string;
  readonly parameters: readonly ToolParameter[];
  readonly body: ToolBody | null;
  /** Characters of its definition, roughly. */
  readonly letters: number;
}

/** The tools of a document. */
export interface OpenapiTools {
  readonly byName: ReadonlyMap<string, OpenapiTool>;
  /** Operations that are no tools, with the reason; the first of them. */
  readonly leftOut: readonly string[];
}

const methods = ["get", "put", "post", "delete", "patch", "head"];
/** Most tools of a document. */
const maxTools = 500;
/** Most operations that are named as left out. */
const maxLeftOut = 20;
/** Values of a definition besides its schemas. */
const valuesOfTool = 12;

/** Whether members of a body may have names that its schema does not list. */
function openOf(schema: Value | undefined): unknown {
  const { additionalProperties = false } = schema ?? {};
  return additionalProperties;
}

/** Arguments of a tool, and where they go. */
function joinArguments(parameters: readonly Parameter[], body: RequestBody | undefined) {
  const members =
    body && body.form !== "bytes" && isObject(body.schema.properties) && body.schema.type === "object"
      ? body.schema.properties
      : undefined;
  const whole: string[] = body && !members ? ["body"] : [];
  const counts = new Map<string, number>();
  for (const name of [...parameters.map((one) => one.name), ...Object.keys(members ?? {}), ...whole]) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const nameOf = (name: string, place: string) => ((counts.get(name) ?? 0) > 1 ? `${name}_${place}` : name);
  const properties = new Map<string, unknown>();
  const required: string[] = [];
  const placed = parameters.map(({ schema, isRequired, ...parameter }): ToolParameter => {
    const argument = nameOf(parameter.name, parameter.place);
    properties.set(argument, schema);
    if (isRequired) required.push(argument);
    return { ...parameter, argument };
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
  const additionalProperties = members ? openOf(body?.schema) : false;
  const shape = { type: "object", properties: Object.fromEntries(properties), required, additionalProperties };
  const isOpen = additionalProperties !== false;
  return { placed, inputSchema: shape, names: members ? names : null, isOpen };
}

function annotationsOf(method: string) {
  const isRead = method === "get" || method === "head";
  return {
    readOnlyHint: isRead,
    ...(!isRead && { destructiveHint: method === "delete" }),
    ...((method === "put" || method === "delete") && { idempotentHint: true }),
  };
}

/** An operation of a document. */
interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly item: Value;
  readonly operation: Value;
}

/** The tool of an operation, or why there is no tool for it. */
function* readTool(
  reader: DocumentReader,
  { name, method, path, item, operation }: Operation,
): Steps<OpenapiTool | string> {
  const room = createRoom();
  const { letters: roomLetters } = room;
  if (hasDotSegments(path)) return "its path has dot segments";
  const lists = [item.parameters, operation.parameters];
  const parameters = yield* readParameters(reader, { path, lists, room });
  if (!parameters) return "it has more than 100 parameters";
  const body = yield* readBody(reader, operation, room);
  if (typeof body === "string") return `a body of the type ${body} cannot be sent`;
  const title = stringOf(operation.summary)?.slice(0, 255);
  const description = (stringOf(operation.description) ?? title ?? `${method.toUpperCase()} ${path}`).slice(
    0,
    maxDescription,
  );
  reader.budget.value(valuesOfTool + 4 * parameters.length);
  reader.take(description.length + (title?.length ?? 0) + path.length, room);
  const { placed, inputSchema, names, isOpen } = joinArguments(parameters, body);
  const definition = {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema,
    annotations: annotationsOf(method),
  };
  return {
    definition,
    method: method.toUpperCase(),
    path,
    parameters: placed,
    body: body ? { form: body.form, type: body.type, fields: body.fields, names, isOpen } : null,
    letters: roomLetters - room.letters,
  };
}

/** The operations of a document, by the names of their tools. */
function* operationsOf(reader: DocumentReader, document: Value): Generator<Operation, void> {
  const taken = new Set<string>();
  for (const [path, one] of Object.entries(isObject(document.paths) ? document.paths : {})) {
    const item = reader.followed(one);
    if (!item || !path.startsWith("/")) continue;
    for (const method of methods) {
      const operation = isObject(item[method]) ? item[method] : undefined;
      if (!operation) continue;
      const name = toPlainName(stringOf(operation.operationId) || `${method}_${path.replace(/^\//, "")}`);
      if (taken.has(name)) continue;
      taken.add(name);
      yield { name, method, path, item, operation };
    }
  }
}

/**
 * The tools of an OpenAPI document (versions 3.0 and 3.1). A document that exceeds the budget of the reader gives the
 * tools up to there.
 */
export function* readOpenapiTools(reader: DocumentReader, document: Value): Steps<OpenapiTools> {
  const byName = new Map<string, OpenapiTool>();
  const leftOut: string[] = [];
  const note = (text: string) => {
    if (leftOut.length < maxLeftOut) leftOut.push(text);
  };
  try {
    for (const operation of operationsOf(reader, document)) {
      const { method, path, name } = operation;
      if (byName.size === maxTools) {
        note(
          `${method.toUpperCase()} ${path.slice(0, 200)} and what follows: a document gives at most ${maxTools} tools`,
        );
        break;
      }
      const tool = yield* readTool(reader, operation);
      if (typeof tool === "string") note(`${method.toUpperCase()} ${path.slice(0, 200)}: ${tool}`);
      else byName.set(name, tool);
      if (reader.budget.isDue) yield reader.budget.endPiece();
    }
  } catch (error) {
    if (!(error instanceof ExcessError)) throw error;
    note(`what follows after ${byName.size} tools: the document has ${error.excess}`);
  }
  return { byName, leftOut };
}

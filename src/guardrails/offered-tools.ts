import { isObject, objectsIn } from "../lib/json.ts";
import type { Body } from "./types.ts";

/** A tool that a request offers to a model. */
export interface OfferedTool {
  type: string;
  name: string;
}

/** Tools one by one; undefined where one part was read that holds none itself. */
type Found = Generator<OfferedTool | undefined, void>;

const textOr = (value: unknown, other: string): string => (typeof value === "string" && value !== "" ? value : other);

/** Fields under which the Gemini API declares functions, and the Converse API of Bedrock one. */
const declarations = ["functionDeclarations", "function_declarations", "toolSpec"];

/** The objects of a list; a single object counts as a list of one, as in the Gemini API. */
function listedIn(value: unknown): Body[] {
  return isObject(value) ? [value] : objectsIn(value);
}

function* readFunctions(list: unknown, type = "function"): Found {
  for (const { name } of listedIn(list)) yield { type, name: textOr(name, type) };
}

/**
 * One item of `tools` in any dialect. Without a `type` it is a plain function, or a tool of the Gemini
 * API, which names the type by the field used.
 */
function* readTool(tool: Body): Found {
  const called = [tool.function, tool.custom].find(isObject);
  if (typeof tool.type !== "string" && typeof tool.name !== "string" && called === undefined) {
    for (const kind of Object.keys(tool)) if (!declarations.includes(kind)) yield { type: kind, name: kind };
  } else {
    const type = textOr(tool.type, "function");
    yield { type, name: textOr(called?.name, textOr(tool.name, type)) };
  }
  yield* readTools(tool.tools);
  for (const member of declarations) yield* readFunctions(tool[member]);
}

function* readTools(list: unknown): Found {
  for (const tool of listedIn(list)) yield* readTool(tool);
}

/** Items of a conversation that add tools to those of the request. */
const addingItems: readonly unknown[] = ["additional_tools", "tool_search_output"];

function* readItems(items: unknown): Found {
  for (const item of listedIn(items)) {
    if (addingItems.includes(item.type)) yield* readTools(item.tools);
    else yield undefined;
  }
}

/** Messages with files: each file names the tools that read it. */
function* readMessages(messages: unknown): Found {
  for (const { attachments } of listedIn(messages)) {
    yield undefined;
    for (const { tools } of objectsIn(attachments)) yield* readTools(tools);
  }
}

/** Readers of fields that hold tools. */
const readers = new Map<string, (value: unknown) => Found>([
  ["tools", readTools],
  ["functions", readFunctions],
  ["mcp_servers", (servers) => readFunctions(servers, "mcp")],
  ["input", readItems],
  ["items", readItems],
  ["messages", readMessages],
  ["additional_messages", readMessages],
]);

/** Fields with input of a model, schemas, and choices among the tools: nothing in them offers a tool. */
const others: ReadonlySet<string> = new Set([
  "contents",
  "content",
  "prompt",
  "system",
  "instructions",
  "documents",
  "metadata",
  "labels",
  "text",
  "state",
  "arguments",
  "variables",
  "properties",
  "response_format",
  "responseFormat",
  "tool_choice",
  "toolChoice",
  "prediction",
]);

const offersNone = (name: string): boolean => others.has(name) || /schema$/i.test(name);

/** Deepest nesting that is read: that of request bodies. */
const maxDepth = 64;

/**
 * The tools of a request, in any place where requests offer them: at the top level, in an item of a conversation, for a
 * file of a message, in a session or in each request of a batch. MCP servers count as tools.
 */
export function* readOfferedTools(value: unknown, depth = 0): Found {
  if (typeof value !== "object" || value === null || depth > maxDepth) return;
  if (Array.isArray(value)) {
    for (const one of value) yield* readOfferedTools(one, depth + 1);
    return;
  }
  yield undefined;
  for (const [name, inner] of Object.entries(value)) {
    const read = readers.get(name);
    if (read) yield* read(inner);
    else if (!offersNone(name)) yield* readOfferedTools(inner, depth + 1);
  }
}

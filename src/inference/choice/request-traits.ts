import { isObject, objectsIn } from "../../lib/json.ts";

type Members = Readonly<Record<string, unknown>>;

/** What a request holds, in any dialect of a chat. */
export interface RequestTraits {
  tools: boolean;
  images: boolean;
  /** The question that is to be answered has an image. A model that takes none reads a note in place of other images. */
  asksAboutImage: boolean;
  schema: boolean;
}

/** Deepest list of parts that is looked into: an image may be in the result of a call in a message. */
const maxDepth = 4;

const imageTypes: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image"]);

/** Whether a part of a message, or a part in it, is an image. */
function holdsImage(value: unknown, depth = 0): boolean {
  if (depth > maxDepth) return false;
  if (Array.isArray(value)) return value.some((one) => holdsImage(one, depth + 1));
  if (!isObject(value)) return false;
  if (imageTypes.has(value.type)) return true;
  const file = value.inlineData ?? value.inline_data ?? value.fileData ?? value.file_data;
  if (isObject(file) && String(file.mimeType ?? file.mime_type).startsWith("image/")) return true;
  return [value.content, value.parts, value.output].some(
    (inner) => typeof inner === "object" && holdsImage(inner, depth),
  );
}

const typesOf = (list: unknown): unknown[] => objectsIn(list).map(({ type }) => type);

/** Whether an item of a conversation has results of tools. */
function isResult({ role, type, content, parts }: Members): boolean {
  if (role === "tool" || role === "function" || String(type).endsWith("_output")) return true;
  if (typesOf(content).includes("tool_result")) return true;
  return objectsIn(parts).some((part) => isObject(part.functionResponse ?? part.function_response));
}

/** Whether an item of a conversation is of the model: also a call or reasoning without a role, in the Responses API. */
const isOfModel = ({ role, type }: Members): boolean =>
  role === "assistant" || role === "model" || (role === undefined && type !== undefined && type !== "message");

/** Whether what follows the last turn of the model has an image, and is no result of a tool. */
function asksAboutImage(list: unknown): boolean {
  const items = objectsIn(list);
  const before = items.findLastIndex((item) => isOfModel(item) || isResult(item));
  const last = items[before];
  return !(last && isResult(last)) && holdsImage(items.slice(before + 1));
}

/** Whether a request offers functions and lets the model call them. */
function offersTools({ tools, functions, tool_choice: choice }: Members): boolean {
  if (choice === "none") return false;
  return objectsIn(tools).length > 0 || objectsIn(functions).length > 0;
}

const isSchema = (format: unknown): boolean => isObject(format) && format.type === "json_schema";

/** Whether a request asks for a response by a JSON schema. */
function asksForSchema({ response_format: format, text, output_config: output, ...rest }: Members): boolean {
  if (isSchema(format) || isSchema(rest.output_format)) return true;
  if (isObject(text) && isSchema(text.format)) return true;
  if (isObject(output) && isSchema(output.format)) return true;
  const generation = rest.generationConfig ?? rest.generation_config;
  if (!isObject(generation)) return false;
  const names = ["responseSchema", "response_schema", "responseJsonSchema", "response_json_schema"];
  return names.some((name) => isObject(generation[name]));
}

/** Reads what a request holds. */
export function readTraits(request: Members): RequestTraits {
  const lists = [request.messages, request.input, request.contents];
  const images = lists.some((list) => holdsImage(list));
  return {
    tools: offersTools(request),
    images,
    asksAboutImage: images && lists.some(asksAboutImage),
    schema: asksForSchema(request),
  };
}

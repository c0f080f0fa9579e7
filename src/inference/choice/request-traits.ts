import { isObject, objectsIn } from "../../lib/json.ts";

type Members = Readonly<Record<string, unknown>>;

/** What a request holds, in any dialect of a chat. */
export interface RequestTraits {
  tools: boolean;
  images: boolean;
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
  return {
    tools: offersTools(request),
    images: [request.messages, request.input, request.contents].some((list) => holdsImage(list)),
    schema: asksForSchema(request),
  };
}

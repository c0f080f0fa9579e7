import { asObject, isJsonObject, type JsonObject, objectsOf, textOf } from "../../../lib/json.ts";
import type { Part, Tool } from "./types.ts";

/** JSON of a value, as text that a person can read. */
export function toJson(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "");
}

export const textPart = (text: string): Part => ({ kind: "text", text });

/** A data URL of base64, from its two halves. */
export const dataUrl = (type: string, data: string): string => `data:${type};base64,${data}`;

function imageOf(part: JsonObject): string {
  // chat: `image_url: {url}`; responses: `image_url`; messages: `source`
  const address = asObject(part.image_url).url ?? part.image_url ?? asObject(part.source).url;
  if (typeof address === "string") return address;
  const data = textOf(asObject(part.source).data);
  return data === "" ? "" : dataUrl(textOf(asObject(part.source).media_type), data);
}

const fileOf = (part: JsonObject): Part => ({
  kind: "file",
  name: textOf(asObject(part.file).filename) || textOf(part.filename) || textOf(part.title) || textOf(part.type),
  source:
    textOf(asObject(part.file).file_id) ||
    textOf(part.file_id) ||
    textOf(part.file_url) ||
    textOf(asObject(part.source).url) ||
    textOf(asObject(part.source).media_type),
});

/** Reads one piece of a list of contents, whichever of the three formats wrote it; undefined: none of them. */
const readers: Readonly<Record<string, (part: JsonObject) => Part>> = {
  text: (part) => textPart(textOf(part.text)),
  input_text: (part) => textPart(textOf(part.text)),
  output_text: (part) => textPart(textOf(part.text)),
  refusal: (part) => ({ kind: "refusal", text: textOf(part.refusal) }),
  thinking: (part) => ({ kind: "reasoning", text: textOf(part.thinking) }),
  reasoning_text: (part) => ({ kind: "reasoning", text: textOf(part.text) }),
  summary_text: (part) => ({ kind: "reasoning", text: textOf(part.text) }),
  image_url: (part) => ({ kind: "image", source: imageOf(part) }),
  input_image: (part) => ({ kind: "image", source: imageOf(part) }),
  image: (part) => ({ kind: "image", source: imageOf(part) }),
  file: fileOf,
  input_file: fileOf,
  document: fileOf,
  tool_use: (part) => ({
    kind: "call",
    id: textOf(part.id),
    name: textOf(part.name),
    input: toJson(part.input),
  }),
  server_tool_use: (part) => ({
    kind: "call",
    id: textOf(part.id),
    name: textOf(part.name),
    input: toJson(part.input),
  }),
  tool_result: (part) => ({
    kind: "result",
    id: textOf(part.tool_use_id),
    parts: readContent(part.content),
    isError: part.is_error === true,
  }),
};

/** The pieces of a message's content: a text, or a list of typed pieces. */
export function readContent(content: unknown): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [textPart(content)];
  if (content === undefined || content === null) return [];
  if (!Array.isArray(content)) return [{ kind: "other", name: "", value: content }];
  return content.map((part: unknown): Part => {
    if (typeof part === "string") return textPart(part);
    if (!isJsonObject(part)) return { kind: "other", name: "", value: part };
    const type = textOf(part.type);
    const reader = Object.hasOwn(readers, type) ? readers[type] : undefined;
    return reader?.(part) ?? { kind: "other", name: type, value: part };
  });
}

/** Tools of a request: their definition stands in `function` (chat) or in the tool itself. */
export function readTools(tools: unknown): readonly Tool[] {
  return objectsOf(tools).map((tool) => {
    const inner = isJsonObject(tool.function) ? tool.function : tool;
    return {
      name: textOf(inner.name) || textOf(tool.type),
      about: textOf(inner.description),
      value: tool,
    };
  });
}

import { asObject, isJsonObject, type JsonObject, objectsOf, textOf } from "../../../lib/json.ts";
import { dataUrl, toJson } from "./parts.ts";
import type { Conversation, Part, Tool, Turn } from "./types.ts";

// Gemini: `contents` of `parts`, and `candidates`. Members may be in camel or snake case.

const either = (row: JsonObject, camel: string, snake: string): unknown => row[camel] ?? row[snake];

function toPart(part: JsonObject): Part {
  const call = either(part, "functionCall", "function_call");
  const result = either(part, "functionResponse", "function_response");
  const inline = either(part, "inlineData", "inline_data");
  const file = either(part, "fileData", "file_data");
  if (typeof part.text === "string") return { kind: part.thought === true ? "reasoning" : "text", text: part.text };
  if (isJsonObject(call))
    return { kind: "call", id: textOf(call.id), name: textOf(call.name), input: toJson(call.args) };
  if (isJsonObject(result)) {
    const parts: readonly Part[] = [{ kind: "text", text: toJson(result.response) }];
    return { kind: "result", id: textOf(result.id) || textOf(result.name), parts, isError: false };
  }
  if (isJsonObject(inline)) {
    const type = String(either(inline, "mimeType", "mime_type") ?? "");
    if (type.startsWith("image/")) return { kind: "image", source: dataUrl(type, textOf(inline.data)) };
    return { kind: "file", name: type, source: "" };
  }
  if (isJsonObject(file)) {
    return {
      kind: "file",
      name: String(either(file, "mimeType", "mime_type") ?? ""),
      source: String(either(file, "fileUri", "file_uri") ?? ""),
    };
  }
  return { kind: "other", name: Object.keys(part)[0] ?? "", value: part };
}

function toTurn(content: unknown, fallback: string): Turn {
  const role = textOf(asObject(content).role) || fallback;
  return { role: role === "model" ? "assistant" : role, parts: objectsOf(asObject(content).parts).map(toPart) };
}

function toolsOf(request: JsonObject): readonly Tool[] {
  return objectsOf(request.tools).flatMap((tool) => {
    const functions = objectsOf(either(tool, "functionDeclarations", "function_declarations"));
    if (functions.length === 0) return [{ name: Object.keys(tool)[0] ?? "", about: "", value: tool }];
    return functions.map((one) => ({ name: textOf(one.name), about: textOf(one.description), value: one }));
  });
}

export function readGemini(request: JsonObject, response: unknown): Conversation {
  const system = either(request, "systemInstruction", "system_instruction");
  const contents = objectsOf(request.contents).map((content) => toTurn(content, "user"));
  // a stream that was not joined is a list of responses
  const parts = Array.isArray(response) ? response : [response];
  return {
    turns: system === undefined ? contents : [{ ...toTurn(system, "system"), role: "system" }, ...contents],
    answers: parts.flatMap((part) =>
      objectsOf(asObject(part).candidates).map(({ content }) => toTurn(content, "assistant")),
    ),
    tools: toolsOf(request),
  };
}

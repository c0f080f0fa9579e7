import { asObject, isJsonObject, type JsonObject, objectsOf, textOf } from "../../../lib/json.ts";
import { readContent, readTools, textPart, toJson } from "./parts.ts";
import type { Conversation, Part, Turn } from "./types.ts";

// Responses: `instructions`, `input` and `output` are lists of items.

function toTurn(item: JsonObject): Turn {
  const type = textOf(item.type) || "message";
  if (type === "message") return { role: textOf(item.role) || "assistant", parts: readContent(item.content) };
  return { role: type.endsWith("_output") ? "tool" : "assistant", parts: [toPart(item, type)] };
}

function toPart(item: JsonObject, type: string): Part {
  const id = textOf(item.call_id) || textOf(item.id);
  if (type === "reasoning") {
    const parts = [...readContent(item.summary), ...readContent(item.content)];
    return { kind: "reasoning", text: parts.map((part) => ("text" in part ? part.text : "")).join("\n\n") };
  }
  if (type.endsWith("_call_output")) {
    return { kind: "result", id, parts: readContent(item.output), isError: false };
  }
  if (type === "function_call" || type === "custom_tool_call") {
    return { kind: "call", id, name: textOf(item.name), input: toJson(item.arguments ?? item.input ?? "") };
  }
  if (type.endsWith("_call")) return { kind: "call", id, name: type, input: toJson(item) };
  return { kind: "other", name: type, value: item };
}

export function readResponses(request: JsonObject, response: unknown): Conversation {
  const instructions = textOf(request.instructions);
  const input = request.input;
  const turns = typeof input === "string" ? [{ role: "user", parts: [textPart(input)] }] : objectsOf(input).map(toTurn);
  const { output } = asObject(response);
  return {
    turns: instructions === "" ? turns : [{ role: "system", parts: [textPart(instructions)] }, ...turns],
    answers: isJsonObject(response) ? objectsOf(output).map(toTurn) : [],
    tools: readTools(request.tools),
  };
}

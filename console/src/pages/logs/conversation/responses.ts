import { isRow, type Row, readPath, readText, rowsOf } from "../../../lib/read.ts";
import { readContent, readTools, textPart, toJson } from "./parts.ts";
import type { Conversation, Part, Turn } from "./types.ts";

// Responses: `instructions`, `input` and `output` are lists of items.

function toTurn(item: Row): Turn {
  const type = readText(item, "type") || "message";
  if (type === "message") return { role: readText(item, "role") || "assistant", parts: readContent(item.content) };
  return { role: type.endsWith("_output") ? "tool" : "assistant", parts: [toPart(item, type)] };
}

function toPart(item: Row, type: string): Part {
  const id = readText(item, "call_id") || readText(item, "id");
  if (type === "reasoning") {
    const parts = [...readContent(item.summary), ...readContent(item.content)];
    return { kind: "reasoning", text: parts.map((part) => ("text" in part ? part.text : "")).join("\n\n") };
  }
  if (type.endsWith("_call_output")) {
    return { kind: "result", id, parts: readContent(item.output), isError: false };
  }
  if (type === "function_call" || type === "custom_tool_call") {
    return { kind: "call", id, name: readText(item, "name"), input: toJson(item.arguments ?? item.input ?? "") };
  }
  if (type.endsWith("_call")) return { kind: "call", id, name: type, input: toJson(item) };
  return { kind: "other", name: type, value: item };
}

export function readResponses(request: Row, response: unknown): Conversation {
  const instructions = readText(request, "instructions");
  const input = request.input;
  const turns = typeof input === "string" ? [{ role: "user", parts: [textPart(input)] }] : rowsOf(input).map(toTurn);
  const output = readPath(response, "output");
  return {
    turns: instructions === "" ? turns : [{ role: "system", parts: [textPart(instructions)] }, ...turns],
    answers: isRow(response) ? rowsOf(output).map(toTurn) : [],
    tools: readTools(request.tools),
  };
}

import { isRow, type Row, readPath, readText, rowsOf } from "../../../lib/read.ts";
import { readContent, readTools, textPart, toJson } from "./parts.ts";
import type { Conversation, Part, Turn } from "./types.ts";

// Chat completions and completions: `messages` and `choices`.

function reasoningOf(message: Row): readonly Part[] {
  const text = readText(message, "reasoning_content") || readText(message, "reasoning");
  return text === "" ? [] : [{ kind: "reasoning", text }];
}

function callsOf(message: Row): readonly Part[] {
  const calls = rowsOf(message.tool_calls).map(
    (call): Part => ({
      kind: "call",
      id: readText(call, "id"),
      name: readText(call, "function.name") || readText(call, "custom.name"),
      input: toJson(readPath(call, "function.arguments") ?? readPath(call, "custom.input") ?? ""),
    }),
  );
  const old = message.function_call;
  if (!isRow(old)) return calls;
  return [...calls, { kind: "call", id: "", name: readText(old, "name"), input: toJson(old.arguments) }];
}

function toTurn(message: Row): Turn {
  const role = readText(message, "role") || "assistant";
  const parts = readContent(message.content);
  if (role === "tool" || role === "function") {
    const id = readText(message, "tool_call_id") || readText(message, "name");
    return { role, parts: [{ kind: "result", id, parts, isError: false }] };
  }
  const refusal = readText(message, "refusal");
  const refused: readonly Part[] = refusal === "" ? [] : [{ kind: "refusal", text: refusal }];
  return { role, parts: [...reasoningOf(message), ...parts, ...refused, ...callsOf(message)] };
}

export function readChat(request: Row, response: unknown): Conversation {
  const choices = rowsOf(readPath(response, "choices"));
  return {
    turns: rowsOf(request.messages).map(toTurn),
    answers: choices.map(({ message }) => toTurn(isRow(message) ? message : {})),
    tools: readTools(request.tools),
  };
}

export function readCompletion(request: Row, response: unknown): Conversation {
  const prompts = Array.isArray(request.prompt) ? request.prompt : [request.prompt];
  const answers = rowsOf(readPath(response, "choices")).map(
    (choice): Turn => ({ role: "assistant", parts: [textPart(readText(choice, "text"))] }),
  );
  return { turns: prompts.map((prompt) => ({ role: "user", parts: [textPart(toJson(prompt))] })), answers, tools: [] };
}

import { asObject, isJsonObject, type JsonObject, objectsOf, textOf } from "../../../lib/json.ts";
import { readContent, readTools, textPart, toJson } from "./parts.ts";
import type { Conversation, Part, Turn } from "./types.ts";

// Chat completions and completions: `messages` and `choices`.

function reasoningOf(message: JsonObject): readonly Part[] {
  const text = textOf(message.reasoning_content) || textOf(message.reasoning);
  return text === "" ? [] : [{ kind: "reasoning", text }];
}

function callsOf(message: JsonObject): readonly Part[] {
  const calls = objectsOf(message.tool_calls).map(
    (call): Part => ({
      kind: "call",
      id: textOf(call.id),
      name: textOf(asObject(call.function).name) || textOf(asObject(call.custom).name),
      input: toJson(asObject(call.function).arguments ?? asObject(call.custom).input ?? ""),
    }),
  );
  const old = message.function_call;
  if (!isJsonObject(old)) return calls;
  return [...calls, { kind: "call", id: "", name: textOf(old.name), input: toJson(old.arguments) }];
}

function toTurn(message: JsonObject): Turn {
  const role = textOf(message.role) || "assistant";
  const parts = readContent(message.content);
  if (role === "tool" || role === "function") {
    const id = textOf(message.tool_call_id) || textOf(message.name);
    return { role, parts: [{ kind: "result", id, parts, isError: false }] };
  }
  const refusal = textOf(message.refusal);
  const refused: readonly Part[] = refusal === "" ? [] : [{ kind: "refusal", text: refusal }];
  return { role, parts: [...reasoningOf(message), ...parts, ...refused, ...callsOf(message)] };
}

export function readChat(request: JsonObject, response: unknown): Conversation {
  const choices = objectsOf(asObject(response).choices);
  return {
    turns: objectsOf(request.messages).map(toTurn),
    answers: choices.map(({ message }) => toTurn(isJsonObject(message) ? message : {})),
    tools: readTools(request.tools),
  };
}

export function readCompletion(request: JsonObject, response: unknown): Conversation {
  const prompts = Array.isArray(request.prompt) ? request.prompt : [request.prompt];
  const answers = objectsOf(asObject(response).choices).map(
    (choice): Turn => ({ role: "assistant", parts: [textPart(textOf(choice.text))] }),
  );
  return { turns: prompts.map((prompt) => ({ role: "user", parts: [textPart(toJson(prompt))] })), answers, tools: [] };
}

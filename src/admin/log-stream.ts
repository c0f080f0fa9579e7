import { isObject, parseJson } from "../lib/json.ts";
import { readEvents } from "../lib/sse.ts";

/** A choice while its pieces are put together. */
interface Choice {
  text: string;
  reasoning: string;
  toolCalls: Map<number, { id: unknown; type: unknown; function: { name: string; arguments: string } }>;
  finishReason: unknown;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function addToolCalls(choice: Choice, pieces: unknown): void {
  if (!Array.isArray(pieces)) return;
  for (const piece of pieces) {
    if (!isObject(piece)) continue;
    const index = Number(piece.index ?? 0);
    const call = choice.toolCalls.get(index) ?? {
      id: piece.id,
      type: piece.type,
      function: { name: "", arguments: "" },
    };
    const named = isObject(piece.function) ? piece.function : {};
    call.function.name += textOf(named.name);
    call.function.arguments += textOf(named.arguments);
    choice.toolCalls.set(index, call);
  }
}

function addPiece(choices: Map<number, Choice>, piece: unknown): void {
  if (!isObject(piece)) return;
  const index = Number(piece.index ?? 0);
  const choice = choices.get(index) ?? { text: "", reasoning: "", toolCalls: new Map(), finishReason: null };
  choices.set(index, choice);
  const delta = isObject(piece.delta) ? piece.delta : {};
  choice.text += textOf(delta.content) + textOf(piece.text);
  choice.reasoning += textOf(delta.reasoning_content);
  addToolCalls(choice, delta.tool_calls);
  choice.finishReason = piece.finish_reason ?? choice.finishReason;
}

function toChoice(index: number, choice: Choice, isChat: boolean): object {
  const finish_reason = choice.finishReason;
  if (!isChat) return { index, text: choice.text, finish_reason };
  const message = {
    role: "assistant",
    content: choice.text === "" && choice.toolCalls.size > 0 ? null : choice.text,
    ...(choice.reasoning !== "" && { reasoning_content: choice.reasoning }),
    ...(choice.toolCalls.size > 0 && { tool_calls: [...choice.toolCalls.values()] }),
  };
  return { index, message, finish_reason };
}

const endings = new Set(["response.completed", "response.incomplete", "response.failed"]);

/**
 * The answer a stored stream of chat, text completion or response events adds up to, so that a reader of logs sees one body.
 *
 * @returns Undefined when the text is no such stream.
 */
export function assembleStream(text: string): object | undefined {
  if (!/^(?:event|data|:)/.test(text)) return undefined;
  const choices = new Map<number, Choice>();
  let head: Record<string, unknown> | undefined;
  let usage: unknown;
  let error: unknown;
  for (const { data } of readEvents(text)) {
    const chunk = parseJson(data);
    if (!isObject(chunk)) continue;
    if (isObject(chunk.response) && endings.has(textOf(chunk.type))) return chunk.response;
    error ??= chunk.error;
    usage = chunk.usage ?? usage;
    if (!Array.isArray(chunk.choices)) continue;
    head ??= chunk;
    for (const piece of chunk.choices) addPiece(choices, piece);
  }
  if (!head) return error === undefined ? undefined : { error };
  const isChat = head.object !== "text_completion";
  return {
    id: head.id,
    object: isChat ? "chat.completion" : "text_completion",
    created: head.created,
    model: head.model,
    choices: [...choices].map(([index, choice]) => toChoice(index, choice, isChat)),
    ...(usage !== undefined && usage !== null && { usage }),
    ...(error !== undefined && error !== null && { error }),
  };
}

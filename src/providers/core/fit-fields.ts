import type { ChatRequest } from "../../schemas/chat.ts";
import { isReasoningPart, textOfPart } from "../../schemas/content-blocks.ts";
import type { ConversionOptions } from "./types.ts";

type Message = ChatRequest["messages"][number];

/** An earlier response without its reasoning; the same object where it has none. */
export function withoutReasoning(message: Message, { drop }: ConversionOptions): Message {
  if (message.role !== "assistant") return message;
  const { reasoning_content: text, reasoning, content_blocks: blocks, ...rest } = message;
  const parts: readonly unknown[] = Array.isArray(rest.content) ? rest.content : [];
  const remaining = parts.filter((part) => !isReasoningPart(part));
  const inContent = remaining.length < parts.length;
  const inBlocks = Array.isArray(blocks);
  if (text === undefined && reasoning === undefined && !inBlocks && !inContent) return message;
  if (text || reasoning || inContent || (inBlocks && blocks.some(isReasoningPart))) drop("messages.reasoning_content");
  // parts as they were
  if (inContent) return { ...rest, content: remaining.length > 0 ? remaining : null } as Message;
  if (!inBlocks || (rest.content !== null && rest.content !== undefined)) return rest;
  const said = blocks.map(textOfPart).join("");
  return said === "" ? rest : { ...rest, content: said };
}

/** Fields of OpenAI's answers that clients send back with them and hosts of fewer fields refuse. */
export const openaiAnswerFields = ["refusal", "annotations", "audio", "function_call"] as const;

/** Whether a field says nothing. */
const isVoid = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

/** A message without the fields that the model refuses; the same object where it has none. */
export function withoutFields(message: Message, names: readonly string[], { drop }: ConversionOptions): Message {
  let made = message;
  for (const name of names) {
    if (made[name] === undefined) continue;
    if (!isVoid(made[name])) drop(`messages.${name}`);
    const { [name]: _, ...rest } = made;
    made = { ...rest, role: message.role };
  }
  return made;
}

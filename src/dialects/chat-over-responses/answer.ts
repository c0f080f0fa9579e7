import { isObject, objectsIn, stringOrEmpty } from "../../lib/json.ts";
import type { ChatResponse } from "../../schemas/chat.ts";
import { callPlace, trimPlaces } from "../../schemas/content-blocks.ts";
import { toSignature } from "./signatures.ts";

type Members = Record<string, unknown>;

/** Chat usage from the usage of a response. */
export function toChatUsage(usage: unknown): Members | undefined {
  if (!isObject(usage)) return undefined;
  const { input_tokens, output_tokens, total_tokens, input_tokens_details, output_tokens_details } = usage;
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens,
    prompt_tokens_details: input_tokens_details,
    completion_tokens_details: output_tokens_details,
  };
}

/** The finish reason of a chat for a response. */
export function toFinishReason({ incomplete_details: details }: Members, hasCalls: boolean): string {
  const reason = isObject(details) ? details.reason : undefined;
  if (reason === "content_filter") return "content_filter";
  if (reason !== undefined && reason !== null) return "length";
  return hasCalls ? "tool_calls" : "stop";
}

/** The signature of a reasoning item; undefined without encrypted content. */
export function signatureOf({ id, encrypted_content: encrypted }: Members): string | undefined {
  return stringOrEmpty(encrypted) === ""
    ? undefined
    : toSignature({ id: stringOrEmpty(id), encrypted: stringOrEmpty(encrypted) });
}

function toReasoningBlock(item: Members): Members {
  const thinking = objectsIn(item.summary)
    .map(({ text }) => stringOrEmpty(text))
    .join("\n\n");
  const signature = signatureOf(item);
  return { type: "thinking", thinking, ...(signature !== undefined && { signature }) };
}

/** Blocks of one item: reasoning, text, or the place of a call. */
function toBlocks(item: Members): Members[] {
  if (item.type === "reasoning") return [toReasoningBlock(item)];
  if (item.type === "function_call") return [callPlace(item.call_id)];
  return objectsIn(item.content).flatMap(({ type, text }) => (type === "output_text" ? [{ type: "text", text }] : []));
}

/** A chat completion from a response (https://platform.openai.com/docs/api-reference/responses/object). */
export function toChatAnswer(body: unknown): ChatResponse {
  const response = isObject(body) ? body : {};
  if (!Array.isArray(response.output)) throw new TypeError("the response has no output");
  const output = objectsIn(response.output);
  const parts = output.filter(({ type }) => type === "message").flatMap(({ content }) => objectsIn(content));
  const join = (type: string, member: string) =>
    parts
      .filter((part) => part.type === type)
      .map((part) => stringOrEmpty(part[member]))
      .join("");
  const calls = output
    .filter(({ type }) => type === "function_call")
    .map(({ call_id: id, name, arguments: given }) => ({ id, type: "function", function: { name, arguments: given } }));
  const blocks = trimPlaces(output.flatMap(toBlocks));
  const usage = toChatUsage(response.usage);
  const message = {
    role: "assistant",
    content: join("output_text", "text"),
    refusal: join("refusal", "refusal"),
    content_blocks: blocks,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    model: stringOrEmpty(response.model),
    choices: [{ index: 0, message, finish_reason: toFinishReason(response, calls.length > 0) }],
    ...(usage && { usage }),
  };
}

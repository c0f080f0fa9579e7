import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { CallFailure, ConversionOptions } from "../types.ts";

type Message = ChatRequest["messages"][number];

const isThinking = (block: unknown): boolean =>
  isObject(block) && (block.type === "thinking" || block.type === "redacted_thinking");

/** Blocks without those of thinking; undefined where that changes nothing. */
function withoutBlocks(blocks: unknown): unknown[] | undefined {
  return Array.isArray(blocks) && blocks.some(isThinking) ? blocks.filter((one) => !isThinking(one)) : undefined;
}

function withoutThoughts(message: Message): Message {
  const content = withoutBlocks(message.content);
  const blocks = withoutBlocks(message.content_blocks);
  if (!content && !blocks) return message;
  return {
    ...message,
    ...(content && { content: content.length > 0 ? content : null }),
    ...(blocks && { content_blocks: blocks.length > 0 ? blocks : undefined }),
  };
}

/**
 * The request without the thinking of earlier answers, where Claude refuses it because a signature is not one of its own: it
 * came from another model or host (https://docs.claude.com/en/docs/build-with-claude/extended-thinking#thinking-encryption).
 * Undefined for other failures, and where there is no thinking to take out.
 */
export function withoutThinking(
  request: ChatRequest,
  { status, message }: CallFailure,
  { drop }: ConversionOptions,
): ChatRequest | undefined {
  if (
    status !== 400 ||
    !/thinking/i.test(message) ||
    !/signature|redacted_thinking.*data|data.*redacted_thinking/i.test(message)
  )
    return undefined;
  const messages = request.messages.map(withoutThoughts);
  if (messages.every((made, index) => made === request.messages[index])) return undefined;
  drop("messages.thinking");
  return { ...request, messages };
}

import { isReasoningPart } from "../../schemas/content-blocks.ts";
import type { CallFailure, ConversionOptions } from "../core/types.ts";

/**
 * A message of a chat or of the Messages API. Both contain blocks; a chat message also has those of earlier responses.
 */
type Message = Readonly<Record<string, unknown>>;

/** Blocks without thinking blocks; undefined without thinking blocks. */
function withoutBlocks(blocks: unknown): unknown[] | undefined {
  return Array.isArray(blocks) && blocks.some(isReasoningPart)
    ? blocks.filter((one) => !isReasoningPart(one))
    : undefined;
}

/** The message without thinking; no message when nothing else is left. */
function withoutReasoning<Item extends Message>(message: Item): Item[] {
  const { content: given, content_blocks: givenBlocks, ...rest } = message;
  const content = withoutBlocks(given) ?? given;
  const blocks = withoutBlocks(givenBlocks) ?? givenBlocks;
  if (content === given && blocks === givenBlocks) return [message];
  const isEmpty = (value: unknown) => !value || (Array.isArray(value) && value.length === 0);
  if (isEmpty(content) && isEmpty(blocks) && isEmpty(message.tool_calls)) return [];
  const made = {
    ...rest,
    content: isEmpty(content) ? null : content,
    ...(!isEmpty(blocks) && { content_blocks: blocks }),
  };
  return [made as unknown as Item]; // the same fields, some with fewer blocks
}

const namesThinking = /thinking/i;
const namesSeal = /signature|\bdata\b/i;

/**
 * The request without the thinking of earlier responses, for retrying after Claude rejected a signature from another
 * model or host (https://docs.claude.com/en/docs/build-with-claude/extended-thinking#thinking-encryption). Undefined
 * for other failures, and when there is no thinking to remove.
 */
export function withoutThinking<Request extends { messages: readonly Message[] }>(
  request: Request,
  { status, message }: CallFailure,
  { drop }: ConversionOptions,
): Request | undefined {
  if (status !== 400 || !namesThinking.test(message) || !namesSeal.test(message)) return undefined;
  const messages = request.messages.flatMap(withoutReasoning);
  const isSame =
    messages.length === request.messages.length && messages.every((made, at) => made === request.messages[at]);
  if (isSame) return undefined;
  drop("messages.thinking");
  return { ...request, messages };
}

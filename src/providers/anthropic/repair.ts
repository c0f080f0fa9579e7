import type { CallFailure, ConversionOptions } from "../core/types.ts";
import { isThoughtPart } from "../shared/messages.ts";

/** A message of a chat or of the Messages API: both hold blocks, a chat also where it keeps those of earlier answers. */
type Message = Readonly<Record<string, unknown>>;

/** Blocks without those of thinking; undefined where that changes nothing. */
function withoutBlocks(blocks: unknown): unknown[] | undefined {
  return Array.isArray(blocks) && blocks.some(isThoughtPart) ? blocks.filter((one) => !isThoughtPart(one)) : undefined;
}

/** The message without thinking; none where nothing else was said. */
function withoutThoughts<Item extends Message>(message: Item): Item[] {
  const { content: given, content_blocks: kept, ...rest } = message;
  const content = withoutBlocks(given) ?? given;
  const blocks = withoutBlocks(kept) ?? kept;
  if (content === given && blocks === kept) return [message];
  const isEmpty = (value: unknown) => !value || (Array.isArray(value) && value.length === 0);
  if (isEmpty(content) && isEmpty(blocks) && isEmpty(message.tool_calls)) return [];
  const made = {
    ...rest,
    content: isEmpty(content) ? null : content,
    ...(!isEmpty(blocks) && { content_blocks: blocks }),
  };
  return [made as unknown as Item]; // the same members, some with fewer blocks
}

const namesThinking = /thinking/i;
const namesSeal = /signature|\bdata\b/i;

/**
 * The request without the thinking of earlier answers, where Claude refuses it because a signature is not one of its own: it
 * came from another model or host (https://docs.claude.com/en/docs/build-with-claude/extended-thinking#thinking-encryption).
 * Undefined for other failures, and where there is no thinking to take out.
 */
export function withoutThinking<Request extends { messages: readonly Message[] }>(
  request: Request,
  { status, message }: CallFailure,
  { drop }: ConversionOptions,
): Request | undefined {
  if (status !== 400 || !namesThinking.test(message) || !namesSeal.test(message)) return undefined;
  const messages = request.messages.flatMap(withoutThoughts);
  const isSame =
    messages.length === request.messages.length && messages.every((made, at) => made === request.messages[at]);
  if (isSame) return undefined;
  drop("messages.thinking");
  return { ...request, messages };
}

import { isObject } from "../../lib/json.ts";
import { isReasoningPart } from "../../schemas/content-blocks.ts";
import type { CallFailure, ConversionOptions } from "../core/types.ts";

/**
 * A message of a chat or of the Messages API. Both contain blocks; a chat message also has those of earlier responses.
 */
type Message = Readonly<Record<string, unknown>>;

type BlockTest = (block: unknown) => boolean;

/** Blocks without those that a test finds; undefined where it finds none. */
function blocksWithout(blocks: unknown, isRemoved: BlockTest): unknown[] | undefined {
  return Array.isArray(blocks) && blocks.some(isRemoved) ? blocks.filter((one) => !isRemoved(one)) : undefined;
}

/** The message without certain blocks; no message when nothing else is left. */
function withoutReasoning<Item extends Message>(message: Item, isRemoved: BlockTest): Item[] {
  const { content: given, content_blocks: givenBlocks, ...rest } = message;
  const content = blocksWithout(given, isRemoved) ?? given;
  const blocks = blocksWithout(givenBlocks, isRemoved) ?? givenBlocks;
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
  return withoutBlocks(request, isReasoningPart, drop);
}

/** The request without the blocks that a test finds, which are reported as thinking; undefined where it finds none. */
export function withoutBlocks<Request extends { messages: readonly Message[] }>(
  request: Request,
  isRemoved: BlockTest,
  drop: ConversionOptions["drop"],
): Request | undefined {
  const messages = request.messages.flatMap((message) => withoutReasoning(message, isRemoved));
  const isSame =
    messages.length === request.messages.length && messages.every((made, at) => made === request.messages[at]);
  if (isSame) return undefined;
  drop("messages.thinking");
  return { ...request, messages };
}

/** Claude's signatures are base64. Those of the gateway for reasoning of other providers hold a colon. */
const claudeSignature = /^[\w+/=-]+$/;

/** Whether a block is thinking that Claude cannot have signed. */
export function isForeignThinking(block: unknown): boolean {
  if (!isObject(block) || block.type !== "thinking") return false;
  return typeof block.signature !== "string" || !claudeSignature.test(block.signature);
}

/** The request without the thinking of other providers, which Claude refuses. */
export function withoutForeignThinking<Request extends { messages: readonly Message[] }>(
  request: Request,
  { drop }: ConversionOptions,
): Request {
  return withoutBlocks(request, isForeignThinking, drop) ?? request;
}

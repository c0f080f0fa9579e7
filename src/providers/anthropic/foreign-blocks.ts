import { isObject, objectsIn } from "../../lib/json.ts";
import type { CountTokensRequest, MessagesRequest } from "../../schemas/messages.ts";

const foreign = /[^a-zA-Z0-9_-]/;

/** An id of a tool call as Claude takes it: it refuses the characters of some other providers' ids, such as Kimi's. */
export function toClaudeId(id: string): string {
  return foreign.test(id) ? id.replace(/[^a-zA-Z0-9_-]/g, "_") : id;
}

/** The member of a block that holds the id of a call. */
const idMembers: Readonly<Record<string, string>> = { tool_use: "id", tool_result: "tool_use_id" };

function fitBlock(block: unknown): unknown {
  if (!isObject(block) || typeof block.type !== "string") return block;
  const member = idMembers[block.type];
  const id = member === undefined ? undefined : block[member];
  return member !== undefined && typeof id === "string" && foreign.test(id)
    ? { ...block, [member]: toClaudeId(id) }
    : block;
}

/** Stands for the content of an error that was an image alone. */
const shownBelow = { type: "text", text: "The error is shown by what follows." };

/** Whether a block is an error of a tool with an image or the like. */
const isImageError = (block: object): block is { content: unknown } =>
  isObject(block) && block.is_error === true && objectsIn(block.content).some(({ type }) => type !== "text");

/**
 * Content in which errors of tools are text: Claude refuses other content in them ("all content must be type `text` if
 * `is_error` is true"), which other providers take. It follows behind all results. The same content where nothing changes.
 */
export function textErrors<Block extends object>(content: readonly Block[]): readonly Block[] {
  if (!content.some(isImageError)) return content;
  const moved: unknown[] = [];
  const fitted = content.map((block): object => {
    if (!isImageError(block)) return block;
    const parts = objectsIn(block.content);
    moved.push(...parts.filter(({ type }) => type !== "text"));
    const written = parts.filter(({ type }) => type === "text");
    return { ...block, content: written.length > 0 ? written : [shownBelow] };
  });
  return [...fitted, ...moved] as Block[]; // parts of results are blocks of a turn too
}

/**
 * A request whose calls and results Claude takes, where another provider served the conversation before; the same request
 * where it takes all, as nearly always.
 */
export function fitForeignBlocks<Request extends MessagesRequest | CountTokensRequest>(request: Request): Request {
  let isChanged = false;
  const messages = request.messages.map((message) => {
    const { content } = message;
    if (!Array.isArray(content)) return message;
    const fitted = textErrors(content.map(fitBlock) as typeof content); // the same blocks, some with other ids
    if (fitted.length === content.length && fitted.every((block, index) => block === content[index])) return message;
    isChanged = true;
    return { ...message, content: fitted };
  });
  return isChanged ? ({ ...request, messages } as Request) : request; // the same members, other messages
}

import { isObject } from "../../lib/json.ts";
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

/** A request whose calls and results have ids that Claude takes; the same request where all have them, as nearly always. */
export function fitForeignIds<Request extends MessagesRequest | CountTokensRequest>(request: Request): Request {
  let isChanged = false;
  const messages = request.messages.map((message) => {
    const { content } = message;
    if (!Array.isArray(content)) return message;
    const fitted = content.map(fitBlock);
    if (fitted.every((block, index) => block === content[index])) return message;
    isChanged = true;
    return { ...message, content: fitted };
  });
  return isChanged ? ({ ...request, messages } as Request) : request; // the same blocks, some with other ids
}

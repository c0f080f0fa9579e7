import type { MessagesRequest } from "../../schemas/messages.ts";
import type { ConversionOptions } from "../core/types.ts";
import { familyOf } from "./family.ts";

type Turn = MessagesRequest["messages"][number];
type Blocks = Exclude<Turn["content"], string>;

const toBlocks = (content: Turn["content"]): Blocks => {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
};

/**
 * Instructions in mid conversation as text of the user, behind what the user says at that place. They never stand between calls
 * and their results.
 */
function asUserText(messages: readonly Turn[]): Turn[] {
  const turns: Turn[] = [];
  let waiting: Blocks = [];
  for (const turn of messages) {
    const last = turns.at(-1);
    if (turn.role !== "system") {
      const takes = waiting.length > 0 && turn.role === "user";
      turns.push(takes ? { ...turn, content: [...toBlocks(turn.content), ...waiting] } : turn);
      if (takes) waiting = [];
    } else if (last?.role === "user") {
      turns[turns.length - 1] = { ...last, content: [...toBlocks(last.content), ...toBlocks(turn.content)] };
    } else waiting = [...waiting, ...toBlocks(turn.content)];
  }
  return waiting.length > 0 ? [...turns, { role: "user", content: waiting }] : turns;
}

/**
 * A Messages request without turns of the role `system` where the model or its host has none
 * (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
 *
 * @param isServed Whether the host has them for its newest models.
 */
export function fitSystemTurns<Request extends Pick<MessagesRequest, "model" | "messages">>(
  request: Request,
  isServed: boolean,
  options: ConversionOptions,
): Request {
  const { model, messages } = request;
  if (!messages.some(({ role }) => role === "system")) return request;
  if (isServed && familyOf(model, options).takesSystemTurns) return request;
  return { ...request, messages: asUserText(messages) };
}

import { isJsonObject } from "../../../lib/json.ts";
import { readChat, readCompletion } from "./chat.ts";
import { readGemini } from "./gemini.ts";
import { readMessages } from "./messages.ts";
import { readResponses } from "./responses.ts";
import type { Conversation } from "./types.ts";

/**
 * Both sides of a request as messages; undefined where it is no conversation or its body is not at hand.
 *
 * @param operation As the log row names it.
 */
export function readConversation(operation: string, request: unknown, response: unknown): Conversation | undefined {
  if (!isJsonObject(request)) return undefined;
  if (Array.isArray(request.contents)) return readGemini(request, response);
  if (operation === "messages" || operation === "countTokens") return readMessages(request, response);
  if (operation === "responses" || operation === "countInputTokens") return readResponses(request, response);
  if (Array.isArray(request.messages)) {
    return isJsonObject(response) && response.type === "message"
      ? readMessages(request, response)
      : readChat(request, response);
  }
  if (operation === "complete") return readCompletion(request, response);
  return undefined;
}

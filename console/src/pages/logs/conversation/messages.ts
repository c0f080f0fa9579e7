import { isJsonObject, type JsonObject, objectsOf, textOf } from "../../../lib/json.ts";
import { readContent, readTools } from "./parts.ts";
import type { Conversation, Turn } from "./types.ts";

/** Messages: `system`, `messages`, and an answer that is a message itself. */
export function readMessages(request: JsonObject, response: unknown): Conversation {
  const system = readContent(request.system);
  const turns = objectsOf(request.messages).map(
    (message): Turn => ({ role: textOf(message.role), parts: readContent(message.content) }),
  );
  const answer = isJsonObject(response) && Array.isArray(response.content) ? readContent(response.content) : undefined;
  return {
    turns: system.length === 0 ? turns : [{ role: "system", parts: system }, ...turns],
    answers: answer === undefined ? [] : [{ role: "assistant", parts: answer }],
    tools: readTools(request.tools),
  };
}

import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "./types.ts";

type Message = ChatRequest["messages"][number];

/** What a model reads in place of an image. */
const note = "[An image was left out here: this model takes no images.]";

const isImage = (part: unknown): boolean => isObject(part) && part.type === "image_url";

const hasImage = ({ content }: Message): boolean => Array.isArray(content) && content.some(isImage);

/** Where the question of the user begins that the model is to answer; the end where results of tools are to be answered. */
function findQuestion(messages: readonly Message[]): number {
  const before = messages.findLastIndex(({ role }) => role === "assistant" || role === "tool");
  return messages[before]?.role === "tool" ? messages.length : before + 1;
}

/**
 * Messages for a model that takes no images. An image of a tool or of an earlier question becomes a note, and is reported: a
 * session goes on when its model changes.
 *
 * @throws {InvalidRequestError} If the question itself has an image: an answer without it would be one to another question.
 */
export function leaveOutImages(
  messages: ChatRequest["messages"],
  { drop }: ConversionOptions,
): ChatRequest["messages"] {
  if (!messages.some(hasImage)) return messages;
  const question = findQuestion(messages);
  return messages.map((message, index) => {
    if (!hasImage(message)) return message;
    if (index >= question) {
      const param = `messages.${index}.content`;
      throw new InvalidRequestError(`Cannot send ${param}: the model takes no images`, {
        param,
        code: "unsupported_value",
      });
    }
    drop("messages.image_url");
    const parts = message.content as readonly unknown[]; // it has an image
    return {
      ...message,
      content: parts.map((part) => (isImage(part) ? { type: "text", text: note } : part)),
    } as Message;
  });
}

import { InvalidRequestError } from "../../errors.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { CountContentsRequest, GenerateContentRequest } from "../../schemas/gemini.ts";
import { dropUnmapped } from "../chat-writer.ts";
import type { DialectOptions } from "../types.ts";
import { toGeneration } from "./generation.ts";
import { membersOf } from "./members.ts";
import { toTools } from "./tools.ts";
import { toMessages, toSystem } from "./turns.ts";

/** Fields that are mapped. */
const mapped = new Set([
  "model",
  "stream",
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "generationConfig",
  "cachedContent",
]);

/**
 * The equivalent chat of a generateContent request.
 *
 * @throws {InvalidRequestError} If the response would not be what was requested.
 */
export function toChat(request: GenerateContentRequest, options: DialectOptions): ChatRequest {
  const given = membersOf(request);
  dropUnmapped(given, mapped, options.drop);
  if (typeof given.cachedContent === "string" && given.cachedContent !== "") {
    throw new InvalidRequestError("Cannot use cachedContent: the provider of this model does not store it", {
      param: "cachedContent",
      code: "unsupported_parameter",
    });
  }
  const messages = [...toSystem(given.systemInstruction, options), ...toMessages(given.contents, options)];
  if (messages.length === 0) {
    throw new InvalidRequestError("Invalid request body: contents must not be empty", {
      param: "contents",
      code: "invalid_body",
    });
  }
  return {
    model: request.model,
    messages,
    ...(request.stream === true && { stream: true }),
    ...toGeneration(given.generationConfig, options),
    ...toTools(given, options),
  };
}

/**
 * The chat whose tokens are counted: the given contents, or the whole request.
 *
 * @throws {InvalidRequestError} As `toChat`.
 */
export function toCountedChat(request: CountContentsRequest, options: DialectOptions): ChatRequest {
  const given = membersOf(request);
  const { model: _, ...whole } = membersOf(given.generateContentRequest);
  // both are validated by the schema, or read leniently
  const asked = { contents: given.contents, ...whole, model: request.model } as GenerateContentRequest;
  return toChat(asked, { ...options, drop: () => {} });
}

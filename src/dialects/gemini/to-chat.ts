import { InvalidRequestError } from "../../errors.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { CountContentsRequest, GenerateContentRequest } from "../../schemas/gemini.ts";
import { tellUnmapped } from "../chat-writer.ts";
import type { DialectOptions } from "../types.ts";
import { toGeneration } from "./generation.ts";
import { membersOf } from "./members.ts";
import { toTools } from "./tools.ts";
import { toMessages, toSystem } from "./turns.ts";

/** Members that are mapped. */
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
 * The chat that asks for what a request to generateContent asks for.
 *
 * @throws {InvalidRequestError} If the answer would not be what was asked.
 */
export function toChat(request: GenerateContentRequest, options: DialectOptions): ChatRequest {
  const given = membersOf(request);
  tellUnmapped(given, mapped, options.drop);
  if (typeof given.cachedContent === "string" && given.cachedContent !== "") {
    throw new InvalidRequestError("Cannot use cachedContent: the provider of this model does not hold it", {
      param: "cachedContent",
      code: "unsupported_parameter",
    });
  }
  const messages = [...toSystem(given.systemInstruction, options), ...toMessages(given.contents, options)];
  if (messages.length === 0) {
    throw new InvalidRequestError("Invalid request body: contents: they say nothing", {
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
 * The chat whose tokens are to be counted: that of the turns, or of the whole request.
 *
 * @throws {InvalidRequestError} As `toChat`.
 */
export function toCountedChat(request: CountContentsRequest, options: DialectOptions): ChatRequest {
  const given = membersOf(request);
  const { model: _, ...whole } = membersOf(given.generateContentRequest);
  // both are checked by the schema, or read leniently
  const asked = { contents: given.contents, ...whole, model: request.model } as GenerateContentRequest;
  return toChat(asked, { ...options, drop: () => {} });
}

import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { imageOf, readMessages, refuseMember, requireOneChoice } from "../shared/messages.ts";
import { createOpenaiLikeMapper, fromOpenaiLike } from "../shared/openai-like.ts";
import { toFreeTools, toPlainRequest } from "../shared/plain.ts";

/** Images must be inline: the server does not fetch URLs. */
function requireInlineImages(request: ChatRequest): void {
  for (const { content } of readMessages(request)) {
    if (!Array.isArray(content)) continue;
    const images = content.flatMap((part) => imageOf(part) ?? []);
    if (images.some(({ url }) => !url.startsWith("data:"))) {
      refuseMember("ollama", "messages", "it accepts images as data URLs only");
    }
  }
}

function toUpstream(request: ChatRequest, options: ConversionOptions): object {
  requireOneChoice("ollama", request);
  requireInlineImages(request);
  const { tools: _tools, tool_choice: _choice, ...rest } = toPlainRequest(request, options);
  return { ...rest, ...toFreeTools("ollama", request) };
}

/** Chat (https://github.com/ollama/ollama/blob/main/docs/openai.md). */
export const chat: OperationAdapter<"chat"> = {
  path: () => "/v1/chat/completions",
  toUpstream,
  fromUpstream: fromOpenaiLike,
  streamMapper: (request, options) => createOpenaiLikeMapper("ollama", request, options),
};

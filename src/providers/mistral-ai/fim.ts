import type { ChatRequest, CompletionRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { toTextAnswer, toTextMapper } from "../shared/completions.ts";
import { copyMembers, maxTokensOf } from "../shared/members.ts";
import { isGiven, readMessages, refuseMember, requireOneChoice, requireText } from "../shared/messages.ts";
import { createOpenaiLikeMapper, fromOpenaiLike } from "../shared/openai-like.ts";
import { modelName, sharedMembers } from "./request.ts";

const handled = ["model", "messages", "prompt", "suffix", "max_tokens", "max_completion_tokens", "n"];

function toFim(request: ChatRequest | CompletionRequest, prompt: string, { drop }: ConversionOptions): object {
  requireOneChoice("mistral-ai", request);
  const maxTokens = maxTokensOf(request);
  return {
    ...copyMembers(request, sharedMembers, { handled, drop }),
    model: modelName(request.model),
    prompt,
    ...(isGiven(request.suffix) && { suffix: request.suffix }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  };
}

/** The text before the gap: the request's `prompt`, else the last user message. */
function promptOfChat(request: ChatRequest): string {
  if (typeof request.prompt === "string") return request.prompt;
  const last = readMessages(request).findLast(({ role }) => role === "user");
  return requireText("mistral-ai", last?.content);
}

const path = () => "/fim/completions";

/** Fill-in-the-middle, requested as a chat (https://docs.mistral.ai/api/#tag/fim). */
export const chatAsFim: OperationAdapter<"chat"> = {
  path,
  toUpstream: (request, options) => toFim(request, promptOfChat(request), options),
  fromUpstream: fromOpenaiLike,
  streamMapper: (request, options) => createOpenaiLikeMapper("mistral-ai", request, options),
};

/** Text completions are fill-in-the-middle (https://docs.mistral.ai/api/#tag/fim). */
export const complete: OperationAdapter<"complete"> = {
  path,
  toUpstream(request, options) {
    const { prompt } = request;
    if (typeof prompt !== "string") refuseMember("mistral-ai", "prompt", "the prompt must be a single string");
    return toFim(request, prompt, options);
  },
  fromUpstream: (body, { model }, options) => toTextAnswer(fromOpenaiLike(body, { model, messages: [] }, options)),
  streamMapper: ({ model }, options) =>
    toTextMapper(createOpenaiLikeMapper("mistral-ai", { model, messages: [] }, options)),
};

import type { OperationAdapter } from "../core/types.ts";
import { createOpenaiLikeMapper, fromOpenaiLike } from "../shared/openai-like.ts";
import { toUpstream } from "./request.ts";

/** Chat (https://docs.mistral.ai/api/#tag/chat). */
export const chat: OperationAdapter<"chat"> = {
  path: () => "/chat/completions",
  toUpstream,
  fromUpstream: fromOpenaiLike,
  streamMapper: (request, options) => createOpenaiLikeMapper("mistral-ai", request, options),
};

import type { OperationAdapter } from "../core/types.ts";
import { createOpenaiLikeMapper, fromOpenaiLike } from "../shared/openai-like.ts";
import { mapWithoutBegun, withoutBegun } from "./prefix.ts";
import { toUpstream } from "./request.ts";

/** Chat (https://docs.mistral.ai/api/#tag/chat). */
export const chat: OperationAdapter<"chat"> = {
  path: () => "/chat/completions",
  toUpstream,
  fromUpstream: (body, request, options) => withoutBegun(fromOpenaiLike(body, request, options), request),
  streamMapper: (request, options) => mapWithoutBegun(createOpenaiLikeMapper("mistral-ai", request, options), request),
};

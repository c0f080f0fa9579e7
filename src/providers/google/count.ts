import * as v from "valibot";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { OperationAdapter } from "../core/types.ts";
import { tokenCount } from "../shared/token-count.ts";
import { type GeminiHost, toGeminiRequest } from "./request.ts";

const Count = v.looseObject({ totalTokens: tokenCount });

/**
 * Counts the tokens of a chat (https://ai.google.dev/api/tokens#method:-models.counttokens).
 *
 * @param nameOf The model's name on this host.
 * @param wrap Wraps the whole request, on hosts that count those; by default instructions and tools are beside the
 * contents.
 */
export function toGeminiCount(
  host: GeminiHost,
  nameOf: (request: ChatRequest) => string,
  wrap: (body: Record<string, unknown>) => object = ({ contents, systemInstruction, tools }) => ({
    contents,
    ...(systemInstruction !== undefined && { systemInstruction }),
    ...(tools !== undefined && { tools }),
  }),
): Required<Pick<OperationAdapter<"countChat">, "toUpstream" | "fromUpstream">> {
  return {
    toUpstream: (request, options) =>
      wrap({ ...toGeminiRequest({ ...request, model: nameOf(request) }, { ...options, drop: () => {} }, host) }),
    fromUpstream: (body) => ({ input_tokens: v.parse(Count, body).totalTokens ?? 0 }),
  };
}

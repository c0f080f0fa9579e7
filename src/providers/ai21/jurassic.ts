import * as v from "valibot";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { toChatAnswer, toChoice, toHead } from "../shared/answers.ts";
import { toTextCompletion } from "../shared/completions.ts";
import { requireNumbers, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { pathSegment } from "../shared/hosts.ts";
import { requireStrings } from "../shared/inputs.ts";
import { copyMembers, type MemberMap, maxTokensOf, toList } from "../shared/members.ts";
import {
  readMessages,
  refuseMember,
  refuseResponseFormat,
  refuseStream,
  refuseTools,
  requireText,
} from "../shared/messages.ts";

const text = v.nullish(v.string());
const FinishReason = v.nullish(v.looseObject({ reason: text }));
const id = v.nullish(v.union([v.string(), v.number()]));

const ChatReply = v.looseObject({ id, outputs: v.array(v.looseObject({ text, finishReason: FinishReason })) });
const TextReply = v.looseObject({
  id,
  completions: v.array(v.looseObject({ data: v.looseObject({ text }), finishReason: FinishReason })),
});
const EmbedReply = v.looseObject({ results: v.array(v.looseObject({ embedding: v.array(v.number()) })) });

const toScale = (value: unknown) => (typeof value === "number" ? { scale: value } : value);

const members = {
  n: "numResults",
  temperature: "temperature",
  top_p: "topP",
  min_tokens: "minTokens",
  top_k: "topKReturn",
  maxTokens: "maxTokens",
  minTokens: "minTokens",
  topP: "topP",
  topKReturn: "topKReturn",
  countPenalty: "countPenalty",
  numResults: "numResults",
  stop: ["stopSequences", toList],
  presence_penalty: ["presencePenalty", toScale],
  frequency_penalty: ["frequencyPenalty", toScale],
} satisfies MemberMap;

const handled = [
  "model",
  "messages",
  "prompt",
  "max_tokens",
  "max_completion_tokens",
  "tools",
  "functions",
  "tool_choice",
  "response_format",
];

/** Whether the model is from the Jurassic generation. */
export function isJurassic({ model }: { model: string }): boolean {
  return /^j(?:1|2|urassic)\b/.test(model);
}

function toShared(request: Record<string, unknown>, { drop }: ConversionOptions): object {
  const maxTokens = maxTokensOf(request);
  return {
    ...copyMembers(request, members, { handled, drop }),
    ...(maxTokens !== undefined && { maxTokens }),
  };
}

function headOf({ id: given }: { id?: v.InferOutput<typeof id> }, options: ConversionOptions) {
  return toHead("ai21", { id: typeof given === "number" ? String(given) : given }, options);
}

function toFinishReason({ finishReason }: { finishReason?: v.InferOutput<typeof FinishReason> }): string {
  return finishReason?.reason === "length" ? "length" : "stop";
}

function toUpstream(request: ChatRequest, options: ConversionOptions): object {
  refuseStream("ai21", request);
  refuseTools("ai21", request);
  refuseResponseFormat("ai21", request);
  const messages = readMessages(request).map(({ role, content }) => ({ role, text: requireText("ai21", content) }));
  const isSystem = ({ role }: { role: string }) => role === "system" || role === "developer";
  const system = messages.filter(isSystem).map((message) => message.text);
  return {
    ...toShared(request, options),
    messages: messages.filter((message) => !isSystem(message)),
    ...(system.length > 0 && { system: system.join("\n") }),
  };
}

/** Chat with Jurassic models (https://docs.ai21.com/reference/j2-chat-api-ref). */
export const jurassicChat: OperationAdapter<"chat"> = {
  path: ({ model }) => `/${pathSegment("model", model)}/chat`,
  toUpstream,
  fromUpstream(body, { model }, options) {
    const reply = v.parse(ChatReply, body);
    const choices = reply.outputs.map((output, index) =>
      toChoice({ content: output.text ?? "" }, toFinishReason(output), { index }),
    );
    return toChatAnswer({ ...headOf(reply, options), model, choices, usage: undefined });
  },
};

/** Text completions, which only Jurassic models have (https://docs.ai21.com/reference/j2-complete-ref). */
export const complete: OperationAdapter<"complete"> = {
  path: ({ model }) => `/${pathSegment("model", model)}/complete`,
  toUpstream(request, options) {
    refuseStream("ai21", request);
    const { prompt } = request;
    if (typeof prompt !== "string") refuseMember("ai21", "prompt", "the prompt must be a single string");
    return { ...toShared(request, options), prompt };
  },
  fromUpstream(body, { model }, options) {
    const reply = v.parse(TextReply, body);
    const completions = reply.completions.map((one) => ({
      text: one.data.text ?? "",
      finishReason: toFinishReason(one),
    }));
    return toTextCompletion(headOf(reply, options), model, completions);
  },
};

/**
 * Embeddings (https://docs.ai21.com/reference/embeddings-ref). There is only one model, so the request names no model.
 */
export const embed: OperationAdapter<"embed"> = {
  path: () => "/embed",
  toUpstream(request, { drop }) {
    requireNumbers("ai21", request);
    const handledHere = ["model", "input", "encoding_format"];
    const copied = copyMembers(request, { type: "type" }, { handled: handledHere, kind: "embed", drop });
    return { ...copied, texts: requireStrings("ai21", request) };
  },
  fromUpstream(body, request) {
    const vectors = v.parse(EmbedReply, body).results.map(({ embedding }) => embedding);
    return toEmbeddingAnswer(vectors, request, undefined);
  },
};

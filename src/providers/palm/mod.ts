import * as v from "valibot";
import type { ChatRequest } from "../../schemas/chat.ts";
import { defineProvider } from "../core/define.ts";
import { keyHeader } from "../core/headers.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { geminiNaming } from "../google/model.ts";
import { toChatAnswer, toChoice, toHead } from "../shared/answers.ts";
import { toTextCompletion } from "../shared/completions.ts";
import { inBatches, requireNumbers, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { pathSegment } from "../shared/hosts.ts";
import { requireStrings } from "../shared/inputs.ts";
import { clamp, copyMembers, type MemberMap, maxTokensOf, toList } from "../shared/members.ts";
import {
  readMessages,
  refuseMember,
  refuseResponseFormat,
  refuseStream,
  refuseTools,
  requireText,
} from "../shared/messages.ts";

const ChatReply = v.looseObject({ candidates: v.array(v.looseObject({ content: v.string() })) });
const TextReply = v.looseObject({ candidates: v.array(v.looseObject({ output: v.string() })) });
const EmbedReply = v.looseObject({ embedding: v.looseObject({ value: v.array(v.number()) }) });

const members = {
  top_p: "topP",
  top_k: "topK",
  n: "candidateCount",
  stop: ["stopSequences", toList],
  temperature: ["temperature", clamp(0, 1)],
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

const pathOf = (method: string) => {
  return ({ model }: { model: string }) => `/models/${pathSegment("model", model)}:${method}`;
};

function toPrompt(request: ChatRequest, options: ConversionOptions): object {
  refuseStream("palm", request);
  refuseTools("palm", request);
  refuseResponseFormat("palm", request);
  const messages = readMessages(request).map(({ role, content }) => ({ role, text: requireText("palm", content) }));
  const isSystem = ({ role }: { role: string }) => role === "system" || role === "developer";
  const context = messages.filter(isSystem).map(({ text }) => text);
  const { stopSequences, ...copied } = copyMembers(request, members, { handled, drop: options.drop });
  if (stopSequences !== undefined) options.drop("stop");
  if (maxTokensOf(request) !== undefined) options.drop("max_tokens");
  return {
    ...copied,
    prompt: {
      messages: messages.filter((one) => !isSystem(one)).map(({ role, text }) => ({ author: role, content: text })),
      ...(context.length > 0 && { context: context.join("\n") }),
    },
  };
}

const chat: OperationAdapter<"chat"> = {
  path: pathOf("generateMessage"),
  toUpstream: toPrompt,
  fromUpstream(body, { model }, options) {
    const { candidates } = v.parse(ChatReply, body);
    const choices = candidates.map(({ content }, index) => toChoice({ content }, "stop", { index }));
    return toChatAnswer({ ...toHead("palm", {}, options), model, choices, usage: undefined });
  },
};

const complete: OperationAdapter<"complete"> = {
  path: pathOf("generateText"),
  toUpstream(request, { drop }) {
    refuseStream("palm", request);
    const { prompt } = request;
    if (typeof prompt !== "string") refuseMember("palm", "prompt", "the prompt must be a single string");
    const maxTokens = maxTokensOf(request);
    return {
      ...copyMembers(request, members, { handled, drop }),
      prompt: { text: prompt },
      ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    };
  },
  fromUpstream(body, { model }, options) {
    const completions = v
      .parse(TextReply, body)
      .candidates.map(({ output }) => ({ text: output, finishReason: "stop" }));
    return toTextCompletion(toHead("palm", {}, options), model, completions);
  },
};

const embed: OperationAdapter<"embed"> = {
  path: pathOf("embedText"),
  toUpstream(request, { drop }) {
    const [text] = requireStrings("palm", request);
    requireNumbers("palm", request);
    const handledHere = ["model", "input", "encoding_format"];
    return { ...copyMembers(request, {}, { handled: handledHere, kind: "embed", drop }), text };
  },
  fromUpstream: (body, request) => toEmbeddingAnswer([v.parse(EmbedReply, body).embedding.value], request, undefined),
  ...inBatches(1),
};

/** PaLM (https://ai.google.dev/palm_docs), which Google has retired; the key is sent in a header. */
export const palm = defineProvider({
  slug: "palm",
  settings: { prefix: "palm", schema: v.object({}) },
  baseUrl: "https://generativelanguage.googleapis.com/v1beta3",
  authenticate: keyHeader("x-goog-api-key"),
  models: geminiNaming,
  operations: { chat, complete, embed },
});

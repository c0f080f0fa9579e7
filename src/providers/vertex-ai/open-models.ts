import * as v from "valibot";
import { requireJson } from "../../lib/json.ts";
import { type ChatRequest, ChatResponse, Usage } from "../../schemas/chat.ts";
import type { ConversionOptions, StreamMapper } from "../core/types.ts";
import { requireNoError } from "../google/stream.ts";
import { withPrefix } from "../mistral-ai/prefix.ts";
import { passUnknown } from "../shared/known.ts";
import type { PublishedModel } from "./publishers.ts";

/** Roles and fields these models do not support. */
function toPlainMessages(messages: ChatRequest["messages"]): object[] {
  return messages.map(({ content_blocks: _, role, ...rest }) => ({
    role: role === "developer" ? "system" : role,
    ...rest,
  }));
}

/** Body for models in OpenAI's shape (https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/llama). */
export function toOpenModelRequest(
  { messages, max_completion_tokens: limit, ...rest }: ChatRequest,
  { publisher, name, isDeployed }: PublishedModel,
): object {
  return {
    ...rest,
    model: isDeployed ? name : `${publisher}/${name}`,
    messages: toPlainMessages(messages),
    ...(limit !== undefined && limit !== null && { max_tokens: limit }),
    ...(rest.stream === true && { stream_options: { ...rest.stream_options, include_usage: true } }),
  };
}

/** Fields Mistral's models support (https://docs.mistral.ai/api). */
const ofMistral = new Set([
  "model",
  "messages",
  "temperature",
  "top_p",
  "max_tokens",
  "stream",
  "stop",
  "random_seed",
  "response_format",
  "tools",
  "tool_choice",
  "presence_penalty",
  "frequency_penalty",
  "n",
  "prediction",
  "parallel_tool_calls",
  "prompt_mode",
  "safe_prompt",
  "reasoning_effort",
]);

/** Body for Mistral's models (https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/mistral). */
export function toMistralRequest(request: ChatRequest, { name }: PublishedModel, options: ConversionOptions): object {
  const { messages, max_completion_tokens: limit, seed, stream_options: _, tool_choice: choice, ...rest } = request;
  const supported = Object.fromEntries(Object.entries(rest).filter(([member]) => ofMistral.has(member)));
  return {
    ...passUnknown(rest, (member) => ofMistral.has(member), options),
    ...supported,
    model: name,
    messages: withPrefix(toPlainMessages(messages), request),
    ...(limit !== undefined && limit !== null && { max_tokens: limit }),
    ...(seed !== undefined && seed !== null && { random_seed: seed }),
    ...(choice !== undefined && choice !== null && { tool_choice: choice === "required" ? "any" : choice }),
  };
}

/** The response of a model in OpenAI's shape. */
export function fromOpenModelAnswer(body: unknown): ChatResponse {
  return v.parse(ChatResponse, body);
}

const Chunk = v.looseObject({
  choices: v.nullish(v.array(v.looseObject({ finish_reason: v.nullish(v.string()) }))),
  usage: v.nullish(Usage),
});

/** Maps streams in OpenAI's shape: chunks are forwarded, without usage. */
export function createOpenModelMapper(slug: string): StreamMapper {
  let usage: Usage | undefined;
  let isFinished = false;
  return {
    map({ data }) {
      const body: unknown = requireJson(data);
      requireNoError(body, slug);
      const { usage: counts, choices, ...rest } = v.parse(Chunk, body);
      usage = counts ?? usage;
      isFinished ||= (choices ?? []).some(({ finish_reason: reason }) => Boolean(reason));
      return choices?.length ? [{ ...rest, choices }] : [];
    },
    isComplete: () => isFinished,
    usage: () => usage,
  };
}

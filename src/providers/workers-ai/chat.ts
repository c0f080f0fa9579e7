import * as v from "valibot";
import { isObject, requireJson } from "../../lib/json.ts";
import type { ChatRequest, ChatResponse, Usage } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter, StreamMapper } from "../core/types.ts";
import { createChunkMaker, toChatAnswer, toChoice, toHead, type UnifiedToolCall } from "../shared/answers.ts";
import { modelPath } from "../shared/hosts.ts";
import { clamp, copyMembers, type MemberMap, maxTokensOf } from "../shared/members.ts";
import { requireOneChoice } from "../shared/messages.ts";
import { createOpenaiLikeMapper, fromOpenaiLike, readUsage } from "../shared/openai-like.ts";
import { toFreeTools, toPlainMessages } from "../shared/plain.ts";
import { isOpenaiForm, Reply, Result, responseText, toToolCalls } from "./wire.ts";

/** Fields of both chat and text completions. */
export const sharedMembers = {
  top_p: "top_p",
  top_k: "top_k",
  seed: "seed",
  stream: "stream",
  raw: "raw",
  lora: "lora",
  repetition_penalty: "repetition_penalty",
  frequency_penalty: "frequency_penalty",
  presence_penalty: "presence_penalty",
  temperature: ["temperature", clamp(0, 5)],
} satisfies MemberMap;

const members = {
  ...sharedMembers,
  reasoning_effort: "reasoning_effort",
  chat_template_kwargs: "chat_template_kwargs",
} satisfies MemberMap;

const handled = [
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "tools",
  "tool_choice",
  "functions",
  "response_format",
];

/** The schema itself, where OpenAI has an object with its name and options. */
function toResponseFormat(format: unknown): object {
  if (!isObject(format) || format.type === "text") return {};
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined;
  return { response_format: schema === undefined ? { type: format.type } : { type: format.type, json_schema: schema } };
}

function toUpstream(request: ChatRequest, options: ConversionOptions): object {
  requireOneChoice("workers-ai", request);
  const maxTokens = maxTokensOf(request);
  return {
    ...copyMembers(request, members, { handled, drop: options.drop }),
    messages: toPlainMessages(request, options),
    ...toFreeTools("workers-ai", request),
    ...toResponseFormat(request.response_format),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  };
}

function finishReasonOf(calls: readonly unknown[]): string {
  return calls.length > 0 ? "tool_calls" : "stop";
}

function fromUpstream(body: unknown, request: ChatRequest, options: ConversionOptions): ChatResponse {
  const { result } = v.parse(Reply, body);
  if (isOpenaiForm(result)) return fromOpenaiLike(result, request, options);
  const { response, tool_calls, usage } = v.parse(Result, result);
  const head = toHead("workers-ai", {}, options);
  const toolCalls = toToolCalls(tool_calls, head.id);
  const text = responseText(response);
  const content = text === "" && toolCalls.length > 0 ? null : text;
  const choices = [toChoice({ content, toolCalls }, finishReasonOf(toolCalls))];
  return toChatAnswer({ ...head, model: request.model, choices, usage: readUsage(usage) });
}

/** Maps streams of legacy models: text deltas, then `[DONE]` without a finish reason. */
function createPlainMapper({ model }: ChatRequest, options: ConversionOptions): StreamMapper {
  const head = toHead("workers-ai", {}, options);
  const makeChunk = createChunkMaker(head, model);
  let calls: readonly UnifiedToolCall[] = [];
  let hasStarted = false;
  let hasEnded = false;
  let usage: Usage | undefined;
  const toDelta = (data: string): Record<string, unknown> => {
    const result = v.parse(Result, requireJson(data));
    usage = readUsage(result.usage) ?? usage;
    const delta: Record<string, unknown> = hasStarted ? {} : { role: "assistant", content: "" };
    const text = responseText(result.response);
    if (text !== "") delta.content = text;
    if (!result.tool_calls || result.tool_calls.length === 0) return delta;
    const known = calls.length;
    calls = toToolCalls([...Array(known).fill({}), ...result.tool_calls], head.id);
    delta.tool_calls = calls.slice(known).map((call, index) => ({ index: known + index, ...call }));
    return delta;
  };
  return {
    map({ data }) {
      const delta = toDelta(data);
      hasStarted = true;
      return Object.keys(delta).length > 0 ? [makeChunk(delta)] : [];
    },
    done() {
      hasEnded = true;
      const start = hasStarted ? [] : [makeChunk({ role: "assistant", content: "" })];
      return [...start, makeChunk({}, finishReasonOf(calls))];
    },
    isComplete: () => hasEnded,
    usage: () => usage,
  };
}

/** Maps streams of either kind; the first event shows which kind it is. */
function createMapper(request: ChatRequest, options: ConversionOptions): StreamMapper {
  const plain = createPlainMapper(request, options);
  let mapper: StreamMapper | undefined;
  return {
    map(event) {
      mapper ??= isOpenaiForm(requireJson(event.data)) ? createOpenaiLikeMapper("workers-ai", request, options) : plain;
      return mapper.map(event);
    },
    done: () => (mapper ?? plain).done?.() ?? [],
    isComplete: () => mapper?.isComplete() ?? plain.isComplete(),
    usage: () => mapper?.usage(),
  };
}

/** Chat (https://developers.cloudflare.com/workers-ai/models/). */
export const chat = {
  path: ({ model }) => modelPath(model),
  toUpstream,
  fromUpstream,
  streamMapper: createMapper,
} satisfies OperationAdapter<"chat">;

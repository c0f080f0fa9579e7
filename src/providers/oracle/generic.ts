import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { isObject, requireJson } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, StreamMapper } from "../core/types.ts";
import {
  type ForeignPart,
  type PlainMessage,
  readJsonFormat,
  readMessages,
  readToolChoice,
  readTools,
  refuseValue,
} from "../shared/chat-messages.ts";
import { passUnknown } from "../shared/known.ts";
import {
  GenericAnswer,
  type GenericCall,
  GenericEvent,
  type GenericMessage,
  namesOf,
  toFinishReason,
  toUsage,
} from "./wire.ts";

/** Request fields and their upstream names. */
export const numberNames = {
  max_tokens: "maxTokens",
  max_completion_tokens: "maxCompletionTokens",
  temperature: "temperature",
  top_p: "topP",
  top_k: "topK",
  frequency_penalty: "frequencyPenalty",
  presence_penalty: "presencePenalty",
  seed: "seed",
  n: "numGenerations",
  logit_bias: "logitBias",
} as const;
const read = new Set([
  ...Object.keys(numberNames),
  "model",
  "messages",
  "stream",
  "stream_options",
  "stop",
  "tools",
  "tool_choice",
  "response_format",
  "reasoning_effort",
]);

/** Content parts with a URL. */
const addressed: Readonly<Record<string, readonly [type: string, member: string]>> = {
  image_url: ["IMAGE", "imageUrl"],
  audio_url: ["AUDIO", "audioUrl"],
  video_url: ["VIDEO", "videoUrl"],
  document_url: ["DOCUMENT", "documentUrl"],
};

function toPart(part: string | ForeignPart): object {
  if (typeof part === "string") return { type: "TEXT", text: part };
  const known = Object.hasOwn(addressed, part.type) ? addressed[part.type] : undefined;
  const value = part.value[part.type];
  const { url, detail } = isObject(value) ? value : { url: value, detail: undefined };
  if (!known || typeof url !== "string") return refuseValue("messages", `oracle does not take ${part.type}`);
  const [type, member] = known;
  return { type, [member]: { url, ...(typeof detail === "string" && { detail: detail.toUpperCase() }) } };
}

function toMessage({ role, parts, calls, callId }: PlainMessage): object {
  return {
    role: role.toUpperCase(),
    content: parts.map(toPart),
    ...(calls.length > 0 && { toolCalls: calls.map((call) => ({ type: "FUNCTION", ...call })) }),
    ...(role === "tool" && { toolCallId: callId }),
  };
}

function toChoice(request: ChatRequest): object | undefined {
  const choice = readToolChoice(request);
  return choice && { type: choice.kind.toUpperCase(), ...(choice.kind === "function" && { name: choice.name }) };
}

function toFormat(request: ChatRequest): object | undefined {
  const format = readJsonFormat(request);
  if (!format) return undefined;
  if (!format.schema) return { type: "JSON_OBJECT" };
  return { type: "JSON_SCHEMA", jsonSchema: { name: format.name ?? "answer", schema: format.schema } };
}

/** Fields that are only renamed. */
export function renamed(request: ChatRequest, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, upstream]) => {
      const value = request[name];
      return value === null || value === undefined ? [] : [[upstream, value]];
    }),
  );
}

/** Stop sequences as a list. */
export function stopsOf({ stop }: ChatRequest): string[] | undefined {
  return typeof stop === "string" ? [stop] : (stop ?? undefined);
}

/** A request in the generic format. */
export function toGenericRequest(request: ChatRequest, options: ConversionOptions): object {
  const tools = readTools(request).map(({ name, description, parameters }) => ({
    type: "FUNCTION",
    name,
    ...(description && { description }),
    parameters,
  }));
  const stop = stopsOf(request);
  const choice = toChoice(request);
  const format = toFormat(request);
  const effort = request.reasoning_effort;
  const { maxTokens, ...numbers } = renamed(request, numberNames);
  return {
    ...passUnknown(request, (name) => read.has(name), options),
    apiFormat: "GENERIC",
    messages: readMessages(request).map(toMessage),
    ...numbers,
    ...(maxTokens !== undefined && numbers.maxCompletionTokens === undefined && { maxTokens }),
    ...(stop && { stop }),
    isStream: request.stream === true,
    ...(request.stream === true && { streamOptions: { isIncludeUsage: true } }),
    ...(tools.length > 0 && { tools }),
    ...(choice && { toolChoice: choice }),
    ...(format && { responseFormat: format }),
    ...(typeof effort === "string" && { reasoningEffort: effort.toUpperCase() }),
  };
}

function textOf({ content }: GenericMessage): string {
  return (content ?? []).map(({ text }) => text ?? "").join("");
}

function fromMessage(message: GenericMessage, strict: boolean): object {
  const calls = (message.toolCalls ?? []).map(({ id, name, arguments: text }, index) => ({
    id: id || `call_${index}`,
    type: "function",
    function: { name: name ?? "", arguments: text ?? "{}" },
  }));
  const text = textOf(message);
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: message.refusal || null,
    ...(!strict && message.reasoningContent && { reasoning_content: message.reasoningContent }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** The response in the generic format. */
export function fromGenericAnswer(body: unknown, { model }: ChatRequest, options: ConversionOptions) {
  const { strict } = options;
  const { modelId, chatResponse } = v.parse(GenericAnswer, body);
  const usage = toUsage(chatResponse.usage);
  return {
    ...namesOf(options, chatResponse.timeCreated),
    object: "chat.completion",
    model: modelId ?? model,
    choices: chatResponse.choices.map(({ index, message, finishReason: reason }, place) => ({
      index: index ?? place,
      message: fromMessage(message ?? {}, strict),
      logprobs: null,
      finish_reason: toFinishReason(reason ?? (message?.toolCalls?.length ? "tool_calls" : "stop"), strict),
    })),
    ...(usage && { usage }),
  };
}

/**
 * Numbers the tool calls of one choice. A delta without an id, or with the previous id, continues the previous call.
 */
export function createCallCounter() {
  let index = -1;
  let current = "";
  return ({ id, name, arguments: text }: Pick<GenericCall, "id" | "name" | "arguments">): object => {
    const isNew = index < 0 || (id ? id !== current : Boolean(name));
    if (!isNew) return { index, function: { arguments: text ?? "" } };
    index += 1;
    current = id || `call_${index}`;
    return { index, id: current, type: "function", function: { name: name ?? "", arguments: text ?? "" } };
  };
}

/** Maps streams in the generic format. */
export function createGenericMapper({ model }: ChatRequest, options: ConversionOptions): StreamMapper {
  const { strict } = options;
  const counters = new Map<number, ReturnType<typeof createCallCounter>>();
  const shared = { ...namesOf(options), object: "chat.completion.chunk", model };
  let usage: unknown;
  let finished = false;
  const deltaOf = (message: GenericMessage, index: number): object => {
    const isFirst = !counters.has(index);
    const toCall = counters.get(index) ?? createCallCounter();
    counters.set(index, toCall);
    const text = textOf(message);
    const calls = (message.toolCalls ?? []).map(toCall);
    return {
      ...(isFirst && { role: "assistant" }),
      ...((text !== "" || isFirst) && { content: text }),
      ...(!strict && message.reasoningContent && { reasoning_content: message.reasoningContent }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  };
  return {
    map({ data }) {
      const { index, message, finishReason: reason, usage: reported, code } = v.parse(GenericEvent, requireJson(data));
      if (typeof message === "string") {
        throw new UpstreamError(Number(code) || 502, `oracle error: ${message}`, {
          provider: "oracle",
          code: String(code ?? "upstream_error"),
        });
      }
      usage = toUsage(reported) ?? usage;
      if (!message && !reason) return [];
      const place = index ?? 0;
      const delta = deltaOf(message ?? {}, place);
      if (reason) finished = true;
      const finish = reason ? toFinishReason(reason, strict) : null;
      if (!finish && Object.keys(delta).length === 0) return [];
      return [{ ...shared, choices: [{ index: place, delta, logprobs: null, finish_reason: finish }] }];
    },
    isComplete: () => finished,
    usage: () => usage,
  };
}

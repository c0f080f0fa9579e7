import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { isObject, requireJson } from "../../lib/json.ts";
import type { ChatRequest, ChatResponse } from "../../schemas/chat.ts";
import { chat as cohereChat } from "../cohere/chat.ts";
import { toUpstream as toCohereBody } from "../cohere/request.ts";
import type { ConversionOptions, StreamMapper } from "../core/types.ts";
import { toArguments } from "../shared/answers.ts";
import { createCallCounter } from "./generic.ts";
import { CohereV2Answer, CohereV2Event, type CohereV2Message, namesOf, toFinishReason, toUsage } from "./wire.ts";

/** Fields of Cohere's own requests and their names here. */
const names: Readonly<Record<string, string>> = {
  max_tokens: "maxTokens",
  temperature: "temperature",
  k: "topK",
  p: "topP",
  seed: "seed",
  priority: "priority",
  frequency_penalty: "frequencyPenalty",
  presence_penalty: "presencePenalty",
  documents: "documents",
  stop_sequences: "stopSequences",
  safety_mode: "safetyMode",
  citation_options: "citationOptions",
  strict_tools: "isStrictToolsEnabled",
  logprobs: "isLogProbsEnabled",
  raw_prompting: "isRawPrompting",
  tool_choice: "toolsChoice",
};

/** Fields that are converted; others are forwarded to the model. */
const converted = new Set(["model", "messages", "tools", "response_format", "thinking", "stream"]);

function upper(value: unknown): unknown {
  return typeof value === "string" ? value.toUpperCase() : value;
}

function toPart(part: unknown): unknown {
  if (!isObject(part)) return { type: "TEXT", text: String(part) };
  const { type, image_url: image, ...rest } = part;
  return { type: upper(type), ...rest, ...(image !== undefined && { imageUrl: image }) };
}

function toMessage(message: unknown): object {
  const { role, content, tool_calls: calls, tool_call_id: callId, tool_plan: plan } = Object(message);
  const parts: unknown[] = Array.isArray(content) ? content : content === undefined || content === "" ? [] : [content];
  return {
    role: upper(role),
    content: parts.map(toPart),
    ...(Array.isArray(calls) && { toolCalls: calls.map((call) => ({ ...call, type: "FUNCTION" })) }),
    ...(callId !== undefined && { toolCallId: callId }),
    ...(plan !== undefined && { toolPlan: plan }),
  };
}

/** A request to a Cohere v2 model: Cohere's request under Oracle's field names. */
export function toCohereV2Request(request: ChatRequest, options: ConversionOptions): object {
  const body: Record<string, unknown> = { ...toCohereBody(request, options) };
  const { messages, tools, response_format: format, thinking } = body;
  const renamed = Object.entries(body).flatMap(([name, value]) => {
    if (value === undefined || converted.has(name)) return [];
    return [[Object.hasOwn(names, name) ? names[name] : name, value]];
  });
  const isStream = request.stream === true;
  return {
    ...Object.fromEntries(renamed),
    apiFormat: "COHEREV2",
    messages: Array.isArray(messages) ? messages.map(toMessage) : [],
    ...(Array.isArray(tools) && { tools: tools.map((tool) => ({ ...tool, type: "FUNCTION" })) }),
    ...(isObject(format) && {
      responseFormat: { type: "JSON_OBJECT", ...(isObject(format.json_schema) && { schema: format.json_schema }) },
    }),
    ...(isObject(thinking) && {
      thinking: {
        type: upper(thinking.type),
        ...(thinking.token_budget !== undefined && { tokenBudget: thinking.token_budget }),
      },
    }),
    isStream,
    ...(isStream && { streamOptions: { isIncludeUsage: true } }),
  };
}

/** A call with the fields of its function beside its id. */
function toCall({ id, function: called }: NonNullable<CohereV2Message["toolCalls"]>[number]) {
  const { name, arguments: text } = isObject(called) ? called : {};
  return { id: id ?? null, name: typeof name === "string" ? name : null, arguments: text };
}

/** The response of a Cohere v2 model. */
export function fromCohereV2Answer(body: unknown, request: ChatRequest, options: ConversionOptions): ChatResponse {
  const { modelId, chatResponse } = v.parse(CohereV2Answer, body);
  const { id, message, finishReason, usage: reported, errorMessage } = chatResponse;
  if (errorMessage) throw toFailure(errorMessage);
  const { content, toolPlan, toolCalls, citations } = message;
  const calls = toolCalls?.map(toCall).map(({ arguments: text, ...call }) => ({
    id: call.id,
    function: { name: call.name, arguments: toArguments(text) },
  }));
  const reply = {
    id,
    finish_reason: finishReason,
    message: {
      content: content?.map(({ type, text, thinking }) => ({ type: type?.toLowerCase(), text, thinking })),
      tool_plan: toolPlan,
      tool_calls: calls,
      citations,
    },
  };
  const answer = cohereChat.fromUpstream(reply, request, options);
  const usage = toUsage(reported);
  return { ...answer, model: modelId ?? request.model, ...(usage && { usage }) };
}

function toFailure(message: string): UpstreamError {
  return new UpstreamError(502, `oracle error: ${message}`, { provider: "oracle", code: "upstream_failed" });
}

/** What an event adds to the response. */
function createDeltaMaker(strict: boolean) {
  const toCallDelta = createCallCounter();
  let isFirst = true;
  let hasText = false;
  let hasCalls = false;
  return ({ content, toolCalls }: CohereV2Message, isLast: boolean): Record<string, unknown> => {
    const join = (member: "text" | "thinking") => (content ?? []).map((part) => part[member] ?? "").join("");
    // the last event repeats the whole message
    const text = isLast && hasText ? "" : join("text");
    const thinking = strict || isLast ? "" : join("thinking");
    const calls = isLast && hasCalls ? [] : (toolCalls ?? []).map(toCall);
    const delta = {
      ...(isFirst && { role: "assistant" }),
      ...((isFirst || text !== "") && { content: text }),
      ...(thinking !== "" && { reasoning_content: thinking }),
      ...(calls.length > 0 && {
        tool_calls: calls.map((call) =>
          toCallDelta({
            ...call,
            arguments: typeof call.arguments === "string" ? call.arguments : toArguments(call.arguments),
          }),
        ),
      }),
    };
    isFirst = false;
    hasText ||= text !== "";
    hasCalls ||= calls.length > 0;
    return delta;
  };
}

/** Maps the streams of Cohere v2 models. */
export function createCohereV2Mapper({ model }: ChatRequest, options: ConversionOptions): StreamMapper {
  const shared = { ...namesOf(options), object: "chat.completion.chunk", model };
  const toDelta = createDeltaMaker(options.strict);
  let usage: unknown;
  let isComplete = false;
  return {
    map({ data }) {
      const event = v.parse(CohereV2Event, requireJson(data));
      const { message, finishReason: reason, errorMessage, code } = event;
      if (typeof message === "string") {
        throw new UpstreamError(Number(code) || 502, `oracle error: ${message}`, {
          provider: "oracle",
          code: String(code ?? "upstream_error"),
        });
      }
      if (errorMessage) throw toFailure(errorMessage);
      usage = toUsage(event.usage) ?? usage;
      if (!message && !reason) return [];
      const delta = toDelta(message ?? {}, Boolean(reason));
      isComplete ||= Boolean(reason);
      if (!reason && Object.keys(delta).length === 0) return [];
      const finish_reason = reason ? toFinishReason(reason, options.strict) : null;
      return [{ ...shared, choices: [{ index: 0, delta, logprobs: null, finish_reason }] }];
    },
    isComplete: () => isComplete,
    usage: () => usage,
  };
}

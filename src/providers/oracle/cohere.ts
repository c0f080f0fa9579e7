import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { isObject, requireJson } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, StreamMapper } from "../core/types.ts";
import {
  argumentsOf,
  type PlainMessage,
  readJsonFormat,
  readMessages,
  readToolChoice,
  readTools,
  refuseValue,
  requireOneChoice,
  type ToolFunction,
  textOf,
} from "../shared/chat-messages.ts";
import { passUnknown } from "../shared/known.ts";
import { maxTokensOf } from "../shared/members.ts";
import { numberNames, renamed, stopsOf } from "./generic.ts";
import { CohereAnswer, type CohereCall, CohereReply, namesOf, toFinishReason, toUsage } from "./wire.ts";

const { max_completion_tokens: _, n: __, logit_bias: ___, ...names } = numberNames;
const read = new Set([
  ...Object.keys(names),
  "model",
  "messages",
  "stream",
  "stream_options",
  "stop",
  "tools",
  "tool_choice",
  "response_format",
  "max_completion_tokens",
  "n",
]);

function toCalls({ calls }: PlainMessage): object[] {
  return calls.map((call) => ({ name: call.name, parameters: argumentsOf(call) }));
}

/** The earlier messages; tool results include the calls they answer. */
function toHistory(messages: readonly PlainMessage[]): { role: string; message?: string; toolResults?: object[] }[] {
  const made = new Map<string, object>();
  return messages.map((one) => {
    const message = textOf(one.parts);
    if (one.role === "tool") {
      const call = made.get(one.callId) ?? { name: one.callId, parameters: {} };
      return { role: "TOOL", toolResults: [{ call, outputs: [{ result: message }] }] };
    }
    const calls = toCalls(one);
    for (const [index, { id }] of one.calls.entries()) made.set(id, calls[index] ?? {});
    const role = one.role === "assistant" ? "CHATBOT" : one.role.toUpperCase();
    return { role, message, ...(calls.length > 0 && { toolCalls: calls }) };
  });
}

function toTool({ name, description, parameters }: ToolFunction): object {
  const { properties, required } = parameters;
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  const definitions = Object.entries(isObject(properties) ? properties : {}).map(([member, schema]) => {
    const { type, description: text } = isObject(schema) ? schema : {};
    const isRequired = needed.has(member);
    return [member, { type: String(type ?? "str"), ...(text ? { description: text } : {}), isRequired }];
  });
  return { name, description: description ?? name, parameterDefinitions: Object.fromEntries(definitions) };
}

function toolsOf(request: ChatRequest): object[] {
  const choice = readToolChoice(request);
  const tools = readTools(request).map(toTool);
  if (choice?.kind === "none") return [];
  if (choice && choice.kind !== "auto") refuseValue("tool_choice", "models of Cohere's format choose tools themselves");
  return tools;
}

/** A request to a Cohere model: the last message is separate from the earlier ones. */
export function toCohereRequest(request: ChatRequest, options: ConversionOptions): object {
  requireOneChoice(request);
  const messages = readMessages(request);
  if (messages.some(({ parts }) => parts.some((part) => typeof part !== "string"))) {
    refuseValue("messages", "models of Cohere's format accept only text");
  }
  const preamble = messages.filter(({ role }) => role === "system").map(({ parts }) => textOf(parts));
  const history = toHistory(messages.filter(({ role }) => role !== "system"));
  const lastOther = history.findLastIndex(({ role }) => role !== "TOOL") + 1;
  const results = history.slice(lastOther).flatMap(({ toolResults }) => toolResults ?? []);
  const last = results.length === 0 ? history.at(-1) : undefined;
  const tools = toolsOf(request);
  const stop = stopsOf(request);
  const format = readJsonFormat(request);
  const most = maxTokensOf(request);
  return {
    ...passUnknown(request, (name) => read.has(name), options),
    apiFormat: "COHERE",
    message: last?.message ?? "",
    chatHistory: results.length === 0 ? history.slice(0, -1) : history.slice(0, lastOther),
    ...(preamble.length > 0 && { preambleOverride: preamble.join("\n") }),
    ...(results.length > 0 && { toolResults: results }),
    ...renamed(request, names),
    ...(most !== undefined && { maxTokens: most }),
    ...(stop && { stopSequences: stop }),
    isStream: request.stream === true,
    ...(request.stream === true && { streamOptions: { isIncludeUsage: true } }),
    ...(tools.length > 0 && { tools }),
    ...(format && { responseFormat: { type: "JSON_OBJECT", ...(format.schema && { schema: format.schema }) } }),
  };
}

function fromCalls(calls: readonly CohereCall[] | null | undefined): object[] {
  return (calls ?? []).map(({ name, parameters }, index) => ({
    id: `call_${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(parameters) },
  }));
}

function reasonOf(reason: string | null | undefined, calls: readonly object[], strict: boolean): string {
  return calls.length > 0 ? "tool_calls" : toFinishReason(reason ?? "stop", strict);
}

/** The response of a Cohere model. */
export function fromCohereAnswer(body: unknown, { model }: ChatRequest, options: ConversionOptions) {
  const { modelId, chatResponse } = v.parse(CohereAnswer, body);
  const { text, finishReason: reason, toolCalls, usage: reported } = chatResponse;
  const calls = fromCalls(toolCalls);
  const usage = toUsage(reported);
  const message = {
    role: "assistant",
    content: calls.length > 0 && !text ? null : (text ?? ""),
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    ...namesOf(options),
    object: "chat.completion",
    model: modelId ?? model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: reasonOf(reason, calls, options.strict) }],
    ...(usage && { usage }),
  };
}

/** Maps the streams of Cohere models. */
export function createCohereMapper({ model }: ChatRequest, options: ConversionOptions): StreamMapper {
  const shared = { ...namesOf(options), object: "chat.completion.chunk", model };
  let isFirst = true;
  let finished = false;
  let usage: unknown;
  const calls: object[] = [];
  return {
    map({ data }) {
      const {
        text,
        finishReason: reason,
        toolCalls,
        usage: reported,
        code,
        message,
      } = v.parse(CohereReply, requireJson(data));
      if (code && message) {
        throw new UpstreamError(Number(code) || 502, `oracle error: ${message}`, {
          provider: "oracle",
          code: String(code),
        });
      }
      usage = toUsage(reported) ?? usage;
      // the last event repeats text and tool calls
      const isNew = !reason || calls.length === 0;
      const added = isNew ? fromCalls(toolCalls).map((call, index) => ({ index: calls.length + index, ...call })) : [];
      calls.push(...added);
      const said = reason || toolCalls ? "" : (text ?? "");
      const delta = {
        ...(isFirst && { role: "assistant" }),
        ...((isFirst || said !== "") && { content: said }),
        ...(added.length > 0 && { tool_calls: added }),
      };
      isFirst = false;
      finished ||= Boolean(reason);
      if (!reason && Object.keys(delta).length === 0) return [];
      const finish = reason ? reasonOf(reason, calls, options.strict) : null;
      return [{ ...shared, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] }];
    },
    isComplete: () => finished,
    usage: () => usage,
  };
}

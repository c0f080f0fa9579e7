import { readDataUrl } from "../../lib/data-url.ts";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import {
  argumentsOf,
  type ForeignPart,
  type PlainMessage,
  readJsonFormat,
  readMessages,
  readToolChoice,
  readTools,
  refuseValue,
  requireOneChoice,
  textOf,
} from "../shared/chat-messages.ts";
import { passUnknown } from "../shared/known.ts";
import { maxTokensOf } from "../shared/members.ts";

/** Fields that are forwarded unchanged. */
const passed = ["model", "temperature", "top_p", "guardrails", "provisioned_throughput_id"] as const;
const read = new Set([
  ...passed,
  "messages",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "n",
  "tools",
  "tool_choice",
  "response_format",
]);

function toItem(part: string | ForeignPart): object {
  if (typeof part === "string") return { type: "text", text: part };
  const image = isObject(part.value.image_url) ? part.value.image_url.url : part.value.image_url;
  const found = part.type === "image_url" && typeof image === "string" ? readDataUrl(image) : undefined;
  if (found?.isBase64) {
    return { type: "image", details: { type: "base64", content: found.data, content_type: found.type } };
  }
  return refuseValue("messages", `cortex accepts text and images as data URLs, not ${part.type}`);
}

/** The function name of each call: tool results have to repeat it. */
function namesOfCalls(messages: readonly PlainMessage[]): Map<string, string> {
  return new Map(messages.flatMap(({ calls }) => calls.map(({ id, name }): [string, string] => [id, name])));
}

function toResult({ parts, callId }: PlainMessage, names: ReadonlyMap<string, string>): object {
  const content = [{ type: "text", text: textOf(parts) }];
  return { type: "tool_results", tool_results: { tool_use_id: callId, name: names.get(callId) ?? callId, content } };
}

function toMessage({ role, parts, calls }: PlainMessage): object {
  const isPlain = calls.length === 0 && parts.every((part) => typeof part === "string");
  if (isPlain) return { role, content: textOf(parts) };
  const uses = calls.map((call) => ({
    type: "tool_use",
    tool_use: { tool_use_id: call.id, name: call.name, input: argumentsOf(call) },
  }));
  return { role, content_list: [...parts.map(toItem), ...uses] };
}

/** Consecutive tool results form one user message. */
function toMessages(request: ChatRequest): object[] {
  const messages = readMessages(request);
  const names = namesOfCalls(messages);
  const sent: object[] = [];
  let results: object[] | undefined;
  for (const message of messages) {
    if (message.role !== "tool") {
      results = undefined;
      sent.push(toMessage(message));
      continue;
    }
    if (!results) {
      results = [];
      sent.push({ role: "user", content_list: results });
    }
    results.push(toResult(message, names));
  }
  return sent;
}

function toChoice(request: ChatRequest): object | undefined {
  const choice = readToolChoice(request);
  if (!choice) return undefined;
  return choice.kind === "function" ? { type: "tool", name: [choice.name] } : { type: choice.kind };
}

/** A chat request for `inference:complete`. */
export function toCompleteRequest(request: ChatRequest, options: ConversionOptions): object {
  requireOneChoice(request);
  const tools = readTools(request).map(({ name, description, parameters }) => ({
    tool_spec: { type: "generic", name, ...(description && { description }), input_schema: parameters },
  }));
  const choice = toChoice(request);
  const format = readJsonFormat(request);
  const most = maxTokensOf(request);
  return {
    ...passUnknown(request, (name) => read.has(name), options),
    ...Object.fromEntries(passed.flatMap((name) => (request[name] == null ? [] : [[name, request[name]]]))),
    messages: toMessages(request),
    stream: request.stream === true,
    ...(most !== undefined && { max_tokens: most }),
    ...(tools.length > 0 && { tools }),
    ...(choice && { tool_choice: choice }),
    ...(format && { response_format: { type: "json", schema: format.schema ?? { type: "object" } } }),
  };
}

import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest, ChatResponse, Usage } from "../../schemas/chat.ts";
import { callPlace, trimPlaces } from "../../schemas/content-blocks.ts";
import type { ConversionOptions } from "../core/types.ts";
import { type WireBlock, WireMessage, type WireUsage } from "./wire.ts";

type Strictness = Pick<ConversionOptions, "strict">;

const finishReasons: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
};

/** The finish reason: OpenAI's values, or Claude's own when the response need not be strict. */
export function toFinishReason(reason: string | null | undefined, { strict }: Strictness): string {
  if (!strict && reason) return reason;
  return finishReasons[reason ?? ""] ?? "stop";
}

/** Usage fields that OpenAI does not have. */
const extraUsage = ["cache_creation", "server_tool_use", "service_tier", "inference_geo", "speed"];

/** Further token counts with separate prices. */
const paidApart: readonly (readonly [member: string, count: string])[] = [
  ["cache_creation", "ephemeral_1h_input_tokens"],
  ["server_tool_use", "web_search_requests"],
];

function isPaidApart(member: string, value: unknown): boolean {
  const count = paidApart.find(([name]) => name === member)?.[1];
  const tokens: unknown = count !== undefined && isObject(value) ? value[count] : 0;
  return typeof tokens === "number" && tokens > 0;
}

/** Usage in the gateway's shape. Prompt tokens include cached ones. */
export function toUsage(usage: WireUsage | null | undefined, { strict }: Strictness): Usage | undefined {
  if (!usage) return undefined;
  const read = usage.cache_read_input_tokens ?? 0;
  const written = usage.cache_creation_input_tokens ?? 0;
  const prompt = (usage.input_tokens ?? 0) + read + written;
  const completion = usage.output_tokens ?? 0;
  const thought = usage.output_tokens_details?.thinking_tokens ?? 0;
  const extra = strict ? extraUsage.filter((name) => isPaidApart(name, usage[name])) : extraUsage;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: thought },
    ...(read + written > 0 && { cache_read_input_tokens: read, cache_creation_input_tokens: written }),
    ...pickExtras(usage, extra),
  };
}

function toToolCall({ id, name, input }: WireBlock): object {
  return { id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } };
}

/** Response fields beyond OpenAI's: Claude's blocks in order, for sending back with the next turn. */
function extraMembers(blocks: readonly WireBlock[]): object {
  const thought = blocks.map(({ type, thinking }) => (type === "thinking" ? (thinking ?? "") : "")).join("");
  return {
    ...(thought !== "" && { reasoning_content: thought }),
    content_blocks: trimPlaces(blocks.map((block) => (block.type === "tool_use" ? callPlace(block.id) : block))),
  };
}

/** Those of some fields that have a value. */
export function pickExtras(message: Readonly<Record<string, unknown>>, names: readonly string[]): object {
  const extras: Record<string, unknown> = {};
  for (const name of names) {
    const value = message[name];
    if (value !== undefined && value !== null) extras[name] = value;
  }
  return extras;
}

/** The chat response from Claude's (https://docs.claude.com/en/api/messages). */
export function fromClaudeReply(body: unknown, request: ChatRequest, options: ConversionOptions): ChatResponse {
  const message = v.parse(WireMessage, body);
  const blocks = message.content;
  const calls = blocks.filter(({ type }) => type === "tool_use").map(toToolCall);
  const text = blocks.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("");
  const usage = toUsage(message.usage, options);
  return {
    id: message.id ?? options.answerId ?? "",
    object: "chat.completion",
    created: options.created ?? 0,
    model: message.model ?? request.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" && calls.length > 0 ? null : text,
          refusal: null,
          ...(calls.length > 0 && { tool_calls: calls }),
          ...(!options.strict && extraMembers(blocks)),
        },
        logprobs: null,
        finish_reason: toFinishReason(message.stop_reason, options),
        ...(!options.strict && pickExtras(message, ["stop_sequence", "stop_details"])),
      },
    ],
    ...(usage && { usage }),
    ...(!options.strict && pickExtras(message, ["container", "context_management"])),
  };
}

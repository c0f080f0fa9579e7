import * as v from "valibot";
import { isObject, parseJson } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { callPlace } from "../../schemas/content-blocks.ts";
import { failureOfError } from "../core/failures.ts";
import type { ConversionOptions, StreamMapper, UpstreamEvent } from "../core/types.ts";
import { pickExtras, toFinishReason, toUsage } from "./response.ts";
import { WireEvent, type WireUsage } from "./wire.ts";

/** How a stream is mapped. */
interface ClaudeStreamOptions extends Pick<ConversionOptions, "strict" | "answerId" | "created"> {
  /** Slug of the provider, for error messages. */
  provider: string;
}

/** An unfinished content block. */
interface OpenBlock {
  type: string;
  /** Index among the tool calls; set for tool calls only. */
  call: number | undefined;
  /** Arguments that arrived with the block's first event. */
  input: unknown;
  hasArguments: boolean;
}

/** State of a stream. */
interface StreamState {
  id: string;
  created: number;
  model: string;
  usage: WireUsage | undefined;
  calls: number;
  blocks: Map<number, OpenBlock>;
  isComplete: boolean;
}

type Delta = Record<string, unknown>;

/** Later counts replace earlier ones; counts an event omits keep their value. */
function mergeUsage(known: WireUsage | undefined, next: WireUsage): WireUsage {
  const reported = Object.entries(next).filter(([, value]) => value !== null && value !== undefined);
  return { ...known, ...Object.fromEntries(reported) };
}

/** The delta of a block in Claude's shape. */
function blockDelta(index: number, delta: Delta, { strict }: ClaudeStreamOptions): Delta {
  return strict ? {} : { content_blocks: [{ index, delta }] };
}

function startBlock(
  { index, content_block: block }: WireEvent,
  state: StreamState,
  options: ClaudeStreamOptions,
): Delta {
  if (!block) return {};
  const place = index ?? 0;
  const isCall = block.type === "tool_use";
  const call = isCall ? state.calls++ : undefined;
  state.blocks.set(place, { type: block.type, call, input: block.input, hasArguments: false });
  if (!isCall) return blockDelta(place, block, options);
  const { id, name } = block;
  const started = { index: call, id, type: "function", function: { name, arguments: "" } };
  return { tool_calls: [started], ...blockDelta(place, callPlace(id), options) };
}

function continueBlock({ index, delta }: WireEvent, state: StreamState, options: ClaudeStreamOptions): Delta {
  const place = index ?? 0;
  const block = state.blocks.get(place);
  if (!delta) return {};
  // most events of most streams are text deltas
  if (options.strict && block?.call === undefined && delta.type === "text_delta") {
    return delta.text ? { content: delta.text } : {};
  }
  const { type, ...rest } = delta;
  if (block?.call !== undefined) return continueCall(block, delta.partial_json ?? "");
  const ofBlock = blockDelta(place, rest, options);
  if (type === "text_delta") return delta.text ? { content: delta.text, ...ofBlock } : {};
  if (type !== "thinking_delta") return ofBlock;
  return { ...(!options.strict && delta.thinking && { reasoning_content: delta.thinking }), ...ofBlock };
}

function continueCall(block: OpenBlock, text: string): Delta {
  if (text === "") return {};
  block.hasArguments = true;
  return { tool_calls: [{ index: block.call, function: { arguments: text } }] };
}

/** A call whose arguments were not streamed still needs an arguments string. */
function stopBlock({ index }: WireEvent, { blocks }: StreamState): Delta {
  const block = blocks.get(index ?? 0);
  if (block?.call === undefined || block.hasArguments) return {};
  return continueCall(block, JSON.stringify(block.input ?? {}));
}

function startMessage({ message }: WireEvent, state: StreamState): Delta {
  state.id = message?.id ?? state.id;
  state.model = message?.model ?? state.model;
  if (message?.usage) state.usage = mergeUsage(state.usage, message.usage);
  return { role: "assistant", content: "" };
}

/** What an event adds to the response; empty for events without content. */
function toDelta(event: WireEvent, state: StreamState, options: ClaudeStreamOptions): Delta {
  switch (event.type) {
    case "message_start":
      return startMessage(event, state);
    case "content_block_start":
      return startBlock(event, state, options);
    case "content_block_delta":
      return continueBlock(event, state, options);
    case "content_block_stop":
      return stopBlock(event, state);
    case "error":
      throw failureOfError(event.error, options.provider);
    default:
      return {};
  }
}

function toChunk({ id, created, model }: StreamState, delta: Delta, finish: object = { finish_reason: null }): object {
  const choice = { index: 0, delta, logprobs: null, ...finish };
  return { id, object: "chat.completion.chunk", created, model, choices: [choice] };
}

function finishMessage(event: WireEvent, state: StreamState, options: ClaudeStreamOptions): object[] {
  if (event.usage) state.usage = mergeUsage(state.usage, event.usage);
  const reason = event.delta?.stop_reason;
  if (!reason) return [];
  const extras = options.strict ? {} : pickExtras(event.delta ?? {}, ["stop_sequence", "stop_details", "container"]);
  return [toChunk(state, {}, { finish_reason: toFinishReason(reason, options), ...extras })];
}

/** Whether a value is a text delta, by far the most frequent event: it needs no schema validation. */
function isTextEvent(value: unknown): value is WireEvent {
  if (!isObject(value) || value.type !== "content_block_delta" || typeof value.index !== "number") return false;
  const { delta } = value;
  if (!isObject(delta) || delta.type !== "text_delta" || typeof delta.text !== "string") return false;
  for (const name in value) if (name !== "type" && name !== "index" && name !== "delta") return false;
  for (const name in delta) if (name !== "type" && name !== "text") return false;
  return true;
}

function readWireEvent(data: string): WireEvent {
  const value = parseJson(data);
  return isTextEvent(value) ? value : v.parse(WireEvent, value);
}

/** Maps streams of Claude (https://docs.claude.com/en/docs/build-with-claude/streaming). */
export function createClaudeStream(request: Pick<ChatRequest, "model">, options: ClaudeStreamOptions): StreamMapper {
  const { answerId: id = "", created = 0 } = options;
  const state: StreamState = {
    id,
    created,
    model: request.model,
    usage: undefined,
    calls: 0,
    blocks: new Map(),
    isComplete: false,
  };
  return {
    map({ data }: UpstreamEvent) {
      const event = readWireEvent(data);
      if (event.type === "message_stop") state.isComplete = true;
      if (event.type === "message_delta") return finishMessage(event, state, options);
      const delta = toDelta(event, state, options);
      return Object.keys(delta).length === 0 ? [] : [toChunk(state, delta)];
    },
    isComplete: () => state.isComplete,
    usage: () => toUsage(state.usage, options),
  };
}

import * as v from "valibot";
import { isObject, requireJson } from "../../lib/json.ts";
import type { ChatRequest, ChatResponse, Usage } from "../../schemas/chat.ts";
import { failureOfError } from "../core/failures.ts";
import type { ConversionOptions, StreamMapper } from "../core/types.ts";
import {
  type ChunkMaker,
  callId,
  createChunkMaker,
  toArguments,
  toChatAnswer,
  toChoice,
  toHead,
  toUsage,
  type UnifiedToolCall,
} from "./answers.ts";
import { CallIndexes } from "./call-indexes.ts";
import { tokenCount } from "./token-count.ts";

const text = v.nullish(v.string());
const number = v.nullish(v.number());

const Part = v.looseObject({ type: text, text, thinking: v.nullish(v.unknown()), signature: text });
type Part = v.InferOutput<typeof Part>;

const ToolCall = v.looseObject({
  index: number,
  id: text,
  function: v.nullish(v.looseObject({ name: text, arguments: v.nullish(v.unknown()) })),
});
type ToolCall = v.InferOutput<typeof ToolCall>;

const Message = v.looseObject({
  content: v.nullish(v.union([v.string(), v.array(Part)])),
  reasoning_content: text,
  reasoning: text,
  tool_calls: v.nullish(v.array(ToolCall)),
});
type Message = v.InferOutput<typeof Message>;

const Reply = v.looseObject({
  id: text,
  created: number,
  choices: v.array(
    v.looseObject({ index: number, message: Message, finish_reason: text, logprobs: v.nullish(v.unknown()) }),
  ),
  usage: v.nullish(v.unknown()),
});

const Chunk = v.looseObject({
  id: text,
  created: number,
  choices: v.nullish(
    v.array(
      v.looseObject({
        index: number,
        delta: v.nullish(Message),
        finish_reason: text,
        logprobs: v.nullish(v.unknown()),
      }),
    ),
  ),
  usage: v.nullish(v.unknown()),
  error: v.nullish(v.unknown()),
});
type ChunkChoice = NonNullable<v.InferOutput<typeof Chunk>["choices"]>[number];

const OpenaiUsage = v.looseObject({
  prompt_tokens: tokenCount,
  completion_tokens: tokenCount,
  num_cached_tokens: tokenCount,
  prompt_tokens_details: v.nullish(v.looseObject({ cached_tokens: tokenCount })),
  completion_tokens_details: v.nullish(v.looseObject({ reasoning_tokens: tokenCount })),
});

/** Usage with OpenAI's field names; undefined for anything else. */
export function readUsage(usage: unknown): Usage | undefined {
  const result = v.safeParse(OpenaiUsage, usage);
  if (!result.success) return undefined;
  const { prompt_tokens, completion_tokens, num_cached_tokens, ...details } = result.output;
  return toUsage({
    prompt: prompt_tokens,
    completion: completion_tokens,
    cached: details.prompt_tokens_details?.cached_tokens ?? num_cached_tokens,
    reasoning: details.completion_tokens_details?.reasoning_tokens,
  });
}

const finishReasons: ReadonlyMap<string, string> = new Map([
  ...["length", "model_length", "max_tokens"].map((word) => [word, "length"] as const),
  ...["tool_calls", "function_call"].map((word) => [word, "tool_calls"] as const),
  ["content_filter", "content_filter"],
]);

/** The finish reason in the gateway's terms; a stop with tool calls becomes `tool_calls`. */
function toFinishReason(word: string | null | undefined, hasCalls: boolean): string {
  return finishReasons.get(word ?? "") ?? (hasCalls ? "tool_calls" : "stop");
}

/** Text of a reasoning part; some providers send it as a list of parts. */
function thinkingOf({ thinking }: Part): string {
  if (typeof thinking === "string") return thinking;
  if (!Array.isArray(thinking)) return "";
  return thinking.map((part) => (isObject(part) && typeof part.text === "string" ? part.text : "")).join("");
}

/** Content of a message or delta, with its parts sorted by kind. */
function readSaid({ content, reasoning_content, reasoning }: Message) {
  const parts = Array.isArray(content) ? content : [];
  const thinkingParts = parts.filter(({ type }) => type === "thinking");
  return {
    text: typeof content === "string" ? content : parts.map((part) => part.text ?? "").join(""),
    thinkingParts,
    reasoning: reasoning_content ?? reasoning ?? thinkingParts.map(thinkingOf).join(""),
    parts,
  };
}

function toBlock(part: Part): object {
  if (part.type !== "thinking") return part;
  return { type: "thinking", thinking: thinkingOf(part), ...(part.signature && { signature: part.signature }) };
}

function toToolCalls(calls: readonly ToolCall[], answerId: string): UnifiedToolCall[] {
  return calls.map((call, index) => ({
    id: call.id ?? callId(answerId, index),
    type: "function",
    function: { name: call.function?.name ?? "", arguments: toArguments(call.function?.arguments) },
  }));
}

/** Responses that differ from OpenAI's in details: content in parts, arguments as objects, other finish reasons. */
export function fromOpenaiLike(body: unknown, { model }: ChatRequest, options: ConversionOptions): ChatResponse {
  const { choices, usage, ...given } = v.parse(Reply, body);
  const head = toHead("0", given, options);
  const converted = choices.map(({ index, message, finish_reason, logprobs }) => {
    const { text, thinkingParts, reasoning, parts } = readSaid(message);
    const toolCalls = toToolCalls(message.tool_calls ?? [], head.id);
    const extras = {
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      ...(thinkingParts.length > 0 && { content_blocks: parts.map(toBlock) }),
    };
    const content = text === "" && toolCalls.length > 0 ? null : text;
    return toChoice(
      { content, toolCalls, ...(!options.strict && { extras }) },
      toFinishReason(finish_reason, toolCalls.length > 0),
      { index: index ?? 0, logprobs: logprobs ?? null },
    );
  });
  return toChatAnswer({ ...head, model, choices: converted, usage: readUsage(usage) });
}

/** One choice of a stream: what it has sent so far. */
interface ChoiceState {
  calls: CallIndexes;
  hasEnded: boolean;
}

/** Tool call deltas: id and name once, then only arguments. */
function toCallDeltas(calls: readonly ToolCall[], state: ChoiceState, answerId: string): object[] {
  return calls.map((call) => {
    const { name, arguments: value } = call.function ?? {};
    const pieces = typeof value === "string" ? value : isObject(value) ? JSON.stringify(value) : "";
    const begun = state.calls.count;
    const index = state.calls.indexOf({ ...call, function: { name, arguments: pieces } });
    if (index < begun) return { index, function: { arguments: pieces } };
    const id = call.id ?? callId(answerId, index);
    return { index, id, type: "function", function: { name: name ?? "", arguments: pieces } };
  });
}

function toDelta(message: Message, { strict }: ConversionOptions): Record<string, unknown> {
  const { text, thinkingParts, reasoning } = readSaid(message);
  const blocks = thinkingParts.map((part, index) => {
    const thinking = { thinking: thinkingOf(part) };
    return { index, delta: part.signature ? { ...thinking, signature: part.signature } : thinking };
  });
  return {
    ...(text !== "" && { content: text }),
    ...(!strict && reasoning !== "" && { reasoning_content: reasoning }),
    ...(!strict && blocks.length > 0 && { content_blocks: blocks }),
  };
}

/** Maps streams that differ from OpenAI's in the same details. */
export function createOpenaiLikeMapper(
  provider: string,
  { model }: ChatRequest,
  options: ConversionOptions,
): StreamMapper {
  const states = new Map<number, ChoiceState>();
  let head = toHead("0", {}, options);
  let makeChunk: ChunkMaker | undefined;
  let usage: Usage | undefined;

  const mapChoice = ({ index, delta, finish_reason, logprobs }: ChunkChoice, make: ChunkMaker): object[] => {
    const at = { index: index ?? 0, logprobs };
    const known = states.get(at.index);
    const state = known ?? { calls: new CallIndexes(), hasEnded: false };
    states.set(at.index, state);
    const said = delta ? toDelta(delta, options) : {};
    const calls = toCallDeltas(delta?.tool_calls ?? [], state, head.id);
    if (calls.length > 0) said.tool_calls = calls;
    const chunks: object[] = [];
    if (!known) chunks.push(make({ role: "assistant", content: "", ...said }, null, at));
    else if (Object.keys(said).length > 0) chunks.push(make(said, null, at));
    if (finish_reason && !state.hasEnded) {
      state.hasEnded = true;
      chunks.push(make({}, toFinishReason(finish_reason, state.calls.count > 0), { index: at.index }));
    }
    return chunks;
  };
  return {
    map({ data }) {
      const { choices, usage: counts, error, ...given } = v.parse(Chunk, requireJson(data));
      if (error !== undefined && error !== null) throw failureOfError(error, provider);
      if (!makeChunk) head = toHead("0", given, options);
      makeChunk ??= createChunkMaker(head, model);
      usage = readUsage(counts) ?? usage;
      const make = makeChunk;
      return (choices ?? []).flatMap((choice) => mapChoice(choice, make));
    },
    isComplete: () => states.size > 0 && [...states.values()].every(({ hasEnded }) => hasEnded),
    usage: () => usage,
  };
}

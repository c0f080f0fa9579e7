import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { parseJson } from "../../lib/json.ts";
import type { ChatRequest, Usage } from "../../schemas/chat.ts";
import { callPlace } from "../../schemas/content-blocks.ts";
import type { ConversionOptions, StreamMapper } from "../core/types.ts";
import { toFinishReason, toUsage } from "./answer.ts";
import { BlockDelta, BlockStart, BlockStop, MessageStop, StreamFailure, StreamMetadata } from "./wire.ts";

/** A tool call whose arguments are still arriving. */
interface OpenCall {
  index: number;
  hasArguments: boolean;
}

/** @throws {UpstreamError} The failure an event reports, by the event's name. */
export function requireNoFailure(event: string, data: string): void {
  if (!/(?:exception|error)$/i.test(event)) return;
  const { error } = v.parse(StreamFailure, parseJson(data));
  throw new UpstreamError(error.status ?? 502, `bedrock error: ${error.message}`, {
    provider: "bedrock",
    type: error.type,
    code: error.type,
  });
}

type ReasoningDelta = NonNullable<v.InferOutput<typeof BlockDelta>["delta"]["reasoningContent"]>;

/** Content blocks that callers assemble: by their index, delta by delta. The first delta of a block has its type. */
class BlockDeltas {
  readonly #begun = new Set<number>();

  #add(index: number, type: string, delta: object): object {
    const isFirst = !this.#begun.has(index);
    this.#begun.add(index);
    return { content_blocks: [{ index, delta: isFirst ? { type, ...delta } : delta }] };
  }

  text(index: number, text: string): object {
    return { content: text, ...this.#add(index, "text", { text }) };
  }

  reasoning(index: number, { text, signature, redactedContent }: ReasoningDelta): object {
    const delta = {
      ...(typeof text === "string" && { thinking: text }),
      ...(typeof signature === "string" && { signature }),
      ...(typeof redactedContent === "string" && { data: redactedContent }),
    };
    const type = typeof redactedContent === "string" ? "redacted_thinking" : "thinking";
    return { ...(text && { reasoning_content: text }), ...this.#add(index, type, delta) };
  }

  /** The place of a call among the blocks. */
  place(index: number, id: string): object {
    return { content_blocks: [{ index, delta: callPlace(id) }] };
  }
}

type MakeChunk = (delta: object, finish?: string) => object;

/** Makes chunks of content blocks. Tool calls are numbered across the whole stream. */
function createBlockMapper(chunk: MakeChunk, { strict }: ConversionOptions) {
  const calls = new Map<number, OpenCall>();
  const deltas = new BlockDeltas();
  const argumentsChunk = (index: number, text: string) =>
    chunk({ tool_calls: [{ index, function: { arguments: text } }] });
  return {
    start(data: unknown): object[] {
      const { contentBlockIndex, start } = v.parse(BlockStart, data);
      const tool = start?.toolUse;
      if (!tool || tool.type === "server_tool_use") return [];
      const index = calls.size;
      calls.set(contentBlockIndex, { index, hasArguments: false });
      const named = { name: tool.name, arguments: "" };
      const call = { index, id: tool.toolUseId, type: "function", function: named };
      const place = strict ? {} : deltas.place(contentBlockIndex, tool.toolUseId);
      return [chunk({ tool_calls: [call], ...place })];
    },
    continue(data: unknown): object[] {
      const { contentBlockIndex, delta } = v.parse(BlockDelta, data);
      if (typeof delta.text === "string")
        return [chunk(strict ? { content: delta.text } : deltas.text(contentBlockIndex, delta.text))];
      if (delta.reasoningContent) {
        return strict ? [] : [chunk(deltas.reasoning(contentBlockIndex, delta.reasoningContent))];
      }
      const call = calls.get(contentBlockIndex);
      const text = delta.toolUse?.input;
      if (call && text) {
        call.hasArguments = true;
        return [argumentsChunk(call.index, text)];
      }
      if (!delta.citation || strict) return [];
      return [chunk({ content_blocks: [{ index: contentBlockIndex, delta: { citation: delta.citation } }] })];
    },
    /** A call without arguments gets an empty object. */
    stop(data: unknown): object[] {
      const call = calls.get(v.parse(BlockStop, data).contentBlockIndex);
      return call && !call.hasArguments ? [argumentsChunk(call.index, "{}")] : [];
    },
  };
}

/** Maps the events of ConverseStream to chunks. */
export function createConverseMapper(request: ChatRequest, options: ConversionOptions): StreamMapper {
  const shared = {
    id: options.answerId ?? "chatcmpl-bedrock",
    object: "chat.completion.chunk",
    created: options.created ?? 0,
    model: request.model,
  };
  const chunk: MakeChunk = (delta, finish) => ({
    ...shared,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish ?? null }],
  });
  const blocks = createBlockMapper(chunk, options);
  let isComplete = false;
  let usage: Usage | undefined;
  return {
    map({ event, data }) {
      switch (event) {
        case "messageStart":
          return [chunk({ role: "assistant", content: "" })];
        case "contentBlockStart":
          return blocks.start(parseJson(data));
        case "contentBlockDelta":
          return blocks.continue(parseJson(data));
        case "contentBlockStop":
          return blocks.stop(parseJson(data));
        case "messageStop":
          isComplete = true;
          return [chunk({}, toFinishReason(v.parse(MessageStop, parseJson(data)).stopReason, options))];
        case "metadata":
          usage = toUsage(v.parse(StreamMetadata, parseJson(data)).usage ?? {});
          return [];
        default:
          requireNoFailure(event, data);
          return [];
      }
    },
    isComplete: () => isComplete,
    usage: () => usage,
  };
}

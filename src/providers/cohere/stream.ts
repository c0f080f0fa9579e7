import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { requireJson } from "../../lib/json.ts";
import type { ChatRequest, Usage } from "../../schemas/chat.ts";
import type { ConversionOptions, StreamMapper } from "../core/types.ts";
import { callId, createChunkMaker, toHead, toPortableId } from "../shared/answers.ts";
import { readUsage, StreamEvent, toFinishReason } from "./wire.ts";

type Delta = NonNullable<StreamEvent["delta"]>;
type StreamMessage = NonNullable<Delta["message"]>;

/** The content delta: text, or thinking when the response need not be strict. */
function toContentDelta({ content }: StreamMessage, index: number, strict: boolean): object | undefined {
  if (!content || Array.isArray(content)) return undefined;
  if (content.text) return { content: content.text };
  if (!content.thinking || strict) return undefined;
  const { thinking } = content;
  return { reasoning_content: thinking, content_blocks: [{ index, delta: { thinking } }] };
}

/** The plan of calls, which is the reasoning of models that do not think. */
const toPlanDelta = (plan: string, hasThought: boolean): object => ({
  tool_plan: plan,
  ...(!hasThought && { reasoning_content: plan, content_blocks: [{ index: 0, delta: { thinking: plan } }] }),
});

/** Maps a stream of the chat operation (https://docs.cohere.com/v2/docs/streaming). */
export function createMapper({ model }: ChatRequest, options: ConversionOptions): StreamMapper {
  const { strict } = options;
  let head = toHead("cohere", {}, options);
  let makeChunk = createChunkMaker(head, model);
  let isComplete = false;
  let hasThought = false;
  let usage: Usage | undefined;
  /** Index of each tool call in the gateway's stream, by the upstream's index. */
  const calls = new Map<number, number>();

  const startCall = (index: number, call: StreamMessage["tool_calls"]): object | undefined => {
    if (!call || Array.isArray(call)) return undefined;
    const number = calls.size;
    calls.set(index, number);
    const { name, arguments: text } = call.function ?? {};
    const started = { name: name ?? "", arguments: text ?? "" };
    return {
      tool_calls: [
        {
          index: number,
          id: call.id ? toPortableId(call.id) : callId(head.id, number),
          type: "function",
          function: started,
        },
      ],
    };
  };
  const continueCall = (index: number, call: StreamMessage["tool_calls"]): object | undefined => {
    if (!call || Array.isArray(call) || !call.function?.arguments) return undefined;
    const number = calls.get(index) ?? 0;
    return { tool_calls: [{ index: number, function: { arguments: call.function.arguments } }] };
  };
  const toDelta = ({ type, index, delta }: StreamEvent): object | undefined => {
    const message = delta?.message;
    if (!message) return undefined;
    const at = index ?? 0;
    if (type === "content-start" || type === "content-delta") {
      hasThought ||= Boolean(message.content && !Array.isArray(message.content) && message.content.thinking);
      return toContentDelta(message, at, strict);
    }
    if (type === "tool-call-start") return startCall(at, message.tool_calls);
    if (type === "tool-call-delta") return continueCall(at, message.tool_calls);
    if (strict) return undefined;
    if (type === "tool-plan-delta" && message.tool_plan) return toPlanDelta(message.tool_plan, hasThought);
    if (type === "citation-start" && message.citations) return { citations: [message.citations] };
    return undefined;
  };
  const finish = (delta: Delta): object[] => {
    if (delta.error) {
      throw new UpstreamError(502, `cohere error: ${delta.error}`, { provider: "cohere", code: "upstream_failed" });
    }
    isComplete = true;
    usage = readUsage(delta.usage);
    return [makeChunk({}, toFinishReason(delta.finish_reason))];
  };
  return {
    map({ data }) {
      const event = v.parse(StreamEvent, requireJson(data));
      if (event.type === "message-start") {
        head = toHead("cohere", event, options);
        makeChunk = createChunkMaker(head, model);
        return [makeChunk({ role: "assistant", content: "" })];
      }
      if (event.type === "message-end") return finish(event.delta ?? {});
      const delta = toDelta(event);
      return delta ? [makeChunk(delta)] : [];
    },
    isComplete: () => isComplete,
    usage: () => usage,
  };
}

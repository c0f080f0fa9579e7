import { type Finish, readUsage } from "../chat-reader.ts";
import type { Segment } from "../sequence.ts";
import { toCallSignature } from "./signatures.ts";

type Block = Record<string, unknown>;

/** Stop reasons of the Messages API. */
const stopReasons: Readonly<Record<Finish, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** Stop reasons that only this API has: a provider that sends them is trusted. */
const ownReasons = new Set(["stop_sequence", "pause_turn", "model_context_window_exceeded"]);

/** The stop reason of a response. */
export function toStopReason(finish: Finish, reported: string | undefined): string {
  return reported !== undefined && ownReasons.has(reported) ? reported : stopReasons[finish];
}

/** The initial, empty block of a segment. */
export function emptyBlock(segment: Segment): Block {
  switch (segment.kind) {
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "redacted":
      return { type: "redacted_thinking", data: "" };
    case "call": {
      const { id, index, name } = segment.call;
      return { type: "tool_use", id: id ?? `toolu_${index}`, name: name ?? "", input: {} };
    }
    default:
      return { type: "text", text: "" };
  }
}

/** The block that carries a call's signature; undefined where the call has none. */
export function signatureBlock(segment: Segment): Block | undefined {
  if (segment.kind !== "call" || segment.call.signature === undefined) return undefined;
  return { type: "thinking", thinking: "", signature: toCallSignature(segment.call.signature) };
}

/** Usage in the format of the Messages API, whose input tokens exclude cached ones. */
export function toMessagesUsage(usage: unknown): Record<string, unknown> {
  const { prompt, completion, cached, cacheWritten, reasoning } = readUsage(usage);
  return {
    input_tokens: Math.max(0, prompt - cached - cacheWritten),
    output_tokens: completion,
    cache_creation_input_tokens: cacheWritten,
    cache_read_input_tokens: cached,
    ...(reasoning > 0 && { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}

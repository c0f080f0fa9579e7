import { type Finish, readUsage } from "../chat-reader.ts";
import type { Segment } from "../sequence.ts";
import { toCallSignature } from "./signatures.ts";

type Block = Record<string, unknown>;

/** Why an answer ended, in the words of the Messages API. */
const stopReasons: Readonly<Record<Finish, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** Words of the API itself: a provider that speaks them is taken at its word. */
const ownReasons = new Set(["stop_sequence", "pause_turn", "model_context_window_exceeded"]);

/** Why an answer ended. */
export function toStopReason(finish: Finish, told: string | undefined): string {
  return told !== undefined && ownReasons.has(told) ? told : stopReasons[finish];
}

/** The block a segment begins with, empty. */
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

/** The block that carries a call's signature; undefined where a call has none. */
export function signatureBlock(segment: Segment): Block | undefined {
  if (segment.kind !== "call" || segment.call.signature === undefined) return undefined;
  return { type: "thinking", thinking: "", signature: toCallSignature(segment.call.signature) };
}

/** Token counts as the Messages API tells them: what was cached is not in the input. */
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

import * as v from "valibot";
import type { Usage } from "../../schemas/chat.ts";
import { toUsage } from "../shared/answers.ts";
import { tokenCount } from "../shared/token-count.ts";

const text = v.nullish(v.string());
const number = v.nullish(v.number());
const Counts = v.nullish(v.looseObject({ input_tokens: tokenCount, output_tokens: tokenCount }));

const CohereUsage = v.nullish(v.looseObject({ tokens: Counts, billed_units: Counts, cached_tokens: tokenCount }));

const ToolCall = v.looseObject({
  id: text,
  function: v.nullish(v.looseObject({ name: text, arguments: text })),
});

const Content = v.looseObject({ type: text, text, thinking: text });

/** Response of the chat operation. */
export const Reply = v.looseObject({
  id: text,
  finish_reason: text,
  message: v.looseObject({
    content: v.nullish(v.array(Content)),
    tool_plan: text,
    tool_calls: v.nullish(v.array(ToolCall)),
    citations: v.nullish(v.array(v.unknown())),
  }),
  usage: CohereUsage,
  logprobs: v.nullish(v.array(v.looseObject({ text, logprobs: v.nullish(v.array(v.number())) }))),
});
export type Reply = v.InferOutput<typeof Reply>;

/** One event of a stream. */
export const StreamEvent = v.looseObject({
  type: v.string(),
  id: text,
  index: number,
  delta: v.nullish(
    v.looseObject({
      message: v.nullish(
        v.looseObject({
          // the first event contains an empty list
          content: v.nullish(v.union([Content, v.array(v.unknown())])),
          tool_plan: text,
          tool_calls: v.nullish(v.union([ToolCall, v.array(v.unknown())])),
          citations: v.nullish(v.unknown()),
        }),
      ),
      finish_reason: text,
      usage: CohereUsage,
      error: text,
    }),
  ),
});
export type StreamEvent = v.InferOutput<typeof StreamEvent>;

const finishReasons: ReadonlyMap<string, string> = new Map([
  ["MAX_TOKENS", "length"],
  ["TOOL_CALL", "tool_calls"],
  ["ERROR_TOXIC", "content_filter"],
]);

/** The finish reason in the gateway's terms. */
export function toFinishReason(reason: string | null | undefined): string {
  return finishReasons.get(reason ?? "") ?? "stop";
}

/** Usage in the gateway's shape, from the counted tokens, else from the billed ones. */
export function readUsage(usage: Reply["usage"]): Usage | undefined {
  const { tokens, billed_units: billed, cached_tokens: cached } = usage ?? {};
  return toUsage({
    prompt: tokens?.input_tokens ?? billed?.input_tokens,
    completion: tokens?.output_tokens ?? billed?.output_tokens,
    cached,
  });
}

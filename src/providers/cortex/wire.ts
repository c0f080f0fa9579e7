import * as v from "valibot";
import { tokenCount } from "../shared/token-count.ts";

/** One content item: text or a tool call, nested or flat. */
const ContentItem = v.looseObject({
  type: v.nullish(v.string()),
  text: v.nullish(v.string()),
  tool_use_id: v.nullish(v.string()),
  name: v.nullish(v.string()),
  input: v.nullish(v.unknown()),
  tool_use: v.nullish(
    v.looseObject({
      tool_use_id: v.nullish(v.string()),
      name: v.nullish(v.string()),
      input: v.nullish(v.unknown()),
    }),
  ),
});
export type ContentItem = v.InferOutput<typeof ContentItem>;

const Said = v.looseObject({
  content: v.nullish(v.string()),
  content_list: v.nullish(v.array(ContentItem)),
  type: v.nullish(v.string()),
  text: v.nullish(v.string()),
  tool_use_id: v.nullish(v.string()),
  name: v.nullish(v.string()),
  input: v.nullish(v.unknown()),
});
export type Said = v.InferOutput<typeof Said>;

const Usage = v.looseObject({
  prompt_tokens: tokenCount,
  completion_tokens: tokenCount,
  total_tokens: tokenCount,
  guard_tokens: tokenCount,
});

const shared = {
  id: v.nullish(v.string()),
  created: v.nullish(v.number()),
  model: v.nullish(v.string()),
  usage: v.nullish(Usage),
};

/** Non-streaming response of `inference:complete`. */
export const Answer = v.looseObject({
  ...shared,
  choices: v.array(v.looseObject({ message: Said, finish_reason: v.nullish(v.string()) })),
});

/** Event of a stream; an error has a code and a message. */
export const StreamEvent = v.looseObject({
  ...shared,
  choices: v.nullish(v.array(v.looseObject({ delta: v.nullish(Said), finish_reason: v.nullish(v.string()) }))),
  code: v.nullish(v.union([v.string(), v.number()])),
  message: v.nullish(v.string()),
});

/** Response of `inference:embed`. */
export const EmbedAnswer = v.looseObject({
  model: v.nullish(v.string()),
  data: v.array(
    v.looseObject({
      index: v.nullish(v.number()),
      embedding: v.union([v.array(v.array(v.number())), v.array(v.number())]),
    }),
  ),
  usage: v.nullish(v.looseObject({ prompt_tokens: tokenCount, total_tokens: tokenCount })),
});

/** Usage in the gateway's shape; undefined without token counts. */
export function toUsage(usage: v.InferOutput<typeof Usage> | null | undefined) {
  if (!usage?.total_tokens) return undefined;
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  return { prompt_tokens: prompt ?? 0, completion_tokens: completion ?? 0, total_tokens: total };
}

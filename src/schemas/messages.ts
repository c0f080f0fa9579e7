import * as v from "valibot";
import { plainObject } from "./objects.ts";

const flag = v.nullish(v.boolean());
const text = v.nullish(v.string());

/** One turn; other blocks than those below are validated by the provider. */
const Turn = v.looseObject({
  role: v.picklist(["user", "assistant", "system"]),
  content: v.union([v.string(), v.array(v.looseObject({ type: v.string() }))]),
});

/** A tool: the caller's, or a built-in one of the provider with a dated type. */
const Tool = plainObject({
  type: text,
  name: text,
  description: text,
  input_schema: v.nullish(plainObject({})),
});

const ToolChoice = v.looseObject({
  type: v.picklist(["auto", "any", "tool", "none"]),
  name: text,
  disable_parallel_tool_use: flag,
});

const Thinking = v.looseObject({
  type: v.picklist(["enabled", "disabled", "adaptive"]),
  budget_tokens: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1))),
});

const OutputConfig = plainObject({ effort: text, format: v.nullish(plainObject({})) });

const shared = {
  model: v.pipe(v.string(), v.minLength(1)),
  messages: v.pipe(v.array(Turn), v.minLength(1), v.maxLength(100_000)),
  system: v.nullish(v.union([v.string(), v.array(v.looseObject({ type: v.literal("text"), text: v.string() }))])),
  tools: v.nullish(v.array(Tool)),
  tool_choice: v.nullish(ToolChoice),
  thinking: v.nullish(Thinking),
  output_config: v.nullish(OutputConfig),
};

/** Body of `POST /messages` (https://docs.claude.com/en/api/messages). Unknown fields are forwarded. */
export const MessagesRequest = plainObject({
  ...shared,
  max_tokens: v.pipe(v.number(), v.integer(), v.minValue(0)),
  temperature: v.nullish(v.number()),
  top_p: v.nullish(v.number()),
  top_k: v.nullish(v.number()),
  stop_sequences: v.nullish(v.array(v.string())),
  stream: flag,
  metadata: v.nullish(plainObject({ user_id: text })),
});
export type MessagesRequest = v.InferOutput<typeof MessagesRequest>;

const MessagesUsage = v.looseObject({
  input_tokens: v.nullish(v.number()),
  output_tokens: v.nullish(v.number()),
  cache_creation_input_tokens: v.nullish(v.number()),
  cache_read_input_tokens: v.nullish(v.number()),
});

/** Non-streaming response of `POST /messages`. */
export const MessagesResponse = v.looseObject({
  id: v.string(),
  type: v.literal("message"),
  role: v.literal("assistant"),
  model: v.string(),
  content: v.array(v.looseObject({ type: v.string() })),
  stop_reason: v.nullable(v.string()),
  stop_sequence: v.nullish(v.string()),
  usage: MessagesUsage,
});
export type MessagesResponse = v.InferOutput<typeof MessagesResponse>;

/** Body of `POST /messages/count_tokens` (https://docs.claude.com/en/api/messages-count-tokens). */
export const CountTokensRequest = v.looseObject(shared);
export type CountTokensRequest = v.InferOutput<typeof CountTokensRequest>;

/** Response of `POST /messages/count_tokens`. */
export const CountTokensResponse = v.looseObject({ input_tokens: v.number() });
export type CountTokensResponse = v.InferOutput<typeof CountTokensResponse>;

import * as v from "valibot";
import { tokenCount } from "../shared/token-count.ts";

const number = v.nullish(v.number());
const text = v.nullish(v.string());

/** Token counts (https://docs.claude.com/en/api/messages). `input_tokens` excludes cached tokens. */
export const WireUsage = v.looseObject({
  input_tokens: tokenCount,
  output_tokens: tokenCount,
  cache_read_input_tokens: tokenCount,
  cache_creation_input_tokens: tokenCount,
  output_tokens_details: v.nullish(v.looseObject({ thinking_tokens: tokenCount })),
});
export type WireUsage = v.InferOutput<typeof WireUsage>;

/** A block of a response. */
export const WireBlock = v.looseObject({
  type: v.string(),
  text,
  thinking: text,
  id: text,
  name: text,
});
export type WireBlock = v.InferOutput<typeof WireBlock>;

/** A non-streaming response. */
export const WireMessage = v.looseObject({
  id: text,
  model: text,
  content: v.array(WireBlock),
  stop_reason: text,
  usage: v.nullish(WireUsage),
});
export type WireMessage = v.InferOutput<typeof WireMessage>;

/** A stream event; its fields depend on its type (https://docs.claude.com/en/docs/build-with-claude/streaming). */
export const WireEvent = v.looseObject({
  type: text,
  index: number,
  message: v.nullish(v.looseObject({ id: text, model: text, usage: v.nullish(WireUsage) })),
  content_block: v.nullish(WireBlock),
  delta: v.nullish(v.looseObject({ type: text, text, thinking: text, partial_json: text, stop_reason: text })),
  usage: v.nullish(WireUsage),
  error: v.nullish(v.looseObject({ type: text, message: text })),
});
export type WireEvent = v.InferOutput<typeof WireEvent>;

/** A legacy text completion response, and an event of its stream (https://docs.claude.com/en/api/complete). */
export const WireCompletion = v.looseObject({
  type: text,
  id: text,
  model: text,
  completion: text,
  stop_reason: text,
  error: v.nullish(v.looseObject({ type: text, message: text })),
});

/** The list of models (https://docs.claude.com/en/api/models-list). */
export const WireModels = v.looseObject({
  data: v.array(
    v.looseObject({
      id: v.string(),
      created_at: text,
      display_name: text,
      max_input_tokens: number,
      max_tokens: number,
    }),
  ),
});

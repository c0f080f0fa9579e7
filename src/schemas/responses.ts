import * as v from "valibot";
import { MetadataPairs, plainObject, withDefault } from "./objects.ts";

const text = v.nullish(v.string());
const flag = v.nullish(v.boolean());
const object = v.nullish(plainObject({}));

const integer = (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  v.nullish(v.pipe(v.number(), v.integer(), v.minValue(minimum), v.maxValue(maximum)));
const bounded = (minimum: number, maximum: number, fallback: number) =>
  v.nullish(withDefault(v.pipe(v.number(), v.minValue(minimum), v.maxValue(maximum)), fallback));

/** An item of a conversation. Its fields depend on its type; an item without a type is a message. */
const InputItem = plainObject({ type: text, id: text });

/** Format of the text; `json_schema` also has `name`, `schema`, `description` and `strict`. */
const Format = plainObject({ type: v.string(), name: text, schema: object, description: text, strict: flag });

const Reasoning = plainObject({ effort: text, summary: text, generate_summary: text });

/** A tool; fields besides `type` depend on it. */
const Tool = v.looseObject({ type: v.string(), name: text, description: text });

const ToolChoice = v.union([v.picklist(["none", "auto", "required"]), plainObject({ type: v.string() })]);

/** Body of `POST /responses` (https://platform.openai.com/docs/api-reference/responses/create). Unknown fields are forwarded. */
export const ResponsesRequest = v.pipe(
  plainObject({
    model: v.pipe(v.string(), v.minLength(1)),
    instructions: text,
    previous_response_id: text,
    conversation: v.nullish(v.union([v.string(), plainObject({})])),
    parallel_tool_calls: v.nullish(withDefault(v.boolean(), true)),
    reasoning: v.nullish(Reasoning),
    text: v.nullish(plainObject({ format: v.nullish(Format), verbosity: text })),
    tools: v.nullish(v.array(Tool)),
    tool_choice: v.nullish(ToolChoice),
    truncation: v.nullish(withDefault(v.picklist(["auto", "disabled"]), "disabled")),
    input: v.nullish(v.union([v.string(), v.pipe(v.array(InputItem), v.maxLength(100_000))])),
    background: flag,
    context_management: v.nullish(v.array(plainObject({}))),
    include: v.nullish(v.array(v.string())),
    max_output_tokens: integer(1),
    max_tool_calls: integer(1),
    metadata: v.nullish(MetadataPairs),
    moderation: object,
    prompt: v.nullish(plainObject({ id: v.string(), version: text, variables: object })),
    prompt_cache_key: text,
    prompt_cache_options: object,
    prompt_cache_retention: text,
    safety_identifier: text,
    service_tier: text,
    store: v.nullish(withDefault(v.boolean(), true)),
    stream: v.nullish(withDefault(v.boolean(), false)),
    stream_options: v.nullish(plainObject({ include_obfuscation: flag })),
    temperature: bounded(0, 2, 1),
    thinking: v.nullish(plainObject({ type: v.string(), budget_tokens: integer(0) })),
    top_logprobs: integer(0, 20),
    top_p: bounded(0, 1, 1),
    user: text,
  }),
  v.forward(
    v.check(
      ({ input, prompt, conversation, previous_response_id }) =>
        [input, prompt, conversation, previous_response_id].some((value) => value != null),
      "required, unless prompt, conversation or previous_response_id is given",
    ),
    ["input"],
  ),
);
export type ResponsesRequest = v.InferOutput<typeof ResponsesRequest>;

/** Token counts of a response. */
const ResponsesUsage = v.looseObject({
  input_tokens: v.nullish(v.number()),
  input_tokens_details: v.nullish(v.looseObject({ cached_tokens: v.nullish(v.number()) })),
  output_tokens: v.nullish(v.number()),
  output_tokens_details: v.nullish(v.looseObject({ reasoning_tokens: v.nullish(v.number()) })),
  total_tokens: v.nullish(v.number()),
});

/** Non-streaming response of `POST /responses`. */
export const ResponsesResponse = v.looseObject({
  id: v.string(),
  object: v.literal("response"),
  created_at: v.number(),
  completed_at: v.nullish(v.number()),
  model: v.string(),
  status: v.nullish(v.picklist(["completed", "failed", "in_progress", "incomplete", "queued", "cancelled"])),
  error: v.nullable(v.looseObject({ code: v.string(), message: v.string() })),
  incomplete_details: v.nullable(v.looseObject({ reason: text })),
  output: v.array(v.looseObject({ type: v.string(), id: text })),
  output_text: text,
  usage: v.nullish(ResponsesUsage),
  background: flag,
  conversation: object,
  instructions: v.nullish(v.union([v.string(), v.array(InputItem)])),
  max_output_tokens: v.nullish(v.number()),
  max_tool_calls: v.nullish(v.number()),
  metadata: v.nullish(v.record(v.string(), v.string())),
  parallel_tool_calls: flag,
  previous_response_id: text,
  prompt: object,
  prompt_cache_key: text,
  reasoning: v.nullish(Reasoning),
  safety_identifier: text,
  service_tier: text,
  store: flag,
  temperature: v.nullish(v.number()),
  text: v.nullish(v.looseObject({ format: v.nullish(Format), verbosity: text })),
  tool_choice: v.nullish(v.union([v.string(), plainObject({ type: v.string() })])),
  tools: v.nullish(v.array(Tool)),
  top_logprobs: v.nullish(v.number()),
  top_p: v.nullish(v.number()),
  truncation: text,
  user: text,
});
export type ResponsesResponse = v.InferOutput<typeof ResponsesResponse>;

/** Response of `DELETE /responses/{id}`. */
export const DeletedResponse = v.object({ id: v.string(), object: v.literal("response"), deleted: v.literal(true) });

/** Response of `GET /responses/{id}/input_items`. */
export const InputItemList = v.object({
  object: v.literal("list"),
  data: v.array(InputItem),
  first_id: v.nullable(v.string()),
  last_id: v.nullable(v.string()),
  has_more: v.boolean(),
});

/** Response of `POST /responses/input_tokens`. */
export const InputTokensResponse = v.looseObject({
  object: v.literal("response.input_tokens"),
  input_tokens: v.number(),
});

/** Response of `POST /responses/compact`. */
export const CompactResponse = v.looseObject({
  id: v.string(),
  object: v.literal("response.compaction"),
  created_at: v.number(),
  output: v.array(v.looseObject({ type: v.string() })),
  usage: v.nullish(ResponsesUsage),
});

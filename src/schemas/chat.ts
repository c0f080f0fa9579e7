import * as v from "valibot";
import { LogitBias, MetadataPairs, plainObject, Seed, withDefault } from "./objects.ts";

/** A number within bounds, or null. */
const bounded = (minimum: number, maximum: number, fallback: number) =>
  v.nullish(withDefault(v.pipe(v.number(), v.minValue(minimum), v.maxValue(maximum)), fallback));

/** A whole number within bounds, or null. */
const boundedInteger = (minimum: number, maximum: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(minimum), v.maxValue(maximum));

const number = v.nullish(v.number());
const numberOr = (fallback: number) => v.nullish(withDefault(v.number(), fallback));
const text = v.nullish(v.string());
const stop = v.nullish(v.union([v.string(), v.pipe(v.array(v.string()), v.maxLength(4))]));
const StreamOptions = v.nullish(plainObject({ include_usage: v.nullish(v.boolean()) }));

/** One message. Its content is validated by the provider. */
const Message = v.looseObject({ role: v.string() });

/** Whether and which tools a model calls; `any` is some hosts' name for `required`. */
const ToolChoice = v.union([v.picklist(["none", "auto", "required", "any"]), plainObject({})]);

/** Body of `POST /chat/completions`. Unknown fields are forwarded; limits of values are up to the provider. */
export const ChatRequest = v.looseObject({
  model: v.string(),
  messages: v.pipe(v.array(Message), v.minLength(1)),
  stream: v.nullish(withDefault(v.boolean(), false)),
  stream_options: StreamOptions,
  temperature: numberOr(1),
  top_p: numberOr(1),
  frequency_penalty: numberOr(0),
  presence_penalty: numberOr(0),
  n: numberOr(1),
  max_tokens: number,
  max_completion_tokens: number,
  stop: v.nullish(v.union([v.string(), v.array(v.string())])),
  tools: v.nullish(v.array(v.looseObject({ type: v.string() }))),
  tool_choice: v.nullish(ToolChoice),
  logit_bias: v.nullish(LogitBias),
  seed: v.nullish(Seed),
  metadata: v.nullish(MetadataPairs),
  user: text,
});
export type ChatRequest = v.InferOutput<typeof ChatRequest>;

/** Token counts of a chat or text completion. */
export const Usage = v.looseObject({
  prompt_tokens: v.nullish(v.number()),
  completion_tokens: v.nullish(v.number()),
  total_tokens: v.nullish(v.number()),
  prompt_tokens_details: v.nullish(v.looseObject({ cached_tokens: v.nullish(v.number()) })),
  completion_tokens_details: v.nullish(v.looseObject({ reasoning_tokens: v.nullish(v.number()) })),
});
export type Usage = v.InferOutput<typeof Usage>;

/** Non-streaming response of `POST /chat/completions`. */
export const ChatResponse = v.looseObject({
  id: v.nullish(v.string()),
  object: v.nullish(v.string()),
  created: v.nullish(v.number()),
  model: v.nullish(v.string()),
  choices: v.array(v.looseObject({})),
  usage: v.nullish(Usage),
});
export type ChatResponse = v.InferOutput<typeof ChatResponse>;

const tokens = v.array(v.number());

/** Body of `POST /completions`. Unknown fields are forwarded. */
export const CompletionRequest = v.pipe(
  v.looseObject({
    model: v.string(),
    prompt: v.union([v.string(), v.array(v.string()), tokens, v.array(tokens)]),
    best_of: v.nullish(withDefault(boundedInteger(0, 20), 1)),
    echo: v.nullish(withDefault(v.boolean(), false)),
    frequency_penalty: bounded(-2, 2, 0),
    presence_penalty: bounded(-2, 2, 0),
    logit_bias: v.nullish(LogitBias),
    logprobs: v.nullish(boundedInteger(0, 5)),
    max_tokens: v.nullish(withDefault(boundedInteger(0, Number.MAX_SAFE_INTEGER), 16)),
    n: v.nullish(withDefault(boundedInteger(1, 128), 1)),
    seed: v.nullish(Seed),
    stop,
    stream: v.nullish(withDefault(v.boolean(), false)),
    stream_options: StreamOptions,
    suffix: text,
    temperature: bounded(0, 2, 1),
    top_p: bounded(0, 1, 1),
    user: text,
  }),
  v.forward(
    v.check(
      ({ best_of, n }) => typeof best_of !== "number" || typeof n !== "number" || best_of >= n,
      "must not be less than n",
    ),
    ["best_of"],
  ),
  v.forward(
    v.check(
      ({ best_of, n, stream }) => stream !== true || typeof best_of !== "number" || best_of <= (n ?? 1),
      "the best of several completions is only known at the end; leave stream out",
    ),
    ["best_of"],
  ),
);
export type CompletionRequest = v.InferOutput<typeof CompletionRequest>;

/** Non-streaming response of `POST /completions`. */
export const CompletionResponse = ChatResponse;

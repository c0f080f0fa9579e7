import * as v from "valibot";

/** Why a call failed, over the words that providers have for it. */
export const errorCodes = [
  "context_too_long",
  "content_filter",
  "rate_limit",
  "overloaded",
  "authentication",
  "invalid_tool",
  "timeout",
  "empty",
] as const;

/** Why a call failed. */
export const ErrorCode = v.picklist(errorCodes, `must be one of ${errorCodes.join(", ")}`);
export type ErrorCode = v.InferOutput<typeof ErrorCode>;

/** `strategy.on_error_codes`. */
export const ErrorCodes = v.pipe(
  v.array(ErrorCode, "must be a list of error codes"),
  v.minLength(1, "must have an entry: leave it out"),
  v.maxLength(errorCodes.length, `must have at most ${errorCodes.length} entries`),
);

/** What a request may need of a model. */
export const modelNeeds = ["context", "tools", "images", "json_schema"] as const;

/** What a request may need of a model. */
const ModelNeed = v.picklist(modelNeeds, `must be one of ${modelNeeds.join(", ")}`);
export type ModelNeed = v.InferOutput<typeof ModelNeed>;

/** `requires` of a node. */
export const ModelNeeds = v.pipe(
  v.array(ModelNeed, "must be a list"),
  v.maxLength(modelNeeds.length, `must have at most ${modelNeeds.length} entries`),
);

const word = v.pipe(
  v.string("must be a string"),
  v.minLength(1, "must not be empty"),
  v.maxLength(256, "must have at most 256 characters"),
);
const prompt = v.pipe(
  v.string("must be a string"),
  v.minLength(1, "must not be empty"),
  v.maxLength(4_000, "must have at most 4000 characters"),
);

/** `strategy.classifier`. */
export const classifierMembers = {
  kind: v.picklist(["decisions", "examples"], "must be decisions or examples"),
  provider: v.pipe(word, v.startsWith("@", "must name a stored provider as @slug")),
  model: word,
  confidence: v.pipe(
    v.number("must be a number"),
    v.minValue(0, "must be at least 0"),
    v.maxValue(1, "must be at most 1"),
  ),
  criteria: v.record(word, prompt, "must be an object"),
  examples: v.record(
    word,
    v.pipe(v.array(prompt, "must be a list of strings"), v.maxLength(100, "must have at most 100 entries")),
    "must be an object",
  ),
} satisfies Record<string, v.GenericSchema>;

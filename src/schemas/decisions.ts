import * as v from "valibot";
import { JsonObject, plainObject } from "./objects.ts";

/** A string, or any JSON object or array. */
const Described = v.union([v.string(), v.array(v.unknown()), plainObject({})]);

/** One question to decide. */
export const DecisionQuestion = plainObject({
  type: v.picklist(["noul", "choice", "score"]),
  instructions: Described,
  criteria: v.nullish(v.union([v.array(v.unknown()), plainObject({})])),
});
export type DecisionQuestion = v.InferOutput<typeof DecisionQuestion>;

/** Body of `POST /decisions`. Unknown fields are sent to providers with a native decisions API. */
export const DecisionsRequest = v.looseObject({
  model: v.string(),
  state: Described,
  questions: v.pipe(JsonObject, v.record(v.string(), DecisionQuestion)),
  /** Streaming is not supported. */
  stream: v.nullish(v.literal(false, "must be false: decisions are not streamed")),
});
export type DecisionsRequest = v.InferOutput<typeof DecisionsRequest>;

const Probabilities = v.record(v.string(), v.number());

/** The answer to one question. */
export const DecisionAnswer = v.variant("type", [
  /** Probability of "yes". */
  v.looseObject({ type: v.literal("noul"), noul: v.number() }),
  v.looseObject({
    type: v.literal("choice"),
    choice: v.string(),
    probabilities: Probabilities,
    confidence: v.number(),
  }),
  v.looseObject({
    type: v.literal("score"),
    /** Expected level; the first level is 0. */
    score: v.number(),
    probabilities: Probabilities,
    confidence: v.number(),
    legend: v.optional(v.record(v.string(), v.string())),
  }),
]);
export type DecisionAnswer = v.InferOutput<typeof DecisionAnswer>;

/** Response of `POST /decisions`: one answer per question, by name. */
export const DecisionsResponse = v.looseObject({
  model: v.string(),
  answers: v.record(v.string(), DecisionAnswer),
  usage: v.optional(
    v.looseObject({
      input_tokens: v.optional(v.pipe(v.number(), v.integer())),
      output_tokens: v.optional(v.pipe(v.number(), v.integer())),
    }),
  ),
  provider: v.optional(v.string()),
});
export type DecisionsResponse = v.InferOutput<typeof DecisionsResponse>;

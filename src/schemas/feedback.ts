import * as v from "valibot";
import { JsonObject, plainObject, withDefault } from "./objects.ts";

const rating = {
  value: v.pipe(v.number(), v.integer(), v.minValue(-10), v.maxValue(10)),
  /** Numbers outside of 0 to 1 count as 1. */
  weight: withDefault(v.nullish(v.number()), 1),
  /** Names and values are cut at 128 characters. */
  metadata: v.nullish(v.pipe(JsonObject, v.record(v.string(), v.unknown()), v.maxEntries(64))),
};

/** Body of `PUT /feedback/{id}`. */
export const UpdateFeedback = plainObject(rating);
export type UpdateFeedback = v.InferOutput<typeof UpdateFeedback>;

/** One feedback of a new list. */
export const Feedback = plainObject({
  trace_id: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  ...rating,
});
export type Feedback = v.InferOutput<typeof Feedback>;

/** Several feedbacks. */
export const FeedbackList = v.pipe(v.array(Feedback), v.minLength(1), v.maxLength(100));

/** Body of `POST /feedback`: one feedback or a list. */
export const CreateFeedback = v.union([Feedback, FeedbackList]);

/** Response to new and changed feedback. */
export const FeedbackReceipt = v.object({
  status: v.literal("success"),
  message: v.string(),
  /** In the order of the request. */
  feedback_ids: v.array(v.string()),
});

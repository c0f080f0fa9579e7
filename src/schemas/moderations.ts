import * as v from "valibot";

/** A text or an image to classify. */
const ModerationPart = v.variant("type", [
  v.looseObject({ type: v.literal("text"), text: v.string() }),
  v.looseObject({ type: v.literal("image_url"), image_url: v.looseObject({ url: v.string() }) }),
]);

/** Body of `POST /moderations`. Unknown fields are forwarded; without a model the provider chooses one. */
export const ModerationRequest = v.looseObject({
  input: v.union([v.string(), v.array(v.string()), v.array(ModerationPart)]),
  model: v.nullish(v.string()),
});
export type ModerationRequest = v.InferOutput<typeof ModerationRequest>;

/** Categories that every model has; newer models have more. */
const categories = [
  ...(["hate", "hate/threatening", "harassment", "harassment/threatening"] as const),
  ...(["self-harm", "self-harm/intent", "self-harm/instructions"] as const),
  ...(["sexual", "sexual/minors", "violence", "violence/graphic"] as const),
];

/** An object with a field for each category. */
function eachCategory<Schema extends v.GenericSchema>(schema: Schema) {
  return v.looseObject(v.entriesFromList(categories, schema));
}

/** Response of `POST /moderations`: one result per input. */
export const ModerationResponse = v.looseObject({
  id: v.string(),
  model: v.string(),
  results: v.array(
    v.looseObject({
      flagged: v.boolean(),
      categories: eachCategory(v.boolean()),
      category_scores: eachCategory(v.number()),
      /** Types of input each category examined: `text`, `image`. */
      category_applied_input_types: v.optional(v.record(v.string(), v.array(v.string()))),
    }),
  ),
});
export type ModerationResponse = v.InferOutput<typeof ModerationResponse>;

import * as v from "valibot";

/** A text or a picture to classify. */
const ModerationPart = v.variant("type", [
  v.looseObject({ type: v.literal("text"), text: v.string() }),
  v.looseObject({ type: v.literal("image_url"), image_url: v.looseObject({ url: v.string() }) }),
]);

/** Body of `POST /moderations`. Unknown members are kept and forwarded; a model that is not named is the provider's to choose. */
export const ModerationRequest = v.looseObject({
  input: v.union([v.string(), v.array(v.string()), v.array(ModerationPart)]),
  model: v.nullish(v.string()),
});
export type ModerationRequest = v.InferOutput<typeof ModerationRequest>;

/** Names of the categories of every model; newer models have more. */
const categories = [
  ...(["hate", "hate/threatening", "harassment", "harassment/threatening"] as const),
  ...(["self-harm", "self-harm/intent", "self-harm/instructions"] as const),
  ...(["sexual", "sexual/minors", "violence", "violence/graphic"] as const),
];

/** An object with a member of each category. */
function eachCategory<Schema extends v.GenericSchema>(schema: Schema) {
  return v.looseObject(v.entriesFromList(categories, schema));
}

/** Answer of `POST /moderations`: one result for each text. */
export const ModerationResponse = v.looseObject({
  id: v.string(),
  model: v.string(),
  results: v.array(
    v.looseObject({
      flagged: v.boolean(),
      categories: eachCategory(v.boolean()),
      category_scores: eachCategory(v.number()),
      /** Kinds of input each category looked at: `text`, `image`. */
      category_applied_input_types: v.optional(v.record(v.string(), v.array(v.string()))),
    }),
  ),
});
export type ModerationResponse = v.InferOutput<typeof ModerationResponse>;

import * as v from "valibot";

/** A model. */
export const Model = v.looseObject({
  id: v.string(),
  object: v.nullish(v.string()),
  created: v.nullish(v.number()),
  owned_by: v.nullish(v.string()),
});

/** Response of `GET /models`. `provider` is set when the list came from one provider. */
export const ModelList = v.looseObject({
  object: v.nullish(v.string()),
  data: v.array(v.looseObject({ id: v.string() })),
  provider: v.nullish(v.string()),
});
export type ModelList = v.InferOutput<typeof ModelList>;

import * as v from "valibot";
import { plainObject } from "./objects.ts";

const tokens = v.pipe(v.array(v.number()), v.minLength(1), v.maxLength(2048));

/** A multimodal input, for models that accept it: text, image and video side by side. */
const MediaInput = plainObject({});

/** Body of `POST /embeddings`. Unknown fields are forwarded. */
export const EmbeddingRequest = v.looseObject({
  model: v.string(),
  input: v.union([
    v.pipe(v.string(), v.minLength(1)),
    v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(2048)),
    tokens,
    v.pipe(v.array(tokens), v.minLength(1), v.maxLength(2048)),
    v.pipe(v.array(v.union([v.string(), MediaInput])), v.minLength(1), v.maxLength(2048)),
  ]),
  encoding_format: v.nullish(v.string()),
  dimensions: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1))),
  user: v.nullish(v.string()),
});
export type EmbeddingRequest = v.InferOutput<typeof EmbeddingRequest>;

/** Response of `POST /embeddings`. */
export const EmbeddingResponse = v.looseObject({
  object: v.nullish(v.string()),
  data: v.array(v.looseObject({})),
  model: v.nullish(v.string()),
  usage: v.nullish(v.looseObject({ prompt_tokens: v.nullish(v.number()), total_tokens: v.nullish(v.number()) })),
});
export type EmbeddingResponse = v.InferOutput<typeof EmbeddingResponse>;

import * as v from "valibot";
import { FormFile } from "../lib/multipart.ts";
import { plainObject } from "./objects.ts";

const text = v.nullish(v.string());
const flag = v.nullish(v.boolean());
const whole = (minimum: number, maximum: number) =>
  v.nullish(v.pipe(v.number(), v.integer(), v.minValue(minimum), v.maxValue(maximum)));

const prompt = v.pipe(v.string(), v.minLength(1), v.maxLength(32_000));

/** Fields of generations and edits. Values such as sizes and qualities differ between providers. */
const shared = {
  prompt,
  model: text,
  n: whole(1, 10),
  size: text,
  quality: text,
  response_format: v.nullish(v.picklist(["url", "b64_json"])),
  user: text,
  background: text,
  output_format: text,
  output_compression: whole(0, 100),
  stream: flag,
  partial_images: whole(0, 3),
};

/** Body of `POST /images/generations` (https://platform.openai.com/docs/api-reference/images/create). Unknown fields are forwarded. */
export const ImageRequest = v.looseObject({ ...shared, style: text, moderation: text });
export type ImageRequest = v.InferOutput<typeof ImageRequest>;

/** An image: a file in a form, or an address in JSON. */
const ImageInput = v.union([
  v.instance(FormFile),
  v.string(),
  plainObject({ image_url: v.optional(v.unknown()), file_id: text }),
]);

/** Body of `POST /images/edits` (https://platform.openai.com/docs/api-reference/images/createEdit): a form, or JSON. */
export const ImageEditRequest = v.pipe(
  v.looseObject({
    ...shared,
    image: v.nullish(v.union([ImageInput, v.pipe(v.array(ImageInput), v.minLength(1), v.maxLength(16))])),
    images: v.nullish(v.pipe(v.array(ImageInput), v.minLength(1), v.maxLength(16))),
    mask: v.nullish(ImageInput),
    input_fidelity: text,
  }),
  v.check(
    ({ image, images }) => (image ?? images ?? undefined) !== undefined,
    "Invalid image: send the image to edit as a file named image",
  ),
);
export type ImageEditRequest = v.InferOutput<typeof ImageEditRequest>;

/** Non-streaming response of `POST /images/generations` and `POST /images/edits`. */
export const ImageResponse = v.looseObject({
  created: v.number(),
  data: v.array(v.looseObject({ b64_json: text, url: text, revised_prompt: text })),
  background: text,
  output_format: text,
  size: text,
  quality: text,
  usage: v.nullish(
    v.looseObject({
      input_tokens: v.nullish(v.number()),
      output_tokens: v.nullish(v.number()),
      total_tokens: v.nullish(v.number()),
    }),
  ),
});
export type ImageResponse = v.InferOutput<typeof ImageResponse>;

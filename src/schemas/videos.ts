import * as v from "valibot";

/*
 * OpenAI's videos (https://platform.openai.com/docs/api-reference/videos), and the second version of Together's
 * (https://docs.together.ai/reference/create-videos). Requests are forwarded to the provider unchanged: these schemas document them.
 */

const prompt = v.pipe(v.string(), v.minLength(1), v.maxLength(32_000));
const seconds = v.picklist(["4", "8", "12"]);
const size = v.picklist(["720x1280", "1280x720", "1024x1792", "1792x1024"]);

/** Body of `POST /videos`, as JSON or as a form. */
export const VideoRequest = v.looseObject({
  prompt,
  model: v.nullish(v.string()),
  input_reference: v.nullish(
    v.union([v.string(), v.looseObject({ image_url: v.nullish(v.string()), file_id: v.nullish(v.string()) })]),
  ),
  seconds: v.nullish(seconds),
  size: v.nullish(size),
});

/** Body of `POST /videos/{id}/remix`. */
export const VideoRemix = v.looseObject({ prompt });

/** Body of `POST /v2/videos`. */
export const VideoJobRequest = v.looseObject({
  model: v.string(),
  prompt: v.nullish(v.string()),
  height: v.nullish(v.number()),
  width: v.nullish(v.number()),
  seconds: v.nullish(v.union([v.string(), v.number()])),
  fps: v.nullish(v.number()),
  steps: v.nullish(v.number()),
  seed: v.nullish(v.number()),
  guidance_scale: v.nullish(v.number()),
  output_format: v.nullish(v.picklist(["MP4", "WEBM"])),
  output_quality: v.nullish(v.number()),
  negative_prompt: v.nullish(v.string()),
  frame_images: v.nullish(v.array(v.looseObject({}))),
  reference_images: v.nullish(v.array(v.unknown())),
  media: v.nullish(v.looseObject({})),
  generate_audio: v.nullish(v.boolean()),
  ratio: v.nullish(v.string()),
  resolution: v.nullish(v.string()),
});

const videoEntries = {
  id: v.string(),
  object: v.nullish(v.string()),
  model: v.nullish(v.string()),
  created_at: v.nullish(v.number()),
  completed_at: v.nullish(v.number()),
  seconds: v.nullish(v.union([v.string(), v.number()])),
  size: v.nullish(v.string()),
  error: v.nullish(v.looseObject({})),
};

/** A video. */
export const Video = v.looseObject({
  ...videoEntries,
  status: v.picklist(["queued", "in_progress", "completed", "failed"]),
  progress: v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(100))),
  expires_at: v.nullish(v.number()),
  prompt: v.nullish(v.string()),
  remixed_from_video_id: v.nullish(v.string()),
});

/** A job of the second version. */
export const VideoJob = v.looseObject({
  ...videoEntries,
  status: v.picklist(["queued", "in_progress", "completed", "failed"]),
  outputs: v.nullish(v.looseObject({ cost: v.nullish(v.number()), video_url: v.nullish(v.string()) })),
});

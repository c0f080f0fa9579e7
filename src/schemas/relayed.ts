import * as v from "valibot";

/*
 * Bodies of small routes that are forwarded to the provider unchanged: these schemas document them
 * (https://platform.openai.com/docs/api-reference).
 */

/** Form of `POST /images/variations`; the image is a file. */
export const ImageVariationRequest = v.looseObject({
  image: v.string(),
  model: v.nullish(v.string()),
  n: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10))),
  response_format: v.nullish(v.picklist(["url", "b64_json"])),
  size: v.nullish(v.picklist(["256x256", "512x512", "1024x1024"])),
  user: v.nullish(v.string()),
});

/** Response of `POST /images/variations`. */
export const ImageVariations = v.looseObject({
  created: v.nullish(v.number()),
  data: v.array(v.looseObject({ url: v.nullish(v.string()), b64_json: v.nullish(v.string()) })),
});

/** Body of `POST /realtime/client_secrets`. */
export const ClientSecretRequest = v.looseObject({
  expires_after: v.nullish(
    v.looseObject({
      anchor: v.nullish(v.literal("created_at")),
      seconds: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(10), v.maxValue(7200))),
    }),
  ),
  session: v.nullish(v.looseObject({ type: v.nullish(v.string()), model: v.nullish(v.string()) })),
});

/** Response of `POST /realtime/client_secrets`. */
export const ClientSecret = v.looseObject({
  value: v.string(),
  expires_at: v.number(),
  session: v.nullish(v.looseObject({})),
});

/** Body of `POST /realtime/sessions` and `POST /realtime/transcription_sessions`. */
export const RealtimeSessionRequest = v.looseObject({
  model: v.nullish(v.string()),
  modalities: v.nullish(v.array(v.string())),
  instructions: v.nullish(v.string()),
  voice: v.nullish(v.string()),
  tools: v.nullish(v.array(v.looseObject({}))),
});

/** A realtime session with its client secret. */
export const RealtimeSession = v.looseObject({
  client_secret: v.nullish(v.looseObject({ value: v.string(), expires_at: v.number() })),
});

/** Body of `POST /complete` (https://docs.claude.com/en/api/complete). */
export const LegacyCompleteRequest = v.looseObject({
  model: v.string(),
  prompt: v.string(),
  max_tokens_to_sample: v.pipe(v.number(), v.integer(), v.minValue(1)),
  stop_sequences: v.nullish(v.array(v.string())),
  temperature: v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  top_p: v.nullish(v.number()),
  top_k: v.nullish(v.number()),
  metadata: v.nullish(v.looseObject({ user_id: v.nullish(v.string()) })),
  stream: v.nullish(v.boolean()),
});

/** Non-streaming response of `POST /complete`. */
export const LegacyCompleteResponse = v.looseObject({
  id: v.string(),
  type: v.literal("completion"),
  completion: v.string(),
  model: v.string(),
  stop_reason: v.nullable(v.string()),
});

import * as v from "valibot";
import type { ImageRequest, ImageResponse } from "../../schemas/images.ts";
import type { ConversionOptions } from "../core/types.ts";
import { imageMembers, requireBytes, sizeOf, toFilteredAnswer } from "../shared/images.ts";
import { splitMembers } from "../shared/members.ts";
import { refuseMember } from "../shared/messages.ts";
import { fromEngine, toEngine, toNewer } from "../stability-ai/images.ts";
import type { BedrockModel } from "./model.ts";

type Family = "engine" | "newer" | "amazon";

function familyOf({ vendor, name }: BedrockModel): Family {
  if (vendor === "amazon" && /^(?:titan-image|nova-canvas)/.test(name)) return "amazon";
  if (vendor === "stability") return name.startsWith("stable-diffusion-xl") ? "engine" : "newer";
  return refuseMember("bedrock", "model", "images are available from models of Stability AI, Titan and Nova");
}

function toAmazon(request: ImageRequest, { drop }: ConversionOptions): object {
  requireBytes("bedrock", request);
  const { prompt, n, quality, negative_prompt: negative } = request;
  const handled = [...imageMembers, "quality", "negative_prompt"];
  const members = { cfg_scale: "cfgScale", cfgScale: "cfgScale", seed: "seed" };
  const { taken, unknown } = splitMembers(request, members, { handled, kind: "image", drop });
  return {
    ...unknown,
    taskType: "TEXT_IMAGE",
    textToImageParams: { text: prompt, ...(typeof negative === "string" && { negativeText: negative }) },
    imageGenerationConfig: {
      ...(typeof n === "number" && { numberOfImages: n }),
      ...sizeOf(request),
      ...(typeof quality === "string" && quality !== "auto" && { quality: qualities[quality] ?? quality }),
      ...taken,
    },
  };
}

const qualities: Readonly<Record<string, string>> = {
  hd: "premium",
  high: "premium",
  low: "standard",
  medium: "standard",
};

/** An image generation request (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html). */
export function toImages(request: ImageRequest, model: BedrockModel, options: ConversionOptions): object {
  const family = familyOf(model);
  if (family === "amazon") return toAmazon(request, options);
  return family === "engine" ? toEngine("bedrock", request, options) : toNewer("bedrock", request, options);
}

const Images = v.looseObject({
  images: v.nullish(v.array(v.nullish(v.string()))),
  error: v.nullish(v.string()),
  finish_reasons: v.nullish(v.array(v.nullish(v.string()))),
});

/** The image generation response. */
export function fromImages(body: unknown, model: BedrockModel, options: ConversionOptions): ImageResponse {
  if (familyOf(model) === "engine") return fromEngine("bedrock", body, options);
  const { images, error, finish_reasons: reasons } = v.parse(Images, body);
  const results = (images ?? []).flatMap((image) => (image ? [{ b64_json: image }] : []));
  const reason = error ?? reasons?.find((one) => typeof one === "string");
  return toFilteredAnswer("bedrock", results, { ...options, reason });
}

import * as v from "valibot";
import type { ImageRequest } from "../../schemas/images.ts";
import { FormRequest } from "../core/operations.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { pathSegment } from "../shared/hosts.ts";
import {
  type GeneratedImage,
  imageMembers,
  modelOf,
  ratioOf,
  requireBytes,
  requireOneImage,
  sizeOf,
  toFilteredAnswer,
} from "../shared/images.ts";
import { copyMembers } from "../shared/members.ts";

/** Last path segment of a newer model, which has a separate endpoint; undefined for engines, which share one. */
export function serviceOf(model: string): "core" | "ultra" | "sd3" | undefined {
  if (/^(?:stable-image-)?core\b/.test(model)) return "core";
  if (/^(?:stable-image-)?ultra\b/.test(model)) return "ultra";
  return /^(?:sd3|stable-diffusion-3)/.test(model) ? "sd3" : undefined;
}

/** Aspect ratios of the newer models (https://platform.stability.ai/docs/api-reference#tag/Generate). */
const ratios = ["1:1", "16:9", "21:9", "2:3", "3:2", "4:5", "5:4", "9:16", "9:21"] as const;

/** Fields the newer models support under their own names. */
const newerMembers = {
  negative_prompt: "negative_prompt",
  seed: "seed",
  style_preset: "style_preset",
  style: "style_preset",
  mode: "mode",
  output_format: "output_format",
  strength: "strength",
  aspect_ratio: "aspect_ratio",
  image: "image",
} as const;

/** A request to a newer model. */
export function toNewer(provider: string, request: ImageRequest, { drop }: ConversionOptions): Record<string, unknown> {
  requireBytes(provider, request);
  requireOneImage(provider, request);
  const ratio = ratioOf(request, ratios);
  return {
    ...(ratio !== undefined && { aspect_ratio: ratio }),
    ...copyMembers(request, newerMembers, { handled: imageMembers, kind: "image", drop }),
    prompt: request.prompt,
  };
}

const engineMembers = {
  cfg_scale: "cfg_scale",
  clip_guidance_preset: "clip_guidance_preset",
  sampler: "sampler",
  seed: "seed",
  steps: "steps",
  extras: "extras",
  style_preset: "style_preset",
  style: "style_preset",
} as const;

/** A request to an engine. */
export function toEngine(
  provider: string,
  request: ImageRequest,
  { drop }: ConversionOptions,
): Record<string, unknown> {
  requireBytes(provider, request);
  return {
    ...copyMembers(request, engineMembers, { handled: imageMembers, kind: "image", drop }),
    text_prompts: [{ text: request.prompt, weight: 1 }],
    ...sizeOf(request),
    ...(typeof request.n === "number" && { samples: request.n }),
  };
}

const text = v.nullish(v.string());
const Artifacts = v.looseObject({
  artifacts: v.array(v.looseObject({ base64: text, finishReason: text })),
});

/** Response of an engine. */
export function fromEngine(provider: string, body: unknown, options: ConversionOptions) {
  const { artifacts } = v.parse(Artifacts, body);
  const accepted = artifacts.filter(({ finishReason }) => (finishReason ?? "SUCCESS") === "SUCCESS");
  const images = accepted.flatMap(({ base64 }): GeneratedImage[] => (base64 ? [{ b64_json: base64 }] : []));
  const reason = artifacts.find(({ finishReason }) => finishReason !== "SUCCESS")?.finishReason;
  return toFilteredAnswer(provider, images, { ...options, reason });
}

const Newer = v.looseObject({ image: text, finish_reason: text });

/** Images (https://platform.stability.ai/docs/api-reference). */
export const generateImage: OperationAdapter<"generateImage"> = {
  path(request) {
    const model = modelOf("stability-ai", request);
    const service = serviceOf(model);
    return service === undefined
      ? `/v1/generation/${pathSegment("model", model)}/text-to-image`
      : `/v2beta/stable-image/generate/${service}`;
  },
  toUpstream(request, options) {
    const model = modelOf("stability-ai", request);
    const service = serviceOf(model);
    if (service === undefined) return toEngine("stability-ai", request, options);
    const members = toNewer("stability-ai", request, options);
    return new FormRequest(service === "sd3" && model !== "sd3" ? { ...members, model } : members);
  },
  fromUpstream(body, request, options) {
    if (serviceOf(modelOf("stability-ai", request)) === undefined) {
      return fromEngine("stability-ai", body, options);
    }
    const { image, finish_reason: reason } = v.parse(Newer, body);
    const isKept = image && reason !== "CONTENT_FILTERED";
    return toFilteredAnswer("stability-ai", isKept ? [{ b64_json: image }] : [], { ...options, reason });
  },
};

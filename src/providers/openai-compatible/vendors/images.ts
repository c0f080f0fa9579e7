import * as v from "valibot";
import { isObject, stringOf } from "../../../lib/json.ts";
import type { OperationAdapter } from "../../core/types.ts";
import { modelPath } from "../../shared/hosts.ts";
import {
  type GeneratedImage,
  imageMembers,
  modelOf,
  ratioOf,
  requireAddresses,
  requireBytes,
  requireOneImage,
  sizeOf,
  toFilteredAnswer,
  toImageAnswer,
} from "../../shared/images.ts";
import { copyMembers } from "../../shared/members.ts";
import type { RequestBody } from "../request.ts";

type ImageAdapter = OperationAdapter<"generateImage">;

/** Fields that only OpenAI's own image models have. */
export const gptImageMembers = [
  "quality",
  "style",
  "background",
  "moderation",
  "output_format",
  "output_compression",
  "partial_images",
  "user",
] as const;

/** Together AI's names (https://docs.together.ai/reference/post-images-generations). */
export function toTogetherImage(body: RequestBody): void {
  const size = sizeOf({ size: stringOf(body.size) });
  delete body.size;
  if (size) Object.assign(body, size);
  if (body.response_format === "b64_json") body.response_format = "base64";
}

const filters: Readonly<Record<string, true>> = { CONTENT_FILTERED: true, ERROR: true };

const StabilityImages = v.array(v.looseObject({ base64: v.nullish(v.string()), finishReason: v.nullish(v.string()) }));
const FireworksImages = v.union([
  StabilityImages,
  v.looseObject({ base64: v.array(v.string()), finishReason: v.nullish(v.string()) }),
]);

/**
 * Whether Fireworks AI serves the model as a workflow
 * (https://docs.fireworks.ai/api-reference/generate-a-new-image-from-a-text-prompt).
 */
const isFlux = (model: string) => /(?:^|\/)flux[^/]*$/i.test(model);

const fluxRatios = ["1:1", "21:9", "16:9", "3:2", "5:4", "4:5", "2:3", "9:16", "9:21", "4:3", "3:4"];

/** Images of Fireworks AI (https://docs.fireworks.ai/api-reference/post-image_generation). */
export const fireworksImages: ImageAdapter = {
  path(request) {
    const model = modelOf("fireworks-ai", request).replace(/^(?!accounts\/)/, "accounts/fireworks/models/");
    return isFlux(model) ? `/workflows${modelPath(model)}/text_to_image` : `/image_generation${modelPath(model)}`;
  },
  answersLists: true,
  toUpstream(request, { drop }) {
    requireBytes("fireworks-ai", request);
    const options = { handled: imageMembers, kind: "image", drop } as const;
    if (isFlux(modelOf("fireworks-ai", request))) {
      requireOneImage("fireworks-ai", request);
      const members = { seed: "seed", guidance_scale: "guidance_scale", num_inference_steps: "num_inference_steps" };
      const ratio = ratioOf(request, fluxRatios);
      return {
        ...copyMembers(request, { ...members, steps: "num_inference_steps" }, options),
        prompt: request.prompt,
        ...(ratio !== undefined && { aspect_ratio: ratio }),
      };
    }
    const members = { seed: "seed", steps: "steps", cfg_scale: "cfg_scale", sampler: "sampler" };
    return {
      ...copyMembers(request, members, options),
      text_prompts: [{ text: request.prompt, weight: 1 }],
      ...sizeOf(request),
      ...(typeof request.n === "number" && { samples: request.n }),
    };
  },
  fromUpstream(body, _request, options) {
    const found = v.parse(FireworksImages, body);
    const list = Array.isArray(found) ? found : found.base64.map((base64) => ({ ...found, base64 }));
    const accepted = list.filter(({ finishReason }) => !Object.hasOwn(filters, finishReason ?? ""));
    const results = accepted.flatMap(({ base64 }): GeneratedImage[] => (base64 ? [{ b64_json: base64 }] : []));
    return toFilteredAnswer("fireworks-ai", results, { ...options, reason: list[0]?.finishReason });
  },
};

const SiliconflowImages = v.looseObject({ images: v.array(v.looseObject({ url: v.string() })) });

/** Images of SiliconFlow (https://docs.siliconflow.cn/en/api-reference/images/images-generations). */
export const siliconflowImages: ImageAdapter = {
  path: () => "/images/generations",
  toUpstream(request, { drop }) {
    requireAddresses("siliconflow", request);
    const { prompt, n, size } = request;
    const members = {
      negative_prompt: "negative_prompt",
      seed: "seed",
      guidance_scale: "guidance_scale",
      image: "image",
      num_inference_steps: "num_inference_steps",
      steps: "num_inference_steps",
      cfg: "cfg",
      prompt_enhancement: "prompt_enhancement",
      image_size: "image_size",
      batch_size: "batch_size",
    };
    return {
      ...(typeof size === "string" && size !== "auto" && { image_size: size }),
      ...(typeof n === "number" && { batch_size: n }),
      ...copyMembers(request, members, { handled: imageMembers, kind: "image", drop }),
      model: modelOf("siliconflow", request),
      prompt,
    };
  },
  fromUpstream: (body, _request, options) =>
    toImageAnswer(
      v.parse(SiliconflowImages, body).images.map(({ url }) => ({ url })),
      options,
    ),
};

const HyperbolicImages = v.looseObject({ images: v.array(v.looseObject({ image: v.string() })) });

/** Images of Hyperbolic (https://docs.hyperbolic.xyz/docs/image-apis). */
export const hyperbolicImages: ImageAdapter = {
  path: () => "/v1/image/generation",
  toUpstream(request, { drop }) {
    requireBytes("hyperbolic", request);
    requireOneImage("hyperbolic", request);
    const names = [
      "steps",
      "cfg_scale",
      "seed",
      "negative_prompt",
      "prompt_2",
      "negative_prompt_2",
      "sampler",
      "backend",
      "enable_refiner",
      "image",
      "strength",
      "lora",
      "controlnet_name",
      "controlnet_image",
      "loras",
    ];
    const members = Object.fromEntries(names.map((name) => [name, name]));
    return {
      ...copyMembers(request, members, { handled: imageMembers, kind: "image", drop }),
      model_name: modelOf("hyperbolic", request),
      prompt: request.prompt,
      ...sizeOf(request),
    };
  },
  fromUpstream: (body, _request, options) =>
    toImageAnswer(
      v.parse(HyperbolicImages, body).images.map(({ image }) => ({ b64_json: image })),
      options,
    ),
};

const TogetherImages = v.looseObject({ data: v.array(v.looseObject({})), created: v.nullish(v.number()) });

/** A response in OpenAI's shape without a creation time. */
export const withTime: NonNullable<ImageAdapter["fromUpstream"]> = (body, _request, { created = 0 }) => {
  const answer = v.parse(TogetherImages, body);
  return isObject(body) ? { ...body, data: answer.data, created: answer.created ?? created } : undefined;
};

import * as v from "valibot";
import { isObject } from "../../../lib/json.ts";
import type { OperationAdapter } from "../../core/types.ts";
import { modelPath } from "../../shared/hosts.ts";
import {
  modelOf,
  type Picture,
  pictureMembers,
  ratioOf,
  requireAddresses,
  requireBytes,
  requireOnePicture,
  sizeOf,
  toFilteredAnswer,
  toImageAnswer,
} from "../../shared/images.ts";
import { copyMembers } from "../../shared/members.ts";
import type { RequestBody } from "../request.ts";

type ImageAdapter = OperationAdapter<"generateImage">;

/** Members of OpenAI's own models of pictures. */
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
  const size = sizeOf({ size: typeof body.size === "string" ? body.size : undefined });
  delete body.size;
  if (size) Object.assign(body, size);
  if (body.response_format === "b64_json") body.response_format = "base64";
}

const filters: Readonly<Record<string, true>> = { CONTENT_FILTERED: true, ERROR: true };

const StabilityPictures = v.array(
  v.looseObject({ base64: v.nullish(v.string()), finishReason: v.nullish(v.string()) }),
);
const FireworksPictures = v.union([
  StabilityPictures,
  v.looseObject({ base64: v.array(v.string()), finishReason: v.nullish(v.string()) }),
]);

/** Whether a model of Fireworks AI is called as a workflow (https://docs.fireworks.ai/api-reference/generate-a-new-image-from-a-text-prompt). */
const isFlux = (model: string) => /(?:^|\/)flux[^/]*$/i.test(model);

const fluxRatios = ["1:1", "21:9", "16:9", "3:2", "5:4", "4:5", "2:3", "9:16", "9:21", "4:3", "3:4"];

/** Pictures of Fireworks AI (https://docs.fireworks.ai/api-reference/post-image_generation). */
export const fireworksImages: ImageAdapter = {
  path(request) {
    const model = modelOf("fireworks-ai", request).replace(/^(?!accounts\/)/, "accounts/fireworks/models/");
    return isFlux(model) ? `/workflows${modelPath(model)}/text_to_image` : `/image_generation${modelPath(model)}`;
  },
  answersLists: true,
  toUpstream(request, { drop }) {
    requireBytes("fireworks-ai", request);
    const options = { handled: pictureMembers, kind: "image", drop } as const;
    if (isFlux(modelOf("fireworks-ai", request))) {
      requireOnePicture("fireworks-ai", request);
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
    const found = v.parse(FireworksPictures, body);
    const list = Array.isArray(found) ? found : found.base64.map((base64) => ({ ...found, base64 }));
    const kept = list.filter(({ finishReason }) => !Object.hasOwn(filters, finishReason ?? ""));
    const pictures = kept.flatMap(({ base64 }): Picture[] => (base64 ? [{ b64_json: base64 }] : []));
    return toFilteredAnswer("fireworks-ai", pictures, { ...options, reason: list[0]?.finishReason });
  },
};

const SiliconflowPictures = v.looseObject({ images: v.array(v.looseObject({ url: v.string() })) });

/** Pictures of SiliconFlow (https://docs.siliconflow.cn/en/api-reference/images/images-generations). */
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
      ...copyMembers(request, members, { handled: pictureMembers, kind: "image", drop }),
      model: modelOf("siliconflow", request),
      prompt,
    };
  },
  fromUpstream: (body, _request, options) =>
    toImageAnswer(
      v.parse(SiliconflowPictures, body).images.map(({ url }) => ({ url })),
      options,
    ),
};

const HyperbolicPictures = v.looseObject({ images: v.array(v.looseObject({ image: v.string() })) });

/** Pictures of Hyperbolic (https://docs.hyperbolic.xyz/docs/image-apis). */
export const hyperbolicImages: ImageAdapter = {
  path: () => "/v1/image/generation",
  toUpstream(request, { drop }) {
    requireBytes("hyperbolic", request);
    requireOnePicture("hyperbolic", request);
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
      ...copyMembers(request, members, { handled: pictureMembers, kind: "image", drop }),
      model_name: modelOf("hyperbolic", request),
      prompt: request.prompt,
      ...sizeOf(request),
    };
  },
  fromUpstream: (body, _request, options) =>
    toImageAnswer(
      v.parse(HyperbolicPictures, body).images.map(({ image }) => ({ b64_json: image })),
      options,
    ),
};

const TogetherPictures = v.looseObject({ data: v.array(v.looseObject({})), created: v.nullish(v.number()) });

/** An answer in OpenAI's shape that tells no time. */
export const withTime: NonNullable<ImageAdapter["fromUpstream"]> = (body, _request, { created = 0 }) => {
  const answer = v.parse(TogetherPictures, body);
  return isObject(body) ? { ...body, data: answer.data, created: answer.created ?? created } : undefined;
};

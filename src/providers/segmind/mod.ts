import * as v from "valibot";
import { toBase64 } from "../../lib/base64.ts";
import { defineProvider } from "../core/define.ts";
import { keyHeader } from "../core/headers.ts";
import type { OperationAdapter } from "../core/types.ts";
import { modelPath } from "../shared/hosts.ts";
import { imageMembers, modelOf, requireBytes, sizeOf, toImageAnswer } from "../shared/images.ts";
import { copyMembers } from "../shared/members.ts";

const Answer = v.looseObject({ image: v.union([v.string(), v.array(v.string())]) });

const names = [
  "negative_prompt",
  "scheduler",
  "guidance_scale",
  "seed",
  "strength",
  "refiner",
  "high_noise_fraction",
  "control_scale",
  "control_start",
  "control_end",
  "qr_text",
  "invert",
  "qr_size",
  "image",
];
const members = {
  ...Object.fromEntries(names.map((name) => [name, name])),
  style: "style",
  num_inference_steps: "num_inference_steps",
  steps: "num_inference_steps",
};

/** Images (https://docs.segmind.com); some models return the image bytes. */
const generateImage: OperationAdapter<"generateImage"> = {
  path: (request) => modelPath(modelOf("segmind", request)),
  toUpstream(request, { drop }) {
    requireBytes("segmind", request);
    const size = sizeOf(request);
    return {
      ...copyMembers(request, members, { handled: imageMembers, kind: "image", drop }),
      prompt: request.prompt,
      ...(typeof request.n === "number" && { samples: request.n }),
      ...(size && { img_width: size.width, img_height: size.height }),
      base64: true,
    };
  },
  fromUpstream(body, _request, options) {
    const { image } = v.parse(Answer, body);
    const images = (Array.isArray(image) ? image : [image]).map((one) => ({ b64_json: one }));
    return toImageAnswer(images, options);
  },
  fromBytes: ({ bytes }, _request, options) => toImageAnswer([{ b64_json: toBase64(bytes) }], options),
};

/** Segmind (https://docs.segmind.com). */
export const segmind = defineProvider({
  slug: "segmind",
  settings: { prefix: "segmind", schema: v.object({}) },
  baseUrl: "https://api.segmind.com/v1",
  authenticate: keyHeader("x-api-key"),
  // the whole path is the model's name
  models: { inPath: (path) => path.replace(/^\//, "") },
  operations: { generateImage },
});

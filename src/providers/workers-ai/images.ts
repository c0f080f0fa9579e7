import * as v from "valibot";
import { toBase64 } from "../../lib/base64.ts";
import type { OperationAdapter } from "../core/types.ts";
import { modelPath } from "../shared/hosts.ts";
import { imageMembers, modelOf, requireBytes, requireOneImage, sizeOf, toImageAnswer } from "../shared/images.ts";
import { copyMembers } from "../shared/members.ts";

const Reply = v.looseObject({ result: v.looseObject({ image: v.string() }) });

const members = {
  negative_prompt: "negative_prompt",
  num_steps: "num_steps",
  steps: "steps",
  seed: "seed",
  guidance: "guidance",
  strength: "strength",
  image_b64: "image_b64",
};

/** Images (https://developers.cloudflare.com/workers-ai/models/); some models return the image bytes. */
export const generateImage: OperationAdapter<"generateImage"> = {
  path: (request) => modelPath(modelOf("workers-ai", request)),
  toUpstream(request, { drop }) {
    requireBytes("workers-ai", request);
    requireOneImage("workers-ai", request);
    return {
      ...copyMembers(request, members, { handled: imageMembers, kind: "image", drop }),
      prompt: request.prompt,
      ...sizeOf(request),
    };
  },
  fromUpstream: (body, _request, options) => toImageAnswer([{ b64_json: v.parse(Reply, body).result.image }], options),
  fromBytes: ({ bytes }, _request, options) => toImageAnswer([{ b64_json: toBase64(bytes) }], options),
};

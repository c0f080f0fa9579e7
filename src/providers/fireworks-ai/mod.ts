import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { bearer } from "../core/headers.ts";
import { withoutPrefixes } from "../core/model-names.ts";
import { addressSetting, hostLabel } from "../core/settings.ts";
import { openaiCompatible } from "../openai-compatible/mod.ts";
import { withoutAdaptive } from "../openai-compatible/vendors/adaptations.ts";
import { oldTokenLimit } from "../openai-compatible/vendors/declare.ts";
import { fireworksImages } from "../openai-compatible/vendors/images.ts";
import { createRecords } from "./records.ts";

const HostLabel = hostLabel("must be part of a host name");

/** Fireworks (https://docs.fireworks.ai/api-reference/post-chatcompletions); files and fine-tuning jobs belong to an account. */
export const fireworks = openaiCompatible({
  slug: "fireworks-ai",
  baseUrl: "https://api.fireworks.ai/inference/v1",
  // https://docs.fireworks.ai/api-reference/rerank-documents
  rerank: { top_n: "top_n", return_documents: "return_documents" },
  model: "accounts/fireworks/models/llama-v3p1-405b-instruct",
  own: { generateImage: fireworksImages },
  models: {
    canonical: (model) => withoutPrefixes(model, /^accounts\/fireworks\/models\//),
    // a deployment may follow the model
    variantOf: (model) => (model.includes("#") ? model.replace(/#.*$/, "") : undefined),
    inPath: (path) => /(?:^|\/)(?:workflows|image_generation)\/(.+?)(?:\/text_to_image)?$/i.exec(path)?.[1],
  },
  settings: { prefix: "fireworks", schema: v.object({ account_id: v.optional(addressSetting(HostLabel)) }) },
  chat: {
    rename: oldTokenLimit,
    bounds: { max_tokens: [1, Infinity], top_k: [1, 128], n: [1, 128] },
    thinking: true,
    adapt: withoutAdaptive,
  },
  answers: {},
  recordKeeping: {
    records: ({ account_id: account }) => createRecords(account ?? ""),
    store: {
      baseUrl({ account_id: account }) {
        if (account !== undefined) return `https://api.fireworks.ai/v1/accounts/${account}`;
        throw new InvalidRequestError("Cannot reach files of fireworks-ai: set the account", {
          param: "x-gateway-fireworks-account-id",
          code: "invalid_header",
        });
      },
      authenticate: bearer,
    },
  },
});

import * as v from "valibot";
import { ModelList } from "../../schemas/models.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { baseAddressSetting } from "../core/settings.ts";
import { plainChat, withStreamUsage } from "../shared/plain.ts";

/** URL of a dedicated endpoint, with or without the version that every path contains. */
const BaseUrl = v.pipe(
  v.string(),
  v.maxLength(2048, "must have at most 2048 characters"),
  v.regex(/^https?:\/\/[^\s?#\\@]+$/, "must be a URL that begins with https:// and has no query"),
  v.transform((text) => text.replace(/\/+$/, "").replace(/\/v1$/, "")),
);

/** Hugging Face: its router, or a dedicated endpoint (https://huggingface.co/docs/inference-providers). */
export const huggingface = defineProvider({
  slug: "huggingface",
  aliases: ["hugging-face"],
  settings: { prefix: "huggingface", schema: v.object({ base_url: v.optional(baseAddressSetting(BaseUrl)) }) },
  baseUrl: ({ base_url }) => base_url ?? "https://router.huggingface.co",
  isBaseInfluenced: true,
  authenticate: bearer,
  // a suffix after a colon selects the serving provider (https://huggingface.co/docs/inference-providers/index)
  models: { variantOf: (model) => (model.includes(":") ? model.replace(/:.*$/, "") : undefined) },
  operations: {
    chat: plainChat("huggingface", () => "/v1/chat/completions"),
    complete: { path: () => "/v1/completions", toUpstream: withStreamUsage },
    models: { method: "GET", path: () => "/v1/models", fromUpstream: (body) => v.parse(ModelList, body) },
  },
});

import { declareCompatible } from "../openai-compatible/vendors/declare.ts";

/** Recraft (https://www.recraft.ai/docs/api-reference/endpoints): images in OpenAI's shapes. */
export const recraft = declareCompatible({
  slug: "recraft-ai",
  baseUrl: "https://external.api.recraft.ai/v1",
  operations: ["generateImage"],
  media: {
    generateImage: {
      only: [
        "n",
        "size",
        "style",
        "style_id",
        "substyle",
        "response_format",
        "negative_prompt",
        "controls",
        "artistic_level",
        "text_layout",
      ],
    },
  },
});

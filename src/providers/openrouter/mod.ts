import * as v from "valibot";
import { bearer } from "../core/headers.ts";
import { openaiCompatible } from "../openai-compatible/mod.ts";
import { toOpenrouter } from "../openai-compatible/vendors/adaptations.ts";
import { decideAt } from "../shared/decisions.ts";

/** OpenRouter (https://openrouter.ai/docs/api-reference/overview): names the application that calls, and which hosts may serve. */
export const openrouter = openaiCompatible({
  slug: "openrouter",
  baseUrl: "https://openrouter.ai/api",
  pathPrefix: "/v1",
  // models of other makers answer chats only
  decide: decideAt("openrouter", "/alpha/decisions", ({ model }) => !/^(?!~?typesafe\/)[^/]+\//.test(model)),
  // https://openrouter.ai/docs/api-reference/rerank
  rerank: { top_n: "top_n" },
  operations: ["chat", "models", "responses"],
  settings: {
    prefix: "openrouter",
    open: true,
    schema: v.object({ referer: v.optional(v.string()), title: v.optional(v.string()) }),
  },
  authenticate: (credential, { referer, title }) => ({
    ...bearer(credential),
    ...(referer !== undefined && { "http-referer": referer }),
    ...(title !== undefined && { "x-title": title }),
  }),
  clientHeaders: ["http-referer", "x-title"],
  defaultHeaders: { "x-title": "AI gateway" },
  model: "openrouter/auto",
  // behind a colon stands which variant is to serve (https://openrouter.ai/docs/guides/routing/model-variants)
  models: {
    canonical: (model) => model.replace(/^~/, ""),
    variantOf: (model) => (model.includes(":") ? model.replace(/:.*$/, "") : undefined),
  },
  chat: { developer: true, cacheControl: true, thinking: true, replay: "reasoning", adapt: toOpenrouter },
  answers: {},
});

import * as v from "valibot";
import { bearer } from "../core/headers.ts";
import { openaiCompatible } from "../openai-compatible/mod.ts";
import { toOpenrouter } from "../openai-compatible/vendors/adaptations.ts";
import { decideAt } from "../shared/decisions.ts";
import { openrouterFacts } from "./facts.ts";

/** OpenRouter (https://openrouter.ai/docs/api-reference/overview): its settings identify the calling application. */
export const openrouter = openaiCompatible({
  slug: "openrouter",
  // https://openrouter.ai/docs/guides/routing/model-fallbacks
  choosesItself: true,
  baseUrl: "https://openrouter.ai/api",
  pathPrefix: "/v1",
  // other vendors' models support chat only
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
  // a suffix after a colon selects the variant (https://openrouter.ai/docs/guides/routing/model-variants)
  models: {
    canonical: (model) => model.replace(/^~/, ""),
    variantOf: (model) => (model.includes(":") ? model.replace(/:.*$/, "") : undefined),
  },
  facts: openrouterFacts,
  chat: {
    developer: true,
    cacheControl: true,
    thinking: true,
    replay: "reasoning",
    details: true,
    adapt: toOpenrouter,
  },
  // https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks
  answers: { demandsBack: ["reasoning_details"] },
  // dollars; a call with the account's own key at another provider is also charged there
  // (https://openrouter.ai/docs/use-cases/usage-accounting)
  charges: [{ path: ["cost"] }, { path: ["cost_details", "upstream_inference_cost"], where: "is_byok" }],
});

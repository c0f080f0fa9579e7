import * as v from "valibot";
import { ModelList } from "../../schemas/models.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { hostRequired } from "../shared/hosts.ts";
import { chat } from "./chat.ts";
import { embed } from "./embed.ts";
import { ollamaFacts } from "./facts.ts";

/** Ollama, on the caller's own host (https://github.com/ollama/ollama/blob/main/docs/openai.md). */
export const ollama = defineProvider({
  slug: "ollama",
  keyless: true,
  settings: { prefix: "ollama", schema: v.object({}) },
  baseUrl: hostRequired("ollama"),
  authenticate: bearer,
  // https://github.com/ollama/ollama/blob/main/docs/api.md#model-names
  models: {
    canonical: (model) => model.replace(/^(?:registry\.ollama\.ai\/)?(?:library\/)?/i, "").replace(/:latest$/i, ""),
  },
  facts: ollamaFacts,
  operations: {
    chat,
    embed,
    models: { method: "GET", path: () => "/v1/models", fromUpstream: (body) => v.parse(ModelList, body) },
  },
});

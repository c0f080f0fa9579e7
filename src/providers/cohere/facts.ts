import type { ModelFacts } from "../../schemas/model-facts.ts";
import { createFactReader, type FactTable } from "../core/model-facts.ts";
import type { ConversionOptions } from "../core/types.ts";

/** What Cohere's models take. */
export const cohereFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://docs.cohere.com/reference/chat",
    "https://docs.cohere.com/docs/reasoning",
    "https://docs.cohere.com/docs/tool-use-overview",
    "https://docs.cohere.com/docs/tool-use-parameter-types",
    "https://docs.cohere.com/docs/models",
  ],
  cards: [
    {
      match: ["*command-a-reasoning*"],
      facts: { inputs: ["text"], outputs: ["text"], takesTools: true, reasons: true },
    },
    { match: ["embed-*"], facts: { outputs: ["embeddings"] } },
  ],
  newest: { thinking: "budget", thinksByDefault: true, contextWindow: 256_000, maxOutputTokens: 32_000 },
  rows: [
    {
      match: ["*command-a-reasoning*"],
      facts: { thinking: "budget", thinksByDefault: true, contextWindow: 256_000, maxOutputTokens: 32_000 },
    },
    {
      match: ["*command-a-plus*"],
      facts: { thinking: "budget", thinksByDefault: true, contextWindow: 128_000, maxOutputTokens: 64_000 },
    },
    {
      match: [
        "*command",
        "*command-light*",
        "*command-nightly",
        "*command-r*",
        "*command-a-03-*",
        "*command-a-translate*",
        "*command-a-vision*",
        "*c4ai-aya-*",
        "*tiny-aya-*",
      ],
      facts: { thinking: "none", efforts: [] },
    },
  ],
};

const factsOf = createFactReader(cohereFacts);

/** Whether a model thinks; others plan their calls in `tool_plan`. */
export function thinks(model: string, options: ConversionOptions): boolean {
  const { thinking }: ModelFacts = { ...factsOf(model, options), ...options.modelFacts };
  return thinking !== "none";
}

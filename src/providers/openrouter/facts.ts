import type { FactTable } from "../core/model-facts.ts";

/** What OpenRouter takes for all models: it brings efforts and budgets into the form of each. */
export const openrouterFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://openrouter.ai/docs/use-cases/reasoning-tokens",
    "https://openrouter.ai/docs/features/tool-calling",
    "https://openrouter.ai/docs/api-reference/parameters",
  ],
  common: {
    thinking: "either",
    efforts: ["none", "minimal", "low", "medium", "high", "xhigh"],
    // https://github.com/openai/codex/issues/32318
    refusedResponsesTools: ["namespace"],
  },
  newest: {},
  rows: [],
};

import type { FactTable } from "../../core/model-facts.ts";

/** What DeepSeek's models take. They think unless they are asked not to. */
export const deepseekFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://api-docs.deepseek.com/guides/thinking_mode",
    "https://api-docs.deepseek.com/api/create-chat-completion",
    "https://api-docs.deepseek.com/quick_start/pricing",
  ],
  newest: {
    thinking: "switch",
    thinksByDefault: true,
    efforts: ["none", "low", "high", "max"],
    needsReasoningOfCalls: true,
    images: "none",
    contextWindow: 1_000_000,
    maxOutputTokens: 384_000,
  },
  cards: [
    {
      match: ["deepseek-chat", "deepseek-reasoner", "deepseek-v4-*"],
      facts: {
        inputs: ["text"],
        outputs: ["text"],
        takesTools: true,
        reasons: true,
        contextWindow: 1_000_000,
        maxOutputTokens: 384_000,
      },
    },
  ],
  rows: [],
};

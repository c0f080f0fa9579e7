import { openaiAnswerFields } from "../../core/fit-fields.ts";
import type { FactTable } from "../../core/model-facts.ts";
import { gptOss } from "./open-models.ts";

/** What the models that Cerebras serves take. */
export const cerebrasFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://inference-docs.cerebras.ai/capabilities/reasoning",
    "https://inference-docs.cerebras.ai/models/overview",
    "https://inference-docs.cerebras.ai/api-reference/models/public-models",
  ],
  common: { refusedMessageFields: openaiAnswerFields },
  newest: { thinking: "none", efforts: [] },
  rows: [
    {
      match: ["gpt-oss-*"],
      facts: gptOss,
    },
    {
      match: ["qwen-3.*", "qwen-4*"],
      facts: {
        thinking: "effort",
        efforts: ["none", "low", "medium", "high"],
        reasoningFormat: "parsed",
        thinksByDefault: true,
        contextWindow: 131_072,
        maxOutputTokens: 32_768,
      },
    },
    {
      match: ["zai-glm-*"],
      facts: { thinking: "effort", efforts: ["none", "high"], thinksByDefault: true, contextWindow: 131_072 },
    },
  ],
};

import { openaiAnswerFields } from "../../core/fit-fields.ts";
import type { FactTable } from "../../core/model-facts.ts";
import { gptOss } from "./open-models.ts";

/** What the models that Groq serves take. */
export const groqFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://console.groq.com/docs/reasoning",
    "https://console.groq.com/docs/openai#currently-unsupported-openai-features",
    "https://console.groq.com/docs/api-reference#chat-create",
    "https://console.groq.com/docs/models",
    "https://console.groq.com/docs/responses-api",
  ],
  common: {
    refusedMessageFields: ["name", ...openaiAnswerFields],
    refusedResponsesTools: ["namespace", "custom"],
  },
  // a model that is not known to reason is sent none of the fields that only reasoning models take
  newest: { thinking: "none", efforts: [], takesReasoning: false },
  cards: [
    {
      match: ["openai/gpt-oss-120b", "openai/gpt-oss-20b"],
      facts: { inputs: ["text"], outputs: ["text"], takesTools: true, reasons: true },
    },
  ],
  rows: [
    {
      match: ["openai/gpt-oss-*"],
      facts: { ...gptOss, maxOutputTokens: 65_536 },
    },
    {
      match: ["qwen/*", "qwen-*"],
      facts: {
        thinking: "effort",
        efforts: ["none", "medium"],
        effortWord: "default",
        // the default leaves reasoning in the text
        reasoningFormat: "parsed",
        thinksByDefault: true,
        contextWindow: 131_072,
      },
    },
    {
      match: ["llama-*", "meta-llama/*", "moonshotai/*"],
      facts: { thinking: "none", efforts: [], takesReasoning: false },
    },
  ],
};

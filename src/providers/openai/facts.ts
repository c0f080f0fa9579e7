import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { FactTable } from "../core/model-facts.ts";
import { openModelRows } from "../openai-compatible/facts/open-models.ts";
import { openaiCards } from "./cards.ts";

/** Models from gpt-5.4 on. */
const newest: ModelFacts = {
  sampling: "none",
  takesMaxTokens: false,
  efforts: ["none", "low", "medium", "high", "xhigh"],
  thinksByDefault: true,
  chatServesToolsWithReasoning: false,
};

/** What OpenAI's models take, and open models at a custom host. */
export const openaiFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://developers.openai.com/api/docs/models",
    "https://developers.openai.com/api/docs/deprecations",
    "https://platform.openai.com/docs/guides/reasoning",
    "https://platform.openai.com/docs/guides/latest-model",
    "https://platform.openai.com/docs/guides/function-calling",
    "https://platform.openai.com/docs/api-reference/chat/create",
  ],
  common: { toolNameLength: 64 },
  cards: openaiCards,
  newest,
  rows: [
    { match: ["gpt-3.5*", "ft:gpt-3.5*"], facts: { efforts: [] } },
    { match: ["gpt-4.1*", "ft:gpt-4.1*"], facts: { efforts: [] } },
    {
      match: ["gpt-4o*", "ft:gpt-4o*", "chatgpt-4o*"],
      facts: { efforts: [] },
    },
    { match: ["gpt-4*", "ft:gpt-4*"], facts: { efforts: [] } },
    {
      match: ["o1*", "o3*", "o4*"],
      facts: {
        sampling: "none",
        takesMaxTokens: false,
        efforts: ["low", "medium", "high"],
        thinksByDefault: true,
        canStopThinking: false,
      },
    },
    { match: ["gpt-5-chat*"], facts: { efforts: [] } },
    {
      match: ["gpt-5", "gpt-5-*"],
      facts: {
        sampling: "none",
        takesMaxTokens: false,
        efforts: ["minimal", "low", "medium", "high"],
        thinksByDefault: true,
        canStopThinking: false,
      },
    },
    {
      match: ["gpt-5.1*"],
      facts: {
        sampling: "none",
        takesMaxTokens: false,
        efforts: ["none", "low", "medium", "high"],
      },
    },
    {
      match: ["gpt-5.2*", "gpt-5.3*"],
      facts: {
        sampling: "none",
        takesMaxTokens: false,
        efforts: ["none", "low", "medium", "high", "xhigh"],
      },
    },
    // it reasons only where an effort asks for it
    { match: ["gpt-5.4*"], facts: { ...newest, thinksByDefault: false } },
    { match: ["gpt-5.*", "ft:gpt-5.*", "gpt-6*"], facts: newest },
    ...openModelRows,
  ],
};

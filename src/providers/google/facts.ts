import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { FactTable } from "../core/model-facts.ts";
import { geminiCards } from "./cards.ts";

/** Models before signatures of calls, and before thinking. */
const older: ModelFacts = { thinking: "none", needsCallSignatures: false, responseSchemas: "subset" };
/** Models that take no instructions apart from the conversation. */
const plain: ModelFacts = { ...older, takesInstructions: false };
/** Generation 2.5: thinking has a budget in tokens. */
const budgeted: ModelFacts = {
  thinking: "budget",
  thinksByDefault: true,
  needsCallSignatures: false,
};
/** Generation 3 and later: thinking has a level, and `none` is sent as the lowest. */
const leveled: ModelFacts = {
  thinking: "level",
  canStopThinking: false,
  thinksByDefault: true,
  efforts: ["none", "low", "medium", "high"],
};

/** What Gemini and Gemma models take, at the Gemini API and at Vertex AI. */
export const geminiFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://ai.google.dev/gemini-api/docs/models",
    "https://ai.google.dev/gemini-api/docs/deprecations",
    "https://ai.google.dev/gemini-api/docs/thinking",
    "https://ai.google.dev/gemini-api/docs/thought-signatures",
    "https://ai.google.dev/gemini-api/docs/structured-output",
    "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/thinking",
  ],
  common: {
    lateInstructions: "user",
    parsesArguments: true,
    needsCallSignatures: true,
    toolNamesBeginWithLetter: true,
  },
  cards: geminiCards,
  newest: { ...leveled, takesPrefill: false, refusedFields: ["presence_penalty", "frequency_penalty"] },
  rows: [
    { match: ["*gemma-4*"], facts: { ...plain, thinking: "level", efforts: ["none", "minimal", "high"] } },
    { match: ["*gemma-*"], facts: plain },
    { match: ["*gemini-1.0*", "*gemini-pro", "*gemini-pro-vision*", "*gemini-pro-0*"], facts: plain },
    { match: ["*gemini-1.5*", "*gemini-2.0*"], facts: older },
    {
      match: ["*gemini-2.5-*-image*", "*gemini-2.5-*-tts*"],
      facts: { thinking: "none", needsCallSignatures: false },
    },
    {
      match: ["*gemini-2.5-flash-lite*"],
      facts: { ...budgeted, thinksByDefault: false, thinkingBudget: [512, 24_576] },
    },
    { match: ["*gemini-2.5-flash*"], facts: { ...budgeted, thinkingBudget: [0, 24_576] } },
    { match: ["*gemini-2.5*"], facts: { ...budgeted, canStopThinking: false, thinkingBudget: [128, 32_768] } },
    { match: ["*gemini-3-pro*", "*gemini-3.1-pro*"], facts: leveled },
    {
      match: ["*gemini-3-flash*", "*gemini-3.1-flash*", "*gemini-3.5-flash*"],
      facts: { ...leveled, efforts: ["none", "minimal", "low", "medium", "high"] },
    },
    {
      match: ["*gemini-3.6-flash*", "*gemini-flash-lite-latest"],
      // https://github.com/agentgateway/agentgateway/issues/2811
      facts: { ...leveled, takesPrefill: false, efforts: ["none", "minimal", "low", "medium", "high"] },
    },
  ],
};

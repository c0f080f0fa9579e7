import type { ModelFacts } from "../../../schemas/model-facts.ts";
import type { FactTable } from "../../core/model-facts.ts";

/** What all Kimi models have in common that think. Their sampling is fixed. */
const thinking: ModelFacts = {
  sampling: "none",
  refusedFields: ["presence_penalty", "frequency_penalty"],
  thinksByDefault: true,
  needsReasoningOfCalls: true,
  refusesEmptyReasoning: true,
  images: "inline",
  contextWindow: 262_144,
};

/** Models from K3 on, which always think and take an effort alone. */
const newest: ModelFacts = {
  ...thinking,
  thinking: "effort",
  efforts: ["low", "high", "max"],
  canStopThinking: false,
  toolChoice: "required",
  contextWindow: 1_048_576,
  maxOutputTokens: 1_048_576,
};

/** Models with a switch for thinking, which take no effort. */
const switched: ModelFacts = { ...thinking, thinking: "switch", efforts: [], toolChoice: "unthinking" };

/** Models that take text alone and do not think. */
const plain: ModelFacts = { inputs: ["text"], outputs: ["text"], takesTools: true, reasons: false };

/** What Moonshot's models take. */
export const moonshotFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://platform.kimi.ai/docs/api/chat",
    "https://platform.kimi.ai/docs/guide/use-thinking-effort",
    "https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model",
    "https://platform.kimi.ai/docs/guide/use-kimi-vision-model",
  ],
  newest,
  cards: [
    { match: ["moonshot-v1-*-vision-*"], facts: { ...plain, inputs: ["text", "image"] } },
    { match: ["moonshot-v1-*", "kimi-k2-0*", "kimi-k2-turbo-*"], facts: plain },
    { match: ["kimi-k2-thinking*"], facts: { ...plain, reasons: true } },
    { match: ["kimi-k2.*", "kimi-k3*"], facts: { ...plain, inputs: ["text", "image"], reasons: true } },
  ],
  rows: [
    { match: ["moonshot-v1-8k*"], facts: { thinking: "none", efforts: [], contextWindow: 8_192 } },
    { match: ["moonshot-v1-32k*"], facts: { thinking: "none", efforts: [], contextWindow: 32_768 } },
    { match: ["moonshot-v1-*"], facts: { thinking: "none", efforts: [], contextWindow: 131_072 } },
    { match: ["kimi-k2.7-code*", "kimi-k2-thinking*"], facts: { ...switched, canStopThinking: false } },
    { match: ["kimi-k2.*"], facts: switched },
    { match: ["kimi-k2-*"], facts: { thinking: "none", efforts: [], images: "none", contextWindow: 262_144 } },
    { match: ["kimi-*"], facts: newest },
  ],
};

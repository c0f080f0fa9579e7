import type { ModelFacts } from "../../../schemas/model-facts.ts";
import type { FactTable } from "../../core/model-facts.ts";

/** What all GLM models have in common. */
const common: ModelFacts = { toolChoice: "auto" };

/** Models that think unless a switch turns it off, and take no effort. */
const switched: ModelFacts = {
  thinking: "switch",
  efforts: [],
  thinksByDefault: true,
  images: "none",
  contextWindow: 204_800,
  maxOutputTokens: 131_072,
};

/** Models from GLM-5.3 on, which always think. */
const newest: ModelFacts = {
  ...switched,
  efforts: ["low", "high", "max"],
  canStopThinking: false,
  contextWindow: 1_048_576,
};

/** What the GLM models of Z.ai and Zhipu take. */
export const glmFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://docs.z.ai/api-reference/llm/chat-completion",
    "https://docs.z.ai/guides/capabilities/thinking-mode",
    "https://docs.z.ai/guides/llm/glm-5.3",
    "https://docs.bigmodel.cn/api-reference",
  ],
  common,
  newest,
  cards: [
    {
      match: ["glm-4.5v*", "glm-4.6v*"],
      facts: { inputs: ["text", "image"], outputs: ["text"], reasons: true },
    },
    {
      match: ["glm-4.5*", "glm-4.6*", "glm-4.7*", "glm-5*"],
      facts: { inputs: ["text"], outputs: ["text"], takesTools: true, reasons: true },
    },
  ],
  rows: [
    { match: ["glm-5.2*"], facts: { ...newest, canStopThinking: true } },
    { match: ["glm-4.*v*"], facts: { ...switched, images: "any", contextWindow: 131_072, maxOutputTokens: 32_768 } },
    { match: ["glm-4.5*"], facts: { ...switched, contextWindow: 131_072, maxOutputTokens: 98_304 } },
    { match: ["glm-4.*", "glm-5", "glm-5-*", "glm-5.1*"], facts: switched },
    { match: ["glm-z1*", "glm-3*", "glm-4*", "codegeex*", "charglm*"], facts: { thinking: "none", efforts: [] } },
    { match: ["glm-*"], facts: newest },
  ],
};

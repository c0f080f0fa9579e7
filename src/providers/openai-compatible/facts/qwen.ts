import type { ModelFacts } from "../../../schemas/model-facts.ts";
import type { FactTable } from "../../core/model-facts.ts";

/** Models with a switch for thinking, and a budget in tokens. */
const switched: ModelFacts = {
  thinking: "switch",
  thinkingBudget: [1, 81_920],
  efforts: [],
  toolChoice: "unthinking",
  contextWindow: 1_000_000,
};

/** Models from Qwen3.5 on, which think by default. */
const newest: ModelFacts = { ...switched, thinksByDefault: true };

/** What the models of DashScope take. */
export const qwenFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://www.alibabacloud.com/help/en/model-studio/deep-thinking",
    "https://www.alibabacloud.com/help/en/model-studio/use-qwen-by-calling-api",
    "https://www.alibabacloud.com/help/en/model-studio/models",
    "https://www.alibabacloud.com/help/en/model-studio/error-code",
  ],
  newest,
  rows: [
    {
      match: ["qwq*", "qvq*", "*-thinking", "*-thinking-*"],
      facts: { ...switched, thinkingBudget: [1, 32_768], canStopThinking: false, thinksByDefault: true },
    },
    {
      match: ["qwen2*", "qwen1*", "*-coder*", "*-instruct*", "qwen-coder*", "qwen-max*", "qwen-long*", "qwen-vl*"],
      facts: { thinking: "none", efforts: [] },
    },
    {
      match: ["qwen3-*b", "qwen3-*b-a*b"],
      facts: {
        ...switched,
        thinkingBudget: [1, 38_912],
        thinksByDefault: true,
        thinksInStreamsOnly: true,
        contextWindow: 131_072,
      },
    },
    { match: ["qwen-plus*", "qwen-turbo*", "qwen-flash*", "qwen3-max*"], facts: switched },
    { match: ["qwen*"], facts: newest },
  ],
};

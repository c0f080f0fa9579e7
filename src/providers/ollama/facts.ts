import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { FactTable } from "../core/model-facts.ts";

/** Models without thinking. */
const plain: ModelFacts = { thinking: "none", efforts: [] };

/** What Ollama takes: arguments of calls as objects, images inline, and the effort of models that think. */
export const ollamaFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://docs.ollama.com/api/openai-compatibility",
    "https://docs.ollama.com/capabilities/thinking",
    "https://github.com/ollama/ollama/blob/main/openai/openai.go",
  ],
  common: {
    thinking: "effort",
    efforts: ["none", "low", "medium", "high"],
    thinksByDefault: true,
    parsesArguments: true,
    images: "inline",
  },
  newest: {},
  rows: [
    { match: ["gpt-oss*", "*/gpt-oss*"], facts: { efforts: ["low", "medium", "high"], canStopThinking: false } },
    {
      match: [
        "llama*",
        "*/llama*",
        "mistral*",
        "mixtral*",
        "ministral*",
        "codestral*",
        "devstral*",
        "qwen2*",
        "qwen2.5*",
        "qwen3-coder*",
        "gemma2*",
        "gemma3*",
        "phi3*",
        "phi4",
        "phi4:*",
        "phi4-mini",
        "phi4-mini:*",
        "command-r*",
        "hermes3*",
        "granite3.0*",
        "granite3.1*",
        "smollm*",
        "tinyllama*",
        "deepseek-coder*",
      ],
      facts: plain,
    },
  ],
};

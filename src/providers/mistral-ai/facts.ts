import type { ModelFacts } from "../../schemas/model-facts.ts";
import { openaiAnswerFields } from "../core/fit-fields.ts";
import type { FactTable } from "../core/model-facts.ts";

/** Models without reasoning: they refuse an effort, and messages that carry reasoning. */
const plain: ModelFacts = { thinking: "none", efforts: [], takesReasoning: false };

/** What Mistral's models take. */
export const mistralFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://docs.mistral.ai/capabilities/reasoning/adjustable",
    "https://docs.mistral.ai/api/#tag/chat",
    "https://docs.mistral.ai/getting-started/models",
    // rules about roles, ids of calls and parts by the version of the tokenizer
    "https://github.com/mistralai/mistral-common (1.13.1, protocol/instruct/validator.py)",
  ],
  // an instruction may stand behind a message of the user only, and not at the end
  common: {
    callIds: "nine",
    lateInstructions: "user",
    toolNameLength: 64,
    refusedMessageFields: openaiAnswerFields,
  },
  cards: [
    // https://docs.mistral.ai/models/mistral-medium-3-5-26-04
    {
      match: ["mistral-medium-2604", "mistral-medium-3.5", "mistral-medium-3-5"],
      facts: {
        inputs: ["text", "image"],
        outputs: ["text"],
        takesTools: true,
        reasons: true,
        responseSchemas: "native",
        contextWindow: 262_144,
      },
    },
    { match: ["mistral-embed*", "codestral-embed*"], facts: { outputs: ["embeddings"] } },
  ],
  newest: { thinking: "effort", efforts: ["none", "high"], contextWindow: 262_144 },
  rows: [
    // these always reason
    {
      match: ["*magistral-*-2506", "*magistral-*-2507", "*magistral-*-2509"],
      facts: { thinking: "effort", efforts: [], thinksByDefault: true, canStopThinking: false, contextWindow: 131_072 },
    },
    {
      match: [
        "*mistral-large-24*",
        "*mistral-large-25*",
        "*mistral-large-latest",
        "*mistral-medium-25*",
        "*mistral-small-24*",
        "*mistral-small-25*",
        "*mistral-tiny*",
        "*mistral-saba*",
        "*mistral-nemo*",
        "*ministral-*",
        "*codestral-*",
        "*devstral-*",
        "*labs-devstral-*",
        "*pixtral-*",
        "*voxtral-*",
        "*open-mi*",
      ],
      facts: plain,
    },
  ],
};

import type { ModelFacts } from "../../../schemas/model-facts.ts";
import type { FactTable } from "../../core/model-facts.ts";

/** Reasoning models refuse these fields. */
const refusedFields = ["presence_penalty", "frequency_penalty", "stop"];

/** Types of OpenAI's tools that its Responses API does not know (https://github.com/maximhq/bifrost/issues/5428). */
const refusedResponsesTools = [
  "namespace",
  "custom",
  "tool_search",
  "local_shell",
  "apply_patch",
  "computer_use_preview",
];

/** Models that reason as much as they choose: they refuse an effort. */
const reasoning: ModelFacts = {
  thinking: "effort",
  efforts: [],
  refusedFields,
  thinksByDefault: true,
  canStopThinking: false,
};

/** Models that take images. */
const sighted: ModelFacts = {
  inputs: ["text", "image"],
  outputs: ["text"],
  takesTools: true,
  reasons: true,
  responseSchemas: "native",
};

/** What xAI's models take. */
export const xaiFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://docs.x.ai/developers/model-capabilities/text/reasoning",
    "https://docs.x.ai/docs/guides/reasoning",
    "https://docs.x.ai/developers/models",
    "https://docs.x.ai/developers/rest-api-reference/inference/chat-completions",
  ],
  common: { needsTextOfCalls: true, refusedResponsesTools },
  cards: [
    // https://docs.x.ai/developers/models/grok-4.20-0309
    { match: ["grok-4.20-multi-agent*"], facts: {} },
    { match: ["grok-4.20*non-reasoning*"], facts: { ...sighted, reasons: false, contextWindow: 1_000_000 } },
    { match: ["grok-4.20*"], facts: { ...sighted, contextWindow: 1_000_000 } },
  ],
  newest: {
    thinking: "effort",
    efforts: ["low", "medium", "high", "xhigh"],
    refusedFields,
    thinksByDefault: true,
    canStopThinking: false,
    contextWindow: 500_000,
  },
  rows: [
    { match: ["*non-reasoning*", "grok-2*", "grok-beta", "grok-vision*"], facts: { thinking: "none", efforts: [] } },
    { match: ["grok-3-mini*"], facts: { ...reasoning, efforts: ["low", "high"], contextWindow: 131_072 } },
    {
      match: ["grok-3*"],
      facts: { thinking: "none", efforts: [], refusedFields: ["presence_penalty"], contextWindow: 131_072 },
    },
    {
      match: ["grok-4.3*"],
      facts: { thinking: "effort", efforts: ["none", "low", "medium", "high"], refusedFields, thinksByDefault: true },
    },
    {
      match: ["grok-4.5*", "grok-4.6*"],
      facts: { ...reasoning, efforts: ["low", "medium", "high"], contextWindow: 500_000 },
    },
    // the effort is the number of agents
    { match: ["grok-4.20-multi-agent*"], facts: { ...reasoning, efforts: ["low", "medium", "high", "xhigh"] } },
    {
      match: ["grok-4", "grok-4-*", "grok-4.1*", "grok-4.20*", "grok-code-*", "grok-build-*"],
      facts: reasoning,
    },
  ],
};

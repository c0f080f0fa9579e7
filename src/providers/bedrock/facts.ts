import type { ModelFacts } from "../../schemas/model-facts.ts";
import { claudeFacts } from "../anthropic/facts.ts";
import { atAnotherHost, type FactTable } from "../core/model-facts.ts";

/** What Converse and InvokeModel take, whichever model they call. */
const host: ModelFacts = { toolNameLength: 64, images: "inline", lateInstructions: "user" };

/** What Claude takes here. Ids of calls are brought into form by the adapter. */
const ofClaude: ModelFacts = { ...claudeFacts.common, callIds: "any", ...host };

/** What models on Amazon Bedrock take. Names begin with a region, a vendor, or both. */
export const bedrockFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    "https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html",
    "https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html",
    ...claudeFacts.sources,
  ],
  common: host,
  // a name without a vendor says nothing about the model
  newest: {},
  cards: atAnotherHost(claudeFacts.cards),
  rows: [
    ...claudeFacts.rows.map(({ match, facts }) => ({ match, facts: { ...ofClaude, ...facts, ...host } })),
    { match: ["*anthropic.*", "*claude-*"], facts: { ...ofClaude, ...claudeFacts.newest, ...host } },
    {
      match: ["*nova-2-*"],
      facts: { efforts: ["none", "low", "medium", "high"], contextWindow: 1_000_000, maxOutputTokens: 65_536 },
    },
    { match: ["*nova-premier*"], facts: { efforts: [], contextWindow: 1_000_000, maxOutputTokens: 10_000 } },
    {
      match: ["*nova-micro*"],
      facts: { efforts: [], images: "none", contextWindow: 128_000, maxOutputTokens: 10_000 },
    },
    { match: ["*nova-*"], facts: { efforts: [], contextWindow: 300_000, maxOutputTokens: 10_000 } },
    {
      match: ["*openai.gpt-oss-*"],
      facts: { efforts: ["low", "medium", "high"], canStopThinking: false, images: "none", contextWindow: 128_000 },
    },
    { match: ["*meta.llama*", "*cohere.*", "*ai21.*"], facts: { efforts: [], contextWindow: 128_000 } },
    { match: ["*amazon.titan-*"], facts: { efforts: [], images: "none" } },
  ],
};

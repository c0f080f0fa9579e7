import { claudeFacts } from "../anthropic/facts.ts";
import { atAnotherHost, type FactTable } from "../core/model-facts.ts";

/** What the models of bedrock-mantle take: Claude through the Messages API, others through OpenAI's shapes. */
export const mantleFacts: FactTable = {
  read: "2026-11-27",
  sources: ["https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html", ...claudeFacts.sources],
  newest: {},
  cards: atAnotherHost(claudeFacts.cards),
  rows: [
    ...claudeFacts.rows.map(({ match, facts }) => ({ match, facts: { ...claudeFacts.common, ...facts } })),
    { match: ["anthropic.*", "*claude-*"], facts: { ...claudeFacts.common, ...claudeFacts.newest } },
    { match: ["openai.gpt-oss-*"], facts: { efforts: ["low", "medium", "high"], canStopThinking: false } },
  ],
};

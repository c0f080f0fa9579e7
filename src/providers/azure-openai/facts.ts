import { atAnotherHost, type FactTable } from "../core/model-facts.ts";
import { openaiFacts } from "../openai/facts.ts";

/** Names of deployments may hold the name of their model anywhere. */
const anywhere = (name: string): string => (name.startsWith("gpt-") ? `*${name}` : name);

/**
 * What OpenAI's models take on Azure, by the names of deployments. A name that holds no model says nothing about it.
 */
export const azureOpenaiFacts: FactTable = {
  ...openaiFacts,
  sources: [...openaiFacts.sources, "https://learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning"],
  newest: {},
  cards: [
    { match: ["*gpt-35*"], facts: {} },
    ...atAnotherHost(openaiFacts.cards).map(({ match, facts }) => ({ match: match.map(anywhere), facts })),
  ],
  rows: [
    // names of deployments had no dots
    { match: ["*gpt-35*"], facts: openaiFacts.rows[0]?.facts ?? {} },
    ...openaiFacts.rows.map(({ match, facts }) => ({ match: match.map(anywhere), facts })),
    { match: ["*gpt-*"], facts: openaiFacts.newest },
  ],
};

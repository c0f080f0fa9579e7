import { claudeFacts } from "../anthropic/facts.ts";
import { atAnotherHost, type FactTable } from "../core/model-facts.ts";
import { geminiFacts } from "../google/facts.ts";
import { mistralFacts } from "../mistral-ai/facts.ts";
import { openPublishers } from "./publishers.ts";

type Row = FactTable["rows"][number];

/** Rows of a table with what holds for all of its models, so that they can stand beside those of other tables. */
const wholeRows = ({ rows, common }: FactTable): Row[] =>
  rows.map(({ match, facts }) => ({ match, facts: { ...common, ...facts } }));

/** Names that begin with a publisher, in each spelling. */
const namesOf = (publisher: string): string[] => [
  `${publisher}.*`,
  `${publisher}/*`,
  `*publishers/${publisher}/models/*`,
];

/** Rows of a table for a publisher's models: names begin with the publisher. */
const rowsOf = (publisher: string, { rows, common, newest }: FactTable): Row[] => [
  ...rows.map(({ match, facts }) => ({
    match: match.flatMap((pattern) =>
      namesOf(publisher).map((name) => name.replace(/\*$/, pattern.replace(/^\*?/, "*"))),
    ),
    facts: { ...common, ...facts },
  })),
  { match: namesOf(publisher), facts: { ...common, ...newest } },
];

/** What models on Vertex AI take: those of Anthropic, Google and Mistral as at their own APIs, others as OpenAI's chat completions. */
export const vertexFacts: FactTable = {
  read: geminiFacts.read,
  sources: [
    ...geminiFacts.sources,
    ...claudeFacts.sources,
    "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/use-partner-models",
  ],
  cards: atAnotherHost([...(claudeFacts.cards ?? []), ...(geminiFacts.cards ?? [])]),
  newest: { ...geminiFacts.common, ...geminiFacts.newest },
  rows: [
    ...wholeRows(claudeFacts),
    { match: ["*claude-*", ...namesOf("anthropic")], facts: { ...claudeFacts.common, ...claudeFacts.newest } },
    ...rowsOf("mistralai", mistralFacts),
    { match: openPublishers.flatMap(namesOf), facts: {} },
    ...wholeRows(geminiFacts),
  ],
};

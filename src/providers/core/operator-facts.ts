import * as v from "valibot";
import { type ModelFacts, OperatorFacts } from "../../schemas/model-facts.ts";
import { createFactReader } from "./model-facts.ts";

/** Finds what the operator says of a provider's model; undefined where that is nothing. */
export type OperatorFactReader = (provider: string, model: string) => ModelFacts | undefined;

/** Facts that lists of models show and choices between models use. No conversion reads them. */
const listedFacts: ReadonlySet<string> = new Set<keyof ModelFacts>([
  "contextWindow",
  "maxInputTokens",
  "inputs",
  "outputs",
  "takesTools",
  "reasons",
  "retiredOn",
]);

const conversionFacts = new WeakMap<ModelFacts, ModelFacts | null>();

/** What conversions need of the operator's facts; undefined where that is nothing, so that a request stays as it is. */
export function toConversionFacts(facts: ModelFacts): ModelFacts | undefined {
  const known = conversionFacts.get(facts);
  if (known !== undefined) return known ?? undefined;
  const read = Object.entries(facts).filter(([name]) => !listedFacts.has(name));
  const made: ModelFacts | null = read.length > 0 ? Object.fromEntries(read) : null;
  conversionFacts.set(facts, made);
  return made ?? undefined;
}

/**
 * Facts of models in the form of the operator's file.
 *
 * @throws {TypeError} Naming the wrong member.
 */
export function readOperatorFacts(given: unknown): OperatorFacts {
  const { success, output, issues } = v.safeParse(OperatorFacts, given);
  if (success) return output;
  const [issue] = issues;
  throw new TypeError(`${v.getDotPath(issue) ?? "the value"} ${issue.message}`);
}

/**
 * Looks up the operator's facts of models. Undefined: the operator gave nothing.
 *
 * @throws {TypeError} If they name a provider that the gateway does not have.
 */
export function createOperatorFactReader(
  tables: OperatorFacts | undefined,
  providers: { has(slug: string): boolean },
): OperatorFactReader | undefined {
  if (!tables) return undefined;
  const unknown = Object.keys(tables).find((slug) => !providers.has(slug));
  if (unknown !== undefined) throw new TypeError(`Cannot use facts of models: ${unknown} is not a provider`);
  const readers = new Map(
    Object.entries(tables).map(([slug, { rows }]) => [
      slug,
      createFactReader({ read: "", sources: [], newest: {}, rows }),
    ]),
  );
  return (provider, model) => {
    const facts = readers.get(provider)?.(model);
    return facts && Object.keys(facts).length > 0 ? facts : undefined;
  };
}

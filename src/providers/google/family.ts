import type { ModelFacts } from "../../schemas/model-facts.ts";
import { createFactReader } from "../core/model-facts.ts";
import type { ConversionOptions } from "../core/types.ts";
import { geminiFacts } from "./facts.ts";

const factsOf = createFactReader(geminiFacts);

/** What a Gemini model takes, by its name in any host's spelling. */
export function geminiFactsOf(
  model: string,
  { modelFacts, hasCustomHost }: Pick<ConversionOptions, "modelFacts" | "hasCustomHost"> = {},
): ModelFacts {
  return { ...factsOf(model, { hasCustomHost }), ...modelFacts };
}

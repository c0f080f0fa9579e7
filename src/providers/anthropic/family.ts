import type { ModelFacts } from "../../schemas/model-facts.ts";
import { createFactReader } from "../core/model-facts.ts";
import type { ConversionOptions } from "../core/types.ts";
import { claudeFacts } from "./facts.ts";

/** What depends on the generation of a Claude model. */
export interface ClaudeFamily {
  /** Chooses its own thinking budget, guided by an effort level. */
  isAdaptive: boolean;
  /** Takes a thinking budget in tokens. */
  hasThinkingBudget: boolean;
  /** Rejects temperature and top_p together. */
  takesOneSampler: boolean;
  /** Takes JSON schemas in `output_config`; earlier models need a beta for them. */
  hasOutputConfig: boolean;
  /** Leaves the text of its thinking out unless it is asked for. */
  hidesThinking: boolean;
  /** Takes turns of the role `system` in mid conversation, where its host does. */
  takesSystemTurns: boolean;
  /** `max_tokens` to send when the caller sets none. */
  defaultMaxTokens: number;
}

const factsOf = createFactReader(claudeFacts);

/** `max_tokens` for models that write at least as much. */
const usualMaxTokens = 8_192;

/** Capabilities of a model, by its name in any host's spelling. */
export function familyOf(model: string, { modelFacts }: Pick<ConversionOptions, "modelFacts"> = {}): ClaudeFamily {
  const facts: ModelFacts = modelFacts ? { ...factsOf(model), ...modelFacts } : factsOf(model);
  const { thinking, sampling, responseSchemas, systemTurns = false, maxOutputTokens } = facts;
  const isAdaptive = thinking === "adaptive" || thinking === "either";
  return {
    isAdaptive,
    hasThinkingBudget: thinking === "budget" || thinking === "either",
    takesOneSampler: sampling === "one",
    hasOutputConfig: responseSchemas !== "beta",
    hidesThinking: thinking === "adaptive",
    takesSystemTurns: systemTurns,
    defaultMaxTokens: Math.min(usualMaxTokens, maxOutputTokens ?? usualMaxTokens),
  };
}

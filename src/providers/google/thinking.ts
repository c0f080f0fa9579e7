import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { EffortLevel, ModelFacts } from "../../schemas/model-facts.ts";
import { isEffort, nearestEffort } from "../core/model-facts.ts";
import type { ConversionOptions } from "../core/types.ts";
import { geminiFactsOf } from "./family.ts";

/** Thinking budget of a 2.5 model in tokens, by effort level. */
const budgets: Readonly<Record<EffortLevel, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};
/** Levels of models that the table does not name. */
const usualLevels: readonly EffortLevel[] = ["low", "medium", "high"];

/** The level nearest to an effort; the lowest for no thinking, since these models cannot stop. */
function levelOf(effort: EffortLevel, { efforts }: ModelFacts): string {
  const named = (efforts ?? usualLevels).filter((level) => level !== "none");
  const levels = named.length > 0 ? named : usualLevels;
  const level = effort === "none" ? levels[0] : nearestEffort(effort, levels);
  return (level ?? "low").toUpperCase();
}

/** The budget within what the model takes. */
function withinLimits(budget: number, { thinkingBudget }: ModelFacts): number {
  const [least, most] = thinkingBudget ?? [0, Number.MAX_SAFE_INTEGER];
  return Math.min(Math.max(budget, least), most);
}

function fromEffort(effort: EffortLevel, facts: ModelFacts): Record<string, unknown> {
  const includeThoughts = effort !== "none";
  if (facts.thinking !== "budget") return { includeThoughts, thinkingLevel: levelOf(effort, facts) };
  const isOff = effort === "none" && facts.canStopThinking !== false;
  return { includeThoughts, thinkingBudget: isOff ? 0 : withinLimits(budgets[effort], facts) };
}

/** The effort that a budget in tokens amounts to. */
function effortOf(budget: number): EffortLevel {
  if (budget < 4_096) return "low";
  return budget < 16_384 ? "medium" : "high";
}

/** A budget in tokens; below zero the model chooses it. */
function fromBudget(budget: number, facts: ModelFacts, { drop }: ConversionOptions): Record<string, unknown> {
  if (budget < 0) return { includeThoughts: true };
  if (facts.thinking !== "budget") return fromEffort(effortOf(budget), facts);
  const taken = withinLimits(budget, facts);
  if (taken !== budget) drop("thinking.budget_tokens");
  return { includeThoughts: true, thinkingBudget: taken };
}

/**
 * Thinking settings: `thinking` takes precedence over `reasoning_effort`, and a budget over a level; never both
 * (https://ai.google.dev/gemini-api/docs/thinking). Undefined when nothing is requested, or the model does not think.
 */
export function toThinkingConfig(request: ChatRequest, options: ConversionOptions): unknown {
  const { reasoning_effort: effort, thinking } = request;
  const asked = isObject(thinking) ? thinking : undefined;
  if (!asked && (effort === undefined || effort === null)) return undefined;
  const facts = geminiFactsOf(request.model, options);
  const known = isEffort(effort) ? effort : undefined;
  if (facts.thinking === "none" || (!asked && !known)) {
    options.drop(asked ? "thinking" : "reasoning_effort");
    return undefined;
  }
  const { type, budget_tokens: budget } = asked ?? {};
  if (type === "disabled" || budget === 0) return fromEffort("none", facts);
  if (typeof budget === "number") return fromBudget(budget, facts, options);
  return known ? fromEffort(known, facts) : { includeThoughts: true };
}

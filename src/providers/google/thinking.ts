import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import { type ModelTraits, traitsOf } from "./model.ts";

/** Thinking budget of a 2.5 model in tokens, by effort level. */
const budgets = { none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576, xhigh: 24_576, max: 24_576 } as const;
/** Thinking level of a generation 3 model, by effort level. */
const levels = {
  none: "MINIMAL",
  minimal: "MINIMAL",
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH",
} as const;
type Effort = keyof typeof budgets;

/** 2.5 models for image or audio output do not think. */
const mediaModel = /-(?:image|tts)(?:-|$)/;

/** Smallest thinking budget of the larger 2.5 models: their thinking cannot be turned off. */
const leastProBudget = 128;

function isEffort(value: unknown): value is Effort {
  return typeof value === "string" && Object.hasOwn(budgets, value);
}

function levelOf(effort: Effort, { isPro, generation }: ModelTraits): string {
  const level = levels[effort];
  if (!isPro) return level;
  if (level === "MINIMAL") return "LOW";
  // the first model of the generation has two levels
  return level === "MEDIUM" && generation === 3 ? "HIGH" : level;
}

function fromEffort(effort: Effort, traits: ModelTraits): Record<string, unknown> {
  const includeThoughts = effort !== "none";
  if ((traits.generation ?? 0) >= 3) return { includeThoughts, thinkingLevel: levelOf(effort, traits) };
  const budget = budgets[effort];
  return { includeThoughts, thinkingBudget: budget === 0 && traits.isPro ? leastProBudget : budget };
}

function fromThinking(thinking: Record<string, unknown>, effort: Effort | undefined, traits: ModelTraits): unknown {
  const { type, budget_tokens: budget } = thinking;
  if (type === "disabled" || budget === 0) return fromEffort("none", traits);
  if (typeof budget === "number") return { includeThoughts: true, thinkingBudget: budget };
  return effort === undefined ? { includeThoughts: true } : fromEffort(effort, traits);
}

/**
 * Thinking settings: `thinking` takes precedence over `reasoning_effort`, and a budget over a level; never both
 * (https://ai.google.dev/gemini-api/docs/thinking). Undefined when nothing is requested, or the model does not think.
 */
export function toThinkingConfig(request: ChatRequest, { drop }: ConversionOptions): unknown {
  const { reasoning_effort: effort, thinking } = request;
  const asked = isObject(thinking) ? thinking : undefined;
  if (!asked && (effort === undefined || effort === null)) return undefined;
  const traits = traitsOf(request.model);
  const generation = traits.generation ?? 3;
  const thinks =
    traits.family === "gemini" && (generation >= 3 || (generation >= 2.5 && !mediaModel.test(request.model)));
  if (!thinks || (!asked && !isEffort(effort))) {
    drop(asked ? "thinking" : "reasoning_effort");
    return undefined;
  }
  const known = isEffort(effort) ? effort : undefined;
  if (asked) return fromThinking(asked, known, traits);
  return known && fromEffort(known, traits);
}

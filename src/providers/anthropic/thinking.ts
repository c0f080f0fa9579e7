import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import type { ClaudeFamily } from "./family.ts";

/** Request fields that control thinking (https://docs.claude.com/en/docs/build-with-claude/extended-thinking). */
export interface ThinkingMembers {
  thinking?: Record<string, unknown>;
  /** Becomes a field of `output_config`. */
  effort?: string;
}

const budgets: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
};
const leastBudget = 1_024;

/** The request's token limit; undefined when it has none. */
export function readMaxTokens({ max_tokens: older, max_completion_tokens: newer }: ChatRequest): number | undefined {
  return newer ?? older ?? undefined;
}

/** Whether thinking is on. */
export function isThinking({ thinking }: ThinkingMembers): boolean {
  return thinking?.type === "enabled" || thinking?.type === "adaptive";
}

/** Thinking budget for an effort level, below `max_tokens`; undefined when less than the minimum is left. */
function budgetOf(effort: string, maxTokens: number | undefined): number | undefined {
  const budget = Math.min(budgets[effort] ?? 0, (maxTokens ?? Number.POSITIVE_INFINITY) - 1);
  return budget >= leastBudget ? budget : undefined;
}

/** Thinking with a budget of the model's choice, whose text is in the response. */
const adaptive = ({ hidesThinking }: ClaudeFamily): Record<string, unknown> => ({
  type: "adaptive",
  ...(hidesThinking && { display: "summarized" }),
});

/** The effort that a budget in tokens amounts to. */
export function effortOf(budget: number): string {
  const levels = ["low", "medium", "high", "xhigh"];
  return levels.find((level) => budget <= (budgets[level] ?? 0)) ?? "max";
}

/** The caller's `thinking` object; a budget becomes an effort for models that take none. */
function ownThinking({ thinking }: ChatRequest, family: ClaudeFamily): ThinkingMembers | undefined {
  if (!isObject(thinking)) return undefined;
  const { type, budget_tokens: budget } = thinking;
  if (type !== "enabled" || family.hasThinkingBudget || !family.isAdaptive) return { thinking };
  return { thinking: adaptive(family), ...(typeof budget === "number" && { effort: effortOf(budget) }) };
}

/** What thinking depends on besides the request. */
interface ThinkingOptions {
  /** The model must call a tool, which rules out thinking. */
  mustCall: boolean;
  /** See the function of this name. */
  hasCallWithoutThinking: boolean;
  /** The budget of an effort level; undefined when less than the minimum is left. Default: a fixed one for each level. */
  toBudget?: typeof budgetOf;
}

/**
 * Thinking settings: the caller's `thinking` object takes precedence over `reasoning_effort`.
 */
export function toThinking(
  request: ChatRequest,
  family: ClaudeFamily,
  { drop, mustCall, hasCallWithoutThinking, toBudget = budgetOf }: ConversionOptions & ThinkingOptions,
): ThinkingMembers {
  const { reasoning_effort: asked } = request;
  const own = ownThinking(request, family);
  if (own?.effort !== undefined && typeof asked !== "string") return own;
  if (typeof asked !== "string" || asked === "none") return own ?? {};
  if (family.isAdaptive && Object.hasOwn(budgets, asked)) {
    const effort = asked === "minimal" ? "low" : asked;
    return { ...(mustCall ? {} : { thinking: adaptive(family) }), ...own, effort };
  }
  const mayThink = family.hasThinkingBudget && !mustCall && !hasCallWithoutThinking;
  const budget = mayThink ? toBudget(asked, readMaxTokens(request)) : undefined;
  if (own || budget === undefined) {
    drop("reasoning_effort");
    return own ?? {};
  }
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

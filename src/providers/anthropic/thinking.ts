import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import type { ClaudeFamily } from "./family.ts";

/** What of a request says how the model thinks (https://docs.claude.com/en/docs/build-with-claude/extended-thinking). */
export interface ThinkingMembers {
  thinking?: Record<string, unknown>;
  /** Goes into `output_config`. */
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

/** Longest answer a request asks for; undefined when it says nothing. */
export function readMaxTokens({ max_tokens: older, max_completion_tokens: newer }: ChatRequest): number | undefined {
  return newer ?? older ?? undefined;
}

/** Whether the model thinks. */
export function isThinking({ thinking }: ThinkingMembers): boolean {
  return thinking?.type === "enabled" || thinking?.type === "adaptive";
}

/** Tokens of an effort, as far as the answer leaves room. */
function budgetOf(effort: string, maxTokens: number | undefined): number | undefined {
  const budget = Math.min(budgets[effort] ?? 0, (maxTokens ?? Number.POSITIVE_INFINITY) - 1);
  return budget >= leastBudget ? budget : undefined;
}

/**
 * How the model thinks: as the caller says in the provider's own way, else by the effort that is asked for.
 *
 * @param options.mustCall The model must call a tool: it cannot think then.
 * @param options.hasUnthoughtCall As the function of this name.
 */
export function toThinking(
  request: ChatRequest,
  family: ClaudeFamily,
  { drop, mustCall, hasUnthoughtCall }: ConversionOptions & { mustCall: boolean; hasUnthoughtCall: boolean },
): ThinkingMembers {
  const { reasoning_effort: asked } = request;
  const own = isObject(request.thinking) ? { thinking: request.thinking } : undefined;
  if (typeof asked !== "string") return own ?? {};
  if (asked === "none") return own ?? {};
  if (family.isAdaptive && Object.hasOwn(budgets, asked)) {
    const effort = asked === "minimal" ? "low" : asked;
    return { ...(mustCall ? {} : { thinking: { type: "adaptive" } }), ...own, effort };
  }
  const mayThink = family.hasThinkingBudget && !mustCall && !hasUnthoughtCall;
  const budget = mayThink ? budgetOf(asked, readMaxTokens(request)) : undefined;
  if (own || budget === undefined) {
    drop("reasoning_effort");
    return own ?? {};
  }
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

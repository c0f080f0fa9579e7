import type { ClaudeFamily } from "../anthropic/family.ts";
import type { ConversionOptions } from "../core/types.ts";
import { type BedrockModel, claudeFamily } from "./model.ts";

/** Share of `max_tokens` that older Claude models may use for thinking. */
const budgetShares: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.8,
  max: 0.8,
};
const leastBudget = 1024;
/** `max_tokens` to assume when the request sets none. */
const assumedAnswer = 20_480;

/** Reasoning settings of a request. */
interface ReasoningRequest {
  effort: string | undefined;
  /** Claude's own `thinking` object. */
  thinking: Record<string, unknown> | undefined;
  maxTokens: number | undefined;
}

const efforts = ["minimal", "low", "medium", "high", "xhigh", "max"];

function claudeFields(
  family: ClaudeFamily,
  { effort, maxTokens }: ReasoningRequest,
): Record<string, unknown> | undefined {
  const asked = effort ?? "";
  if (family.isAdaptive) {
    return { thinking: { type: "adaptive" }, output_config: { effort: asked === "minimal" ? "low" : asked } };
  }
  if (!family.hasThinkingBudget || (maxTokens !== undefined && maxTokens <= leastBudget)) return undefined;
  const share = Math.floor((maxTokens ?? assumedAnswer) * (budgetShares[asked] ?? 0));
  return { thinking: { type: "enabled", budget_tokens: Math.max(leastBudget, share) } };
}

/** Effort levels of models that support only three. */
function threeEfforts(effort: string): string {
  if (effort === "minimal") return "low";
  return effort === "xhigh" || effort === "max" ? "high" : effort;
}

function fieldsOfEffort(model: BedrockModel, asked: ReasoningRequest): Record<string, unknown> | undefined {
  const effort = asked.effort ?? "";
  const family = claudeFamily(model);
  if (effort === "none") return {};
  if (!efforts.includes(effort)) return undefined;
  if (family) return claudeFields(family, asked);
  if (model.vendor === "openai") return { reasoning_effort: threeEfforts(effort) };
  if (model.vendor === "amazon" && model.name.startsWith("nova-2")) {
    return { reasoningConfig: { type: "enabled", maxReasoningEffort: threeEfforts(effort) } };
  }
  return undefined;
}

/**
 * Fields of `additionalModelRequestFields` that turn reasoning on
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-reasoning.html).
 */
export function reasoningFields(
  model: BedrockModel,
  asked: ReasoningRequest,
  options: ConversionOptions,
): Record<string, unknown> {
  if (asked.thinking) {
    if (model.vendor === "anthropic" || model.vendor === "") {
      const effort = asked.effort !== undefined && claudeFamily(model)?.isAdaptive ? fieldsOfEffort(model, asked) : {};
      return { ...effort, thinking: asked.thinking };
    }
    options.drop("thinking");
  }
  if (asked.effort === undefined) return {};
  const fields = fieldsOfEffort(model, asked);
  if (fields === undefined) options.drop("reasoning_effort");
  return fields ?? {};
}

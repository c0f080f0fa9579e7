import { isObject, nonEmptyString } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ClaudeFamily } from "../anthropic/family.ts";
import { effortOf, toThinking } from "../anthropic/thinking.ts";
import type { ConversionOptions } from "../core/types.ts";
import { type BedrockModel, claudeFamily } from "./model.ts";
import type { Block } from "./parts.ts";

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

/** What decides about reasoning besides the request. */
interface ReasoningRules {
  model: BedrockModel;
  options: ConversionOptions;
  /** The model must call a tool, which rules out Claude's thinking. */
  mustCall: boolean;
  /** The last turn answers calls whose thinking is not sent back. Claude with a thinking budget rejects that. */
  hasCallWithoutThinking: boolean;
}

/** Thinking budget for an effort level; undefined when less than the minimum is left. */
function toBudget(effort: string, maxTokens: number | undefined): number | undefined {
  const share = budgetShares[effort];
  if (share === undefined || (maxTokens !== undefined && maxTokens <= leastBudget)) return undefined;
  return Math.max(leastBudget, Math.floor((maxTokens ?? assumedAnswer) * share));
}

function claudeFields(request: ChatRequest, family: ClaudeFamily, { options, ...rules }: ReasoningRules): Block {
  const { thinking, effort } = toThinking(request, family, { ...options, ...rules, toBudget });
  return { ...(thinking && { thinking }), ...(effort !== undefined && { output_config: { effort } }) };
}

/** Effort levels of models that support only three. */
function threeEfforts(effort: string): string | undefined {
  if (effort === "minimal") return "low";
  if (effort === "xhigh" || effort === "max") return "high";
  return ["low", "medium", "high"].includes(effort) ? effort : undefined;
}

/** The effort of a request: its own, or what a thinking budget amounts to. */
function askedEffort({ reasoning_effort: effort, thinking }: ChatRequest): string | undefined {
  const own = nonEmptyString(effort);
  if (own !== undefined || !isObject(thinking)) return own;
  if (thinking.type === "disabled") return "none";
  return typeof thinking.budget_tokens === "number" ? effortOf(thinking.budget_tokens) : undefined;
}

/** Fields that turn reasoning on at other vendors; undefined where the model has none. */
function fieldsOfEffort({ vendor, name }: BedrockModel, effort: string): Block | undefined {
  if (effort === "none") return {};
  const level = threeEfforts(effort);
  if (level === undefined) return undefined;
  if (vendor === "openai") return { reasoning_effort: level };
  if (vendor === "amazon" && name.startsWith("nova-2"))
    return { reasoningConfig: { type: "enabled", maxReasoningEffort: level } };
  return undefined;
}

/**
 * Fields of `additionalModelRequestFields` that control reasoning
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-reasoning.html).
 */
export function reasoningFields(request: ChatRequest, rules: ReasoningRules): Block {
  const { model, options } = rules;
  const family = claudeFamily(model, options);
  if (family) return claudeFields(request, family, rules);
  const thinking = isObject(request.thinking) ? request.thinking : undefined;
  // a profile whose model is not known may be Claude
  if (thinking && model.vendor === "") return { thinking };
  const effort = askedEffort(request);
  const fields = effort === undefined ? undefined : fieldsOfEffort(model, effort);
  if (fields) return fields;
  if (nonEmptyString(request.reasoning_effort) !== undefined) options.drop("reasoning_effort");
  if (thinking && thinking.type !== "disabled") options.drop("thinking");
  return {};
}

/** Nova takes neither a limit of tokens nor sampling at its highest effort. */
export function isHighest({ reasoningConfig: config }: Block): boolean {
  return isObject(config) && config.maxReasoningEffort === "high";
}

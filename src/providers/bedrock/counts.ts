import { isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";
import type { TokenCounts } from "../shared/answers.ts";

/** A count as a header tells it. */
function toCount(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Tokens of an answer of InvokeModel (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html): headers count them. */
export function readCounts({ answerHeader }: Pick<ConversionOptions, "answerHeader">): TokenCounts {
  return {
    prompt: toCount(answerHeader?.("x-amzn-bedrock-input-token-count")),
    completion: toCount(answerHeader?.("x-amzn-bedrock-output-token-count")),
  };
}

/** Tokens the last event of a stream of InvokeModel counts; undefined for other events. */
export function readMetrics(event: Readonly<Record<string, unknown>>): TokenCounts | undefined {
  const metrics = event["amazon-bedrock-invocationMetrics"];
  if (!isObject(metrics)) return undefined;
  const numberOf = (value: unknown) => (typeof value === "number" ? value : undefined);
  return { prompt: numberOf(metrics.inputTokenCount), completion: numberOf(metrics.outputTokenCount) };
}

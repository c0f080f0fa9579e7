import { finiteNumber, isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";
import type { TokenCounts } from "../shared/answers.ts";

/** A token count in a header. */
function toCount(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * Token counts of an InvokeModel response, from its headers
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html).
 */
export function readCounts({ answerHeader }: Pick<ConversionOptions, "answerHeader">): TokenCounts {
  return {
    prompt: toCount(answerHeader?.("x-amzn-bedrock-input-token-count")),
    completion: toCount(answerHeader?.("x-amzn-bedrock-output-token-count")),
  };
}

/** Token counts in the last event of an InvokeModel stream; undefined for other events. */
export function readMetrics(event: Readonly<Record<string, unknown>>): TokenCounts | undefined {
  const metrics = event["amazon-bedrock-invocationMetrics"];
  if (!isObject(metrics)) return undefined;
  return { prompt: finiteNumber(metrics.inputTokenCount), completion: finiteNumber(metrics.outputTokenCount) };
}

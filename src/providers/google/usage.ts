import { UpstreamError } from "../../errors.ts";
import type { Usage } from "../../schemas/chat.ts";
import type { Candidate, UsageMetadata } from "./wire.ts";

/** Reasons that leave nothing to work with: a model's call that could not be read, or could not be made. */
const failures: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
  "MALFORMED_RESPONSE",
]);

/** Whether a response ended because of a faulty call. Agents would take such an end for the end of their work. */
export const isFailedEnd = (reason: string | null | undefined): boolean => failures.has(reason ?? "");

/** The failure of a response that ended so; it may be sent again. */
export function failedEnd(candidate: Candidate, provider: string): UpstreamError {
  const { finishReason, finishMessage } = candidate;
  const detail = finishMessage ? ` (${finishMessage.slice(0, 500)})` : "";
  return new UpstreamError(502, `Cannot use the response of ${provider}: it ended with ${finishReason}${detail}`, {
    provider,
  });
}

const finishReasons: Readonly<Record<string, string>> = {
  STOP: "stop",
  RECITATION: "stop",
  OTHER: "stop",
  FINISH_REASON_UNSPECIFIED: "stop",
  MALFORMED_FUNCTION_CALL: "stop",
  UNEXPECTED_TOOL_CALL: "stop",
  TOO_MANY_TOOL_CALLS: "stop",
  NO_IMAGE: "stop",
  IMAGE_OTHER: "stop",
  IMAGE_RECITATION: "stop",
  MAX_TOKENS: "length",
  SAFETY: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  BLOCKLIST: "content_filter",
  SPII: "content_filter",
  LANGUAGE: "content_filter",
  IMAGE_SAFETY: "content_filter",
  IMAGE_PROHIBITED_CONTENT: "content_filter",
};

/**
 * The finish reason in OpenAI's terms (https://ai.google.dev/api/generate-content#FinishReason). When the response need
 * not be strict, reasons without a counterpart stay unchanged.
 */
export function toFinishReason(
  reason: string | null | undefined,
  { called, strict }: { called: boolean; strict: boolean },
) {
  const known = reason && Object.hasOwn(finishReasons, reason) ? finishReasons[reason] : undefined;
  if (called && (known === undefined || known === "stop")) return "tool_calls";
  return known ?? (strict ? "stop" : (reason ?? "stop"));
}

/** Tokens of one modality; undefined where the provider reports none. */
export function countOf(details: UsageMetadata["promptTokensDetails"], modality: string): number | undefined {
  const counts = (details ?? []).filter((one) => one.modality === modality).map((one) => one.tokenCount ?? 0);
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
}

/**
 * Usage in the gateway's shape: completion tokens include reasoning, prompt tokens include results of built-in tools.
 *
 * @param searched Searches that are charged apart.
 */
export function toUsage(metadata: UsageMetadata | null | undefined, searched?: Record<string, number>): Usage {
  const { promptTokenCount, toolUsePromptTokenCount, candidatesTokenCount, thoughtsTokenCount } = metadata ?? {};
  const prompt = (promptTokenCount ?? 0) + (toolUsePromptTokenCount ?? 0);
  const completion = (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0);
  const heard = countOf(metadata?.promptTokensDetails, "AUDIO");
  const heardBefore = countOf(metadata?.cacheTokensDetails, "AUDIO");
  const spoken = countOf(metadata?.candidatesTokensDetails, "AUDIO");
  const drawn = countOf(metadata?.candidatesTokensDetails, "IMAGE");
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: metadata?.cachedContentTokenCount ?? 0,
      ...(heard !== undefined && { audio_tokens: heard }),
      ...(heardBefore !== undefined && { cached_tokens_details: { audio_tokens: heardBefore } }),
    },
    completion_tokens_details: {
      reasoning_tokens: thoughtsTokenCount ?? 0,
      ...(spoken !== undefined && { audio_tokens: spoken }),
      ...(drawn !== undefined && { image_tokens: drawn }),
    },
    ...(searched && { server_tool_use: searched }),
  };
}

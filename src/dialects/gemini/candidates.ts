import { isObject, objectsIn } from "../../lib/json.ts";
import { Grounding } from "../../schemas/grounding.ts";
import { type Finish, readCount, readUsage } from "../chat-reader.ts";

type Members = Record<string, unknown>;

/** Finish reasons of the Gemini API (https://ai.google.dev/api/generate-content#FinishReason). */
export const finishReasons: Readonly<Record<Finish, string>> = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY",
};

/** Usage in the format of the Gemini API, which counts reasoning tokens separately. */
export function toUsageMetadata(usage: unknown): Record<string, number> {
  const { prompt, completion, total, cached, reasoning } = readUsage(usage);
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: Math.max(0, completion - reasoning),
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    totalTokenCount: total,
  };
}

/** Tokens of one modality (https://ai.google.dev/api/generate-content#ModalityTokenCount). */
function countOfKind(details: unknown, modality: string): number {
  const counts = objectsIn(details).filter((one) => one.modality === modality);
  return counts.reduce((sum, one) => sum + readCount(one, "tokenCount"), 0);
}

/**
 * Chat usage from a Gemini response, undefined if it has no usage.
 *
 * @param grounding Of all parts of a response. Default: of the one that is read.
 */
export function fromUsageMetadata(answer: object, grounding = new Grounding().add(answer)): Members | undefined {
  const given: unknown = Reflect.get(answer, "usageMetadata");
  if (!isObject(given)) return undefined;
  const model: unknown = Reflect.get(answer, "modelVersion");
  const searched = grounding.toUse(model);
  const reasoning = readCount(given, "thoughtsTokenCount");
  const prompt = readCount(given, "promptTokenCount") + readCount(given, "toolUsePromptTokenCount");
  const completion = readCount(given, "candidatesTokenCount") + reasoning;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: readCount(given, "cachedContentTokenCount"),
      audio_tokens: countOfKind(given.promptTokensDetails, "AUDIO"),
      cached_tokens_details: { audio_tokens: countOfKind(given.cacheTokensDetails, "AUDIO") },
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: countOfKind(given.candidatesTokensDetails, "AUDIO"),
      image_tokens: countOfKind(given.candidatesTokensDetails, "IMAGE"),
    },
    ...(searched && { server_tool_use: searched }),
  };
}

function toOdds({ token, logprob }: Members): Members {
  return { token, logProbability: logprob };
}

/** Logprobs in the format of the Gemini API (https://ai.google.dev/api/generate-content#LogprobsResult). */
export function toLogprobsResult(logprobs: unknown): Members {
  const content = isObject(logprobs) ? objectsIn(logprobs.content) : [];
  if (content.length === 0) return {};
  const chosen = content.map(toOdds);
  const sum = content.reduce((all, { logprob }) => all + (typeof logprob === "number" ? logprob : 0), 0);
  return {
    avgLogprobs: sum / content.length,
    logprobsResult: {
      chosenCandidates: chosen,
      topCandidates: content.map(({ top_logprobs: top }) => ({ candidates: objectsIn(top).map(toOdds) })),
    },
  };
}

/** Choices of a chat completion or a chunk, with their index. */
export function readChoices(value: unknown): { index: number; choice: Members }[] {
  const choices = isObject(value) ? objectsIn(value.choices) : [];
  return choices.map((choice, place) => ({
    index: typeof choice.index === "number" ? choice.index : place,
    choice,
  }));
}

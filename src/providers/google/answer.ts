import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import type { ChatRequest, ChatResponse } from "../../schemas/chat.ts";
import { toSeconds } from "../core/records.ts";
import type { ConversionOptions } from "../core/types.ts";
import { extrasOf, imagesOf, textOf, toBlock, toLogprobs, toToolCall } from "./parts.ts";
import type { GeminiHost } from "./request.ts";
import { soundOf, wantsWav } from "./sound.ts";
import { toFinishReason, toUsage } from "./usage.ts";
import { type Candidate, GenerateContentResponse, type Part } from "./wire.ts";

/** Members every answer and chunk has. */
export function sharedMembers(body: GenerateContentResponse, request: ChatRequest) {
  const { responseId, createTime, modelVersion } = body;
  const model = modelVersion ?? request.model;
  return {
    id: `chatcmpl-${responseId || model}`,
    created: toSeconds(createTime) ?? 0,
    model,
  };
}

/** What the answer to a prompt that was refused says: nothing. */
function blockedChoice(): Record<string, unknown> {
  return { index: 0, message: { role: "assistant", content: null }, logprobs: null, finish_reason: "content_filter" };
}

/** What a choice is made by. */
interface AnswerOptions {
  id: string;
  strict: boolean;
  /** Sound comes as a file. */
  asWav: boolean;
}

/** What the parts say beside text: in strict answers only what would be lost otherwise. */
function mediaOf(parts: readonly Part[], { id, strict, asWav }: AnswerOptions): Record<string, unknown> {
  const images = strict ? imagesOf(parts) : [];
  const sound = soundOf(parts, { asWav });
  const transcript = textOf(parts, { thought: false }) ?? "";
  return {
    ...(images.length > 0 && { images }),
    ...(sound !== undefined && { audio: { id: `audio_${id}`, data: sound, expires_at: 0, transcript } }),
  };
}

function blocksOf(parts: readonly Part[]): Record<string, unknown> {
  const blocks = parts.flatMap((part) => {
    const block = toBlock(part);
    return block ? [{ type: block.kind, ...block.delta }] : [];
  });
  const thoughts = textOf(parts, { thought: true });
  return {
    ...(thoughts !== undefined && { reasoning_content: thoughts }),
    ...(blocks.length > 0 && { content_blocks: blocks }),
  };
}

function toChoice(candidate: Candidate, position: number, options: AnswerOptions): Record<string, unknown> {
  const { id, strict } = options;
  const index = candidate.index ?? position;
  const parts = candidate.content?.parts ?? [];
  const calls = parts.flatMap((part, number) => toToolCall(part, `call_${id}_${index}_${number}`, strict) ?? []);
  const said = textOf(parts, { thought: false });
  return {
    index,
    message: {
      role: "assistant",
      content: said || (calls.length > 0 ? null : (said ?? "")),
      ...(!strict && blocksOf(parts)),
      ...mediaOf(parts, options),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    logprobs: toLogprobs(candidate.logprobsResult),
    finish_reason: toFinishReason(candidate.finishReason, { called: calls.length > 0, strict }),
    ...(!strict && extrasOf(candidate)),
  };
}

/**
 * The gateway's answer from one of generateContent.
 *
 * @throws {UpstreamError} If it has neither an answer nor a reason for none.
 */
export function fromGeminiAnswer(
  body: unknown,
  request: ChatRequest,
  { strict, slug }: Pick<ConversionOptions, "strict"> & Pick<GeminiHost, "slug">,
): ChatResponse {
  const answer = v.parse(GenerateContentResponse, body);
  const candidates = answer.candidates ?? [];
  const blocked = candidates.length === 0 && Boolean(answer.promptFeedback?.blockReason);
  if (candidates.length === 0 && !blocked) {
    throw new UpstreamError(502, `Cannot use the response of ${slug}: it has no candidates`, { provider: slug });
  }
  const { id, created, model } = sharedMembers(answer, request);
  const ids = { id: answer.responseId || "0", strict, asWav: wantsWav(request) };
  const feedback = !strict && answer.promptFeedback ? { promptFeedback: answer.promptFeedback } : {};
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: blocked ? [blockedChoice()] : candidates.map((one, position) => toChoice(one, position, ids)),
    usage: toUsage(answer.usageMetadata),
    ...feedback,
  };
}

import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import type { ChatRequest, ChatResponse } from "../../schemas/chat.ts";
import { Grounding } from "../../schemas/grounding.ts";
import { toSeconds } from "../core/records.ts";
import type { ConversionOptions } from "../core/types.ts";
import { extrasOf, imagesOf, textOf, toBlock, toLogprobs, toToolCall } from "./parts.ts";
import type { GeminiHost } from "./request.ts";
import { audioOf, wantsWav } from "./sound.ts";
import { failedEnd, isFailedEnd, toFinishReason, toUsage } from "./usage.ts";
import { type Candidate, GenerateContentResponse, type Part } from "./wire.ts";

/** Fields of every response and chunk. */
export function sharedMembers(
  body: GenerateContentResponse,
  request: ChatRequest,
  { created = 0 }: Pick<ConversionOptions, "created">,
) {
  const { responseId, createTime, modelVersion } = body;
  const model = modelVersion ?? request.model;
  return {
    id: `chatcmpl-${responseId || model}`,
    // the Gemini API states no time, Vertex AI does
    created: toSeconds(createTime) ?? created,
    model,
  };
}

/**
 * What ids of calls begin with, where the model gives none: another one in each response, because results are matched by id
 * across a conversation.
 */
export function callIdBase(
  { responseId }: GenerateContentResponse,
  { answerId }: Pick<ConversionOptions, "answerId">,
): string {
  return responseId || answerId?.replace(/^chatcmpl-/, "") || "0";
}

/** The response to a blocked prompt: an empty choice. */
function blockedChoice(): Record<string, unknown> {
  return {
    index: 0,
    message: { role: "assistant", content: null, refusal: null },
    logprobs: null,
    finish_reason: "content_filter",
  };
}

/** Parameters of a choice. */
interface AnswerOptions {
  id: string;
  strict: boolean;
  /** Audio is returned as a WAV file. */
  asWav: boolean;
}

/** Content beyond text: strict responses contain only what would otherwise be lost. */
function mediaOf(parts: readonly Part[], { id, strict, asWav }: AnswerOptions): Record<string, unknown> {
  const images = strict ? imagesOf(parts) : [];
  const audioData = audioOf(parts, { asWav });
  const transcript = textOf(parts, { thought: false }) ?? "";
  return {
    ...(images.length > 0 && { images }),
    ...(audioData !== undefined && { audio: { id: `audio_${id}`, data: audioData, expires_at: 0, transcript } }),
  };
}

function blocksOf(parts: readonly Part[]): Record<string, unknown> {
  const blocks = parts.flatMap((part) => {
    const block = toBlock(part);
    return block ? [{ type: block.kind, ...block.delta }] : [];
  });
  const reasoning = textOf(parts, { thought: true });
  return {
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
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
      refusal: null,
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
 * The gateway's response from one of generateContent.
 *
 * @throws {UpstreamError} If it has neither candidates nor a block reason, or no candidate ended well.
 */
export function fromGeminiAnswer(
  body: unknown,
  request: ChatRequest,
  options: Pick<ConversionOptions, "strict" | "created" | "answerId"> & Pick<GeminiHost, "slug">,
): ChatResponse {
  const { strict, slug } = options;
  const answer = v.parse(GenerateContentResponse, body);
  const candidates = answer.candidates ?? [];
  const blocked = candidates.length === 0 && Boolean(answer.promptFeedback?.blockReason);
  if (candidates.length === 0 && !blocked) {
    throw new UpstreamError(502, `Cannot use the response of ${slug}: it has no candidates`, { provider: slug });
  }
  const [first] = candidates;
  if (first && candidates.every(({ finishReason }) => isFailedEnd(finishReason))) throw failedEnd(first, slug);
  const { id, created, model } = sharedMembers(answer, request, options);
  const ids = { id: callIdBase(answer, options), strict, asWav: wantsWav(request) };
  const feedback = !strict && answer.promptFeedback ? { promptFeedback: answer.promptFeedback } : {};
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: blocked ? [blockedChoice()] : candidates.map((one, position) => toChoice(one, position, ids)),
    usage: toUsage(answer.usageMetadata, new Grounding().add(answer).toUse(model)),
    ...feedback,
  };
}

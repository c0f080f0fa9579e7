import * as v from "valibot";
import { isObject, requireJson } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { Grounding } from "../../schemas/grounding.ts";
import { failureOfError } from "../core/failures.ts";
import type { ConversionOptions, StreamMapper } from "../core/types.ts";
import { callIdBase, sharedMembers } from "./answer.ts";
import { extrasOf, imagesOf, textOf, toBlock, toLogprobs, toToolCall } from "./parts.ts";
import type { GeminiHost } from "./request.ts";
import { audioOf } from "./sound.ts";
import { failedEnd, isFailedEnd, toFinishReason, toUsage } from "./usage.ts";
import { type Candidate, GenerateContentResponse, type Part, type UsageMetadata } from "./wire.ts";

/** State of one choice of a stream. */
interface Progress {
  hasRole: boolean;
  calls: number;
  finished: boolean;
  /** The content block in progress. */
  block: { index: number; kind: string };
}

/** @throws {UpstreamError} The failure an event reports, with its status; the error is an object or a list of one. */
export function requireNoError(body: unknown, provider: string): void {
  const found: unknown = Array.isArray(body) ? body[0] : body;
  if (isObject(found) && isObject(found.error)) throw failureOfError(found.error, provider);
}

/** State of the choices of one stream, by index. */
class Streams {
  readonly #known = new Map<number, Progress>();

  get(index: number): Progress {
    const known = this.#known.get(index);
    if (known) return known;
    const made = { hasRole: false, calls: 0, finished: false, block: { index: -1, kind: "" } };
    this.#known.set(index, made);
    return made;
  }

  get allFinished(): boolean {
    return this.#known.size > 0 && [...this.#known.values()].every(({ finished }) => finished);
  }
}

function toBlocks(parts: readonly Part[], { block }: Progress): object[] {
  return parts.flatMap((part) => {
    const found = toBlock(part);
    if (!found) return [];
    const isMore = found.kind === block.kind && (found.kind === "text" || found.kind === "thinking");
    // a signature at the end belongs to the last part
    const isTail = part.text === "" && block.index >= 0;
    if (!isMore && !isTail) Object.assign(block, { index: block.index + 1, kind: found.kind });
    return [{ index: block.index, delta: found.delta }];
  });
}

function toDelta(parts: readonly Part[], progress: Progress, { id, strict }: { id: string; strict: boolean }): object {
  const said = textOf(parts, { thought: false });
  const reasoning = strict ? undefined : textOf(parts, { thought: true });
  const blocks = strict ? [] : toBlocks(parts, progress);
  const images = strict ? imagesOf(parts) : [];
  const audioData = audioOf(parts, { asWav: false });
  const calls = parts.flatMap((part) => {
    const call = toToolCall(part, `${id}_${progress.calls}`, strict);
    return call ? [{ index: progress.calls++, ...call }] : [];
  });
  return {
    ...(said && { content: said }),
    ...(reasoning && { reasoning_content: reasoning }),
    ...(blocks.length > 0 && { content_blocks: blocks }),
    ...(images.length > 0 && { images }),
    ...(audioData !== undefined && { audio: { data: audioData } }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/**
 * Maps the events of streamGenerateContent: each event is a partial response
 * (https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent).
 */
export function createGeminiMapper(
  request: ChatRequest,
  options: Pick<ConversionOptions, "strict" | "created" | "answerId">,
  { slug }: Pick<GeminiHost, "slug">,
): StreamMapper {
  const { strict } = options;
  const streams = new Streams();
  let shared: ReturnType<typeof sharedMembers> | undefined;
  let answerId = "0";
  let usage: UsageMetadata | undefined;
  let isBlocked = false;
  const hasOthers = typeof request.n === "number" && request.n > 1;
  const grounding = new Grounding();

  const toChoice = (candidate: Candidate, position: number): object[] => {
    const index = candidate.index ?? position;
    const progress = streams.get(index);
    if (isFailedEnd(candidate.finishReason) && !hasOthers) throw failedEnd(candidate, slug);
    const parts = candidate.content?.parts ?? [];
    const delta = toDelta(parts, progress, { id: `call_${answerId}_${index}`, strict });
    const ends = Boolean(candidate.finishReason) && !progress.finished;
    if (Object.keys(delta).length === 0 && !ends) return [];
    const role = progress.hasRole ? {} : { role: "assistant", content: "" };
    Object.assign(progress, { hasRole: true, finished: progress.finished || ends });
    const finish = { called: progress.calls > 0, strict };
    return [
      {
        index,
        delta: { ...role, ...delta },
        logprobs: toLogprobs(candidate.logprobsResult),
        finish_reason: ends ? toFinishReason(candidate.finishReason, finish) : null,
        ...(!strict && extrasOf(candidate)),
      },
    ];
  };
  const blockedChoice = (): object[] => {
    if (isBlocked || streams.get(0).hasRole) return [];
    isBlocked = true;
    const delta = { role: "assistant", content: "" };
    return [{ index: 0, delta, logprobs: null, finish_reason: "content_filter" }];
  };
  return {
    map({ data }) {
      const body: unknown = requireJson(data);
      requireNoError(body, slug);
      const slice = v.parse(GenerateContentResponse, body);
      if (!shared) {
        shared = sharedMembers(slice, request, options);
        answerId = callIdBase(slice, options);
      }
      grounding.add(slice);
      const { usageMetadata: counts, candidates, promptFeedback } = slice;
      if (typeof counts?.promptTokenCount === "number") usage = counts;
      const choices = candidates?.length
        ? candidates.flatMap(toChoice)
        : promptFeedback?.blockReason
          ? blockedChoice()
          : [];
      const { id, created, model } = shared;
      return choices.map((choice) => ({ id, object: "chat.completion.chunk", created, model, choices: [choice] }));
    },
    isComplete: () => isBlocked || streams.allFinished,
    usage: () => (usage ? toUsage(usage, grounding.toUse(shared?.model)) : undefined),
  };
}

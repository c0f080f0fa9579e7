import { toErrorInfo } from "../../errors.ts";
import { rpcStatusOf } from "../../lib/rpc-status.ts";
import type { GenerateContentRequest } from "../../schemas/gemini.ts";
import { type ChatPiece, readChoice, readHead, toFinish } from "../chat-reader.ts";
import { Sequencer } from "../sequence.ts";
import type { DialectEvent, DialectOptions, EventMapper, StreamError } from "../types.ts";
import { readAudio } from "./audio.ts";
import { finishReasons, readChoices, toLogprobsResult, toUsageMetadata } from "./candidates.ts";
import { readImages, toGrounding } from "./extras.ts";
import { wantsReasoning } from "./generation.ts";
import { type AnswerPart, mergeParts, PartWriter } from "./parts.ts";

/** One of several candidates that are streamed concurrently. */
interface Candidate {
  writer: PartWriter;
  sequencer: Sequencer<AnswerPart>;
  finish: string | undefined;
  /** Citations so far. */
  cited: ChatPiece[];
}

/** An error as an event (https://cloud.google.com/apis/design/errors#error_model). */
export function toErrorEvent({ message, type, code, status = 500 }: StreamError): DialectEvent {
  const details = toErrorInfo(code ?? null);
  return {
    error: { code: status, message, status: rpcStatusOf(status), type, ...(details.length > 0 && { details }) },
  };
}

/** Turns chat chunks into partial responses (https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent). */
export function createEvents(request: GenerateContentRequest, { id }: DialectOptions): EventMapper {
  const includesReasoning = wantsReasoning(request);
  const candidates = new Map<number, Candidate>();
  let modelVersion = request.model;

  const candidateOf = (index: number): Candidate => {
    const known = candidates.get(index);
    if (known) return known;
    const writer = new PartWriter({ answerId: `${id}_${index}`, includesReasoning });
    const made = { writer, sequencer: new Sequencer(writer), finish: undefined, cited: [] };
    candidates.set(index, made);
    return made;
  };
  const slice = (made: readonly object[], usage?: unknown): DialectEvent => ({
    candidates: made,
    ...(usage !== undefined && { usageMetadata: usage }),
    modelVersion,
    responseId: id,
  });
  return {
    push(chunk) {
      modelVersion = readHead(chunk).model ?? modelVersion;
      const made = readChoices(chunk).flatMap(({ index, choice }) => {
        const candidate = candidateOf(index);
        const { pieces, finish } = readChoice(choice);
        candidate.finish = finish ?? candidate.finish;
        const said = mergeParts(pieces.flatMap((piece) => candidate.sequencer.push(piece)));
        const parts = [...said, ...readImages(choice), ...readAudio(choice, request)];
        candidate.cited.push(...pieces.filter(({ kind }) => kind === "annotation"));
        if (parts.length === 0) return [];
        return [{ content: { role: "model", parts }, index, ...toLogprobsResult(choice.logprobs) }];
      });
      return made.length === 0 ? [] : [slice(made)];
    },
    end(usage) {
      if (candidates.size === 0) candidateOf(0);
      const made = [...candidates].map(([index, { writer, sequencer, finish, cited }]) => {
        const parts = mergeParts(sequencer.end());
        return {
          // clients treat an event without parts as an error
          content: { role: "model", parts: parts.length === 0 ? [{ text: "" }] : parts },
          finishReason: finishReasons[toFinish(finish, writer.hasCalls)],
          index,
          ...toGrounding(cited),
        };
      });
      return [slice(made, toUsageMetadata(usage))];
    },
    fail: (error) => [toErrorEvent(error)],
  };
}

import { toChatAnswer } from "../../dialects/chat-over-responses/answer.ts";
import { ChunkMaker } from "../../dialects/chat-over-responses/chunks.ts";
import { toResponsesRequest } from "../../dialects/chat-over-responses/request.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { withoutBlocks } from "../../providers/anthropic/repair.ts";
import { refusesSeal } from "../../providers/core/sealed-reasoning.ts";
import type { OperationAdapter, StreamMapper } from "../../providers/core/types.ts";
import { createReasoningRemover, readWithoutReasoning } from "../../providers/openai-compatible/without-reasoning.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isReasoningPart } from "../../schemas/content-blocks.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { toFailureOfChunk } from "../stream/dialect-observer.ts";
import { typedFailureOf } from "../stream/opening.ts";

/** A chat request in the shape of the Responses API, and the parameters that API lacks. */
interface Converted {
  asked: ResponsesRequest;
  dropped: readonly string[];
}

/** @param isStrict Chunks have OpenAI's fields alone, as those of its chat completions do: no reasoning. */
function createChunkMapper(provider: string, isStrict: boolean): StreamMapper {
  const maker = new ChunkMaker();
  const remover = isStrict ? createReasoningRemover() : undefined;
  return {
    map({ data }) {
      const event = parseJson(data);
      if (!isObject(event)) throw new TypeError("the event is not an object");
      const error = event.error ?? typedFailureOf(event);
      if (error !== undefined && error !== null) throw toFailureOfChunk({ error }, JSON.stringify({ error }), provider);
      const chunks = maker.push(event);
      return remover ? chunks.flatMap((chunk) => [remover.correct(chunk) ?? []].flat()) : chunks;
    },
    isComplete: () => maker.isComplete,
    usage: () => maker.usage,
  };
}

/** The chat without reasoning of earlier turns; undefined where it has none. */
const withoutReasoning = (request: ChatRequest, drop: (member: string) => void): ChatRequest | undefined =>
  withoutBlocks(request, isReasoningPart, drop);

/** A provider's chat, served through its Responses API. */
export function chatOverResponses(native: OperationAdapter<"responses">, provider: string): OperationAdapter<"chat"> {
  const converted = new WeakMap<ChatRequest, Converted>();
  const convert = (request: ChatRequest): Converted => {
    const known = converted.get(request);
    if (known) return known;
    const dropped: string[] = [];
    const made = { asked: toResponsesRequest(request, (member) => dropped.push(member)), dropped };
    converted.set(request, made);
    return made;
  };
  return {
    path: (request) => native.path(convert(request).asked),
    headers: (request, given) => native.headers?.(convert(request).asked, given) ?? {},
    toUpstream(request, options) {
      const { asked, dropped } = convert(request);
      for (const member of dropped) options.drop(member);
      return native.toUpstream ? native.toUpstream(asked, options) : asked;
    },
    fromUpstream(body, _request, { strict }) {
      const answer = toChatAnswer(body);
      return (strict ? readWithoutReasoning(answer) : undefined) ?? answer;
    },
    // the reasoning may be another account's
    repair: (request, failure, { drop }) => (refusesSeal(failure) ? withoutReasoning(request, drop) : undefined),
    streamMapper: (_request, { strict }) => createChunkMapper(provider, strict),
  };
}

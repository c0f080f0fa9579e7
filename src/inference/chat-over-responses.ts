import { toChatAnswer } from "../dialects/chat-over-responses/answer.ts";
import { ChunkMaker } from "../dialects/chat-over-responses/chunks.ts";
import { toResponsesRequest } from "../dialects/chat-over-responses/request.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { OperationAdapter, StreamMapper } from "../providers/types.ts";
import type { ChatRequest } from "../schemas/chat.ts";
import { toFailureOfChunk } from "./dialect-observer.ts";
import { typedFailureOf } from "./typed-streams.ts";

function createChunkMapper(provider: string): StreamMapper {
  const maker = new ChunkMaker();
  return {
    map({ data }) {
      const event = parseJson(data);
      if (!isObject(event)) throw new TypeError("the event is no object");
      const error = event.error ?? typedFailureOf(event);
      if (error !== undefined && error !== null) throw toFailureOfChunk({ error }, JSON.stringify({ error }), provider);
      return maker.push(event);
    },
    isComplete: () => maker.isComplete,
    usage: () => maker.usage,
  };
}

/** A provider's chat by way of its Responses API. */
export function chatOverResponses(native: OperationAdapter<"responses">, provider: string): OperationAdapter<"chat"> {
  const quietly = (request: ChatRequest) => toResponsesRequest(request, () => {});
  return {
    path: (request) => native.path(quietly(request)),
    headers: (request, given) => native.headers?.(quietly(request), given) ?? {},
    toUpstream(request, options) {
      const asked = toResponsesRequest(request, options.drop);
      return native.toUpstream ? native.toUpstream(asked, options) : asked;
    },
    fromUpstream: toChatAnswer,
    streamMapper: () => createChunkMapper(provider),
  };
}

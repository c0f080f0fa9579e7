import { stringOf } from "../../lib/json.ts";
import { doneEvent, encodeEvent } from "../../lib/sse.ts";
import type { StreamMapper } from "../../providers/core/types.ts";
import { BlockWriter } from "./block-writer.ts";
import { chunkSays } from "./says.ts";
import type { StreamObserver } from "./stages.ts";

const encoder = new TextEncoder();

/** What an observer of a provider's own stream is made from. */
interface MappedObserverOptions {
  mapper: StreamMapper;
  /** Slug of the provider, written in each chunk. */
  provider: string;
  /** The caller requested a trailing chunk with the usage. */
  includeUsage: boolean;
}

/** Fields all chunks of a stream share. */
function sharedMembers(chunk: object): object {
  const { id, object, created, model } = chunk as Record<string, unknown>; // chunks have these fields
  return { id, object, created, model };
}

/**
 * Observer of streams in a provider's own shape: the client gets the chunks made of its events. Ends with the usage,
 * where it was requested, and `[DONE]`, once the upstream closed after a complete response.
 */
export function createMappedObserver({ mapper, provider, includeUsage }: MappedObserverOptions): StreamObserver {
  const ending = `,"provider":${JSON.stringify(provider)}}\n\n`;
  let last: object = {};
  let hasSpoken = false;

  // copying every chunk to add one field would cost more than its text
  const encodeChunk = (chunk: object): string =>
    "provider" in chunk || !("choices" in chunk)
      ? encodeEvent({ ...chunk, provider })
      : `data: ${JSON.stringify(chunk).slice(0, -1)}${ending}`;
  const writer = new BlockWriter({
    mapper,
    provider,
    write(chunks) {
      last = chunks.at(-1) ?? last;
      hasSpoken ||= chunks.some((chunk) => chunkSays({ ...chunk }));
      let text = "";
      for (const chunk of chunks) text += encodeChunk(chunk);
      return text;
    },
  });
  return {
    push: (block) => writer.write(block),
    hasSpoken: () => hasSpoken,
    state: () => (writer.isComplete ? "complete" : "open"),
    isOver() {
      writer.requireRight();
      // usage may come after the end of the response: only the upstream's close says that nothing more comes
      return false;
    },
    end() {
      const usage = includeUsage ? mapper.usage() : undefined;
      const trailer = usage === undefined ? "" : encodeChunk({ ...sharedMembers(last), choices: [], usage });
      return encoder.encode(trailer + doneEvent);
    },
    failure: (body) => encoder.encode(encodeEvent(body)),
    usage: () => mapper.usage(),
    model() {
      const model: unknown = Reflect.get(last, "model");
      return stringOf(model);
    },
    tier: (): unknown => Reflect.get(last, "service_tier"),
  };
}

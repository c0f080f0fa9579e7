import { doneEvent, encodeEvent } from "../../lib/sse.ts";
import type { StreamMapper } from "../../providers/core/types.ts";
import { BlockWriter } from "./block-writer.ts";
import type { StreamObserver } from "./stream-observer.ts";

const encoder = new TextEncoder();

/** What an observer of a foreign stream is made from. */
interface MappedObserverOptions {
  mapper: StreamMapper;
  /** Slug of the provider, told in each chunk. */
  provider: string;
  /** The caller asked for a trailing chunk with the usage. */
  includeUsage: boolean;
}

/** Members all chunks of a stream share. */
function sharedMembers(chunk: object): object {
  const { id, object, created, model } = chunk as Record<string, unknown>; // chunks have these members
  return { id, object, created, model };
}

/**
 * Observer of streams in a provider's own shape: what goes on to the client are the chunks its events make. Ends with the
 * usage, where it was asked for, and `[DONE]`, once the upstream closed after a whole answer.
 */
export function createMappedObserver({ mapper, provider, includeUsage }: MappedObserverOptions): StreamObserver {
  const ending = `,"provider":${JSON.stringify(provider)}}\n\n`;
  let last: object = {};

  // a copy of every chunk for one more member would cost more than its text
  const encodeChunk = (chunk: object): string =>
    "provider" in chunk || !("choices" in chunk)
      ? encodeEvent({ ...chunk, provider })
      : `data: ${JSON.stringify(chunk).slice(0, -1)}${ending}`;
  const writer = new BlockWriter({
    mapper,
    provider,
    write(chunks) {
      last = chunks.at(-1) ?? last;
      let text = "";
      for (const chunk of chunks) text += encodeChunk(chunk);
      return text;
    },
  });
  return {
    observe: (block) => writer.write(block),
    state: () => (writer.isComplete ? "complete" : "open"),
    isOver() {
      writer.requireRight();
      // usage may come behind the end of the answer: the upstream says by closing that nothing more comes
      return false;
    },
    ending() {
      const usage = includeUsage ? mapper.usage() : undefined;
      const trailer = usage === undefined ? "" : encodeChunk({ ...sharedMembers(last), choices: [], usage });
      return encoder.encode(trailer + doneEvent);
    },
    failure: (body) => encoder.encode(encodeEvent(body)),
    usage: () => mapper.usage(),
    model() {
      const model: unknown = Reflect.get(last, "model");
      return typeof model === "string" ? model : undefined;
    },
    tier: (): unknown => Reflect.get(last, "service_tier"),
  };
}

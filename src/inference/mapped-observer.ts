import { GatewayError, UpstreamError } from "../errors.ts";
import { doneEvent, encodeEvent, readEvents } from "../lib/sse.ts";
import type { StreamMapper } from "../providers/types.ts";
import type { StreamObserver } from "./stream-observer.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What an observer of a foreign stream is made from. */
export interface MappedObserverOptions {
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
  let shared: object = {};
  let done = false;

  const encodeChunk = (chunk: object): string => encodeEvent({ ...chunk, provider });
  const mapEvents = (block: Uint8Array): string => {
    let text = "";
    for (const event of readEvents(decoder.decode(block))) {
      if (event.data === "" || done) continue;
      done = event.data === "[DONE]";
      const chunks = done ? mapper.done?.() : mapper.map(event);
      for (const chunk of chunks ?? []) {
        shared = sharedMembers(chunk);
        text += encodeChunk(chunk);
      }
    }
    return text;
  };
  return {
    observe(block) {
      try {
        const text = mapEvents(block);
        return text === "" ? undefined : encoder.encode(text);
      } catch (cause) {
        if (cause instanceof GatewayError) throw cause;
        const message = `Cannot use the answer of ${provider}: an event of its stream is not what it should be`;
        throw new UpstreamError(502, message, { cause, provider, code: "upstream_bad_answer" });
      }
    },
    state: () => (done || mapper.isComplete() ? "complete" : "open"),
    // usage may come behind the end of the answer: the upstream says by closing that nothing more comes
    isOver: () => false,
    ending() {
      const usage = includeUsage ? mapper.usage() : undefined;
      const trailer = usage === undefined ? "" : encodeChunk({ ...shared, choices: [], usage });
      return encoder.encode(trailer + doneEvent);
    },
    failure: (body) => encoder.encode(encodeEvent(body)),
    usage: () => mapper.usage(),
  };
}

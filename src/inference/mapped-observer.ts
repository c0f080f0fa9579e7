import { GatewayError, UpstreamError } from "../errors.ts";
import { doneEvent, encodeEvent, readEvents } from "../lib/sse.ts";
import type { StreamMapper, UpstreamEvent } from "../providers/types.ts";
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

/** The failure of an event: what the mapper says, or that it could not read it. */
export function toStreamFailure(cause: unknown, provider: string): GatewayError {
  if (cause instanceof GatewayError) return cause;
  const message = `Cannot use the answer of ${provider}: an event of its stream is not what it should be`;
  return new UpstreamError(502, message, { cause, provider, code: "upstream_bad_answer" });
}

/**
 * Observer of streams in a provider's own shape: what goes on to the client are the chunks its events make. Ends with the
 * usage, where it was asked for, and `[DONE]`, once the upstream closed after a whole answer.
 */
export function createMappedObserver({ mapper, provider, includeUsage }: MappedObserverOptions): StreamObserver {
  const ending = `,"provider":${JSON.stringify(provider)}}\n\n`;
  let last: object = {};
  let done = false;
  let failure: GatewayError | undefined;

  // a copy of every chunk for one more member would cost more than its text
  const encodeChunk = (chunk: object): string =>
    "provider" in chunk || !("choices" in chunk)
      ? encodeEvent({ ...chunk, provider })
      : `data: ${JSON.stringify(chunk).slice(0, -1)}${ending}`;
  const mapEvent = (event: UpstreamEvent): string => {
    if (event.data === "" || done) return "";
    done = event.data === "[DONE]";
    try {
      const chunks = (done ? mapper.done?.() : mapper.map(event)) ?? [];
      last = chunks.at(-1) ?? last;
      let text = "";
      for (const chunk of chunks) text += encodeChunk(chunk);
      return text;
    } catch (cause) {
      failure = toStreamFailure(cause, provider);
      return "";
    }
  };
  return {
    observe(block) {
      let text = "";
      for (const event of readEvents(decoder.decode(block))) {
        if (failure === undefined) text += mapEvent(event);
      }
      if (failure !== undefined && text === "") throw failure;
      return text === "" ? undefined : encoder.encode(text);
    },
    state: () => (done || mapper.isComplete() ? "complete" : "open"),
    isOver() {
      // what came before the failure is on its way by now
      if (failure !== undefined) throw failure;
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
  };
}

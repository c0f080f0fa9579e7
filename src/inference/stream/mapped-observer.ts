import { stringOf } from "../../lib/json.ts";
import { doneEvent, encodeEvent, readEvents } from "../../lib/sse.ts";
import type { StreamMapper, UpstreamEvent } from "../../providers/core/types.ts";
import { chunkSays } from "./says.ts";
import type { StreamObserver } from "./stages.ts";
import { toStreamFailure } from "./stream-errors.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Observer of streams in a provider's own shape: the client gets what is made of their events. */
export abstract class MappingObserver implements StreamObserver {
  protected readonly mapper: StreamMapper;
  /** Slug of the provider. */
  protected readonly provider: string;
  /** The last chunk. */
  protected last: object = {};
  /** The upstream wrote `[DONE]`. */
  protected isDone = false;
  hasSpoken = false;
  #failure: Error | undefined;

  constructor(mapper: StreamMapper, provider: string) {
    this.mapper = mapper;
    this.provider = provider;
  }

  /** Text of the chunks of one event. */
  protected abstract write(chunks: readonly object[]): string;
  abstract end(): Uint8Array;
  abstract failure(body: object, status: number): Uint8Array;

  get state(): StreamObserver["state"] {
    return this.isDone || this.mapper.isComplete() ? "complete" : "open";
  }

  get usage(): unknown {
    return this.mapper.usage();
  }

  get model(): string | undefined {
    const model: unknown = Reflect.get(this.last, "model");
    return stringOf(model);
  }

  get tier(): unknown {
    return Reflect.get(this.last, "service_tier");
  }

  push(block: Uint8Array): Uint8Array | undefined {
    let text = "";
    for (const event of readEvents(decoder.decode(block))) text += this.#map(event);
    // nothing came before a failure that has to be sent first
    if (text === "" && this.#failure !== undefined) throw this.#failure;
    return text === "" ? undefined : encoder.encode(text);
  }

  isOver(): boolean {
    // what came before the failure was sent by now
    if (this.#failure !== undefined) throw this.#failure;
    return false;
  }

  #map(event: UpstreamEvent): string {
    if (event.data === "" || this.isDone || this.#failure !== undefined) return "";
    this.isDone = event.data === "[DONE]";
    try {
      const chunks = (this.isDone ? this.mapper.done?.() : this.mapper.map(event)) ?? [];
      this.last = chunks.at(-1) ?? this.last;
      this.hasSpoken ||= chunks.some((chunk) => chunkSays({ ...chunk }));
      return this.write(chunks);
    } catch (cause) {
      this.#failure = toStreamFailure(cause, this.provider);
      return "";
    }
  }
}

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
 * Observer of streams whose client gets the chunks made of their events. Ends with the usage, where it was requested,
 * and `[DONE]`, once the upstream closed after a complete response: usage may come after the end of the response.
 */
export class MappedObserver extends MappingObserver {
  readonly #includeUsage: boolean;
  readonly #ending: string;

  constructor({ mapper, provider, includeUsage }: MappedObserverOptions) {
    super(mapper, provider);
    this.#includeUsage = includeUsage;
    this.#ending = `,"provider":${JSON.stringify(provider)}}\n\n`;
  }

  protected override write(chunks: readonly object[]): string {
    let text = "";
    for (const chunk of chunks) text += this.#encode(chunk);
    return text;
  }

  /** Copying every chunk to add one field would cost more than its text. */
  #encode(chunk: object): string {
    return "provider" in chunk || !("choices" in chunk)
      ? encodeEvent({ ...chunk, provider: this.provider })
      : `data: ${JSON.stringify(chunk).slice(0, -1)}${this.#ending}`;
  }

  override end(): Uint8Array {
    const usage = this.#includeUsage ? this.usage : undefined;
    const trailer = usage === undefined ? "" : this.#encode({ ...sharedMembers(this.last), choices: [], usage });
    return encoder.encode(trailer + doneEvent);
  }

  override failure(body: object): Uint8Array {
    return encoder.encode(encodeEvent(body));
  }
}

import type { DialectEvent, EventMapper } from "../../dialects/types.ts";
import { UpstreamError } from "../../errors.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { readFailure, statusOfErrorBody } from "../../providers/core/failures.ts";
import type { ChunkCorrector, StreamMapper, UpstreamEvent } from "../../providers/core/types.ts";
import { CallIndexes } from "../../providers/shared/call-indexes.ts";
import { MappingObserver } from "./mapped-observer.ts";
import { toStreamError } from "./stream-errors.ts";

const encoder = new TextEncoder();

/** The failure a chunk reports. */
export function toFailureOfChunk(chunk: Record<string, unknown>, data: string, provider: string): UpstreamError {
  const status = statusOfErrorBody(chunk.error);
  const { message, ...details } = readFailure(data, status, new Headers());
  return new UpstreamError(status, `${provider} error: ${message}`, { ...details, provider });
}

/** A chunk with an index for each call of its first choice, the one that other dialects read. */
function withIndexes(chunk: Record<string, unknown>, choices: readonly unknown[], indexes: CallIndexes): object {
  const [choice, ...others] = choices;
  if (!isObject(choice) || !isObject(choice.delta) || !Array.isArray(choice.delta.tool_calls)) return chunk;
  const { tool_calls: given } = choice.delta;
  const calls = indexes.settle(given);
  if (calls === given) return chunk;
  return { ...chunk, choices: [{ ...choice, delta: { ...choice.delta, tool_calls: calls } }, ...others] };
}

/** A mapper of streams that are in the shape of a chat already, but for what a corrector changes. */
export function createPlainMapper(provider: string, corrector?: ChunkCorrector): StreamMapper {
  let isDone = false;
  let usage: unknown;
  const indexes = new CallIndexes();
  return {
    map({ data }: UpstreamEvent) {
      const chunk = parseJson(data);
      if (!isObject(chunk)) throw new TypeError("the event is not an object");
      if (isObject(chunk.error) || typeof chunk.error === "string") throw toFailureOfChunk(chunk, data, provider);
      if (isObject(chunk.usage)) usage = chunk.usage;
      const choices: unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
      isDone ||= choices.some((choice) => isObject(choice) && typeof choice.finish_reason === "string");
      const corrected = corrector ? corrector.correct(chunk) : chunk;
      if (!corrected) return [];
      return [withIndexes(corrected, Array.isArray(corrected.choices) ? corrected.choices : [], indexes)];
    },
    done() {
      isDone = true;
      return [];
    },
    isComplete: () => isDone,
    usage: () => usage,
  };
}

/** What an observer of a stream in another dialect is made from. */
interface DialectObserverOptions {
  /** Converts the upstream's events to chunks. */
  mapper: StreamMapper;
  /** Converts the chunks to the client's events. */
  events: EventMapper;
  encode(event: DialectEvent): string;
  /** Slug of the provider. */
  provider: string;
}

/** Observer of streams that reach the client in another dialect than the upstream's. */
export class DialectObserver extends MappingObserver {
  readonly #events: EventMapper;
  readonly #encode: DialectObserverOptions["encode"];

  constructor({ mapper, events, encode, provider }: DialectObserverOptions) {
    super(mapper, provider);
    this.#events = events;
    this.#encode = encode;
  }

  protected override write(chunks: readonly object[]): string {
    let text = "";
    for (const chunk of chunks) text += this.#text(this.#events.push(chunk));
    return text;
  }

  #text(made: readonly DialectEvent[]): string {
    let text = "";
    for (const event of made) text += this.#encode(event);
    return text;
  }

  override isOver(): boolean {
    return super.isOver() || this.isDone;
  }

  override end(): Uint8Array {
    return encoder.encode(this.#text(this.#events.end(this.usage)));
  }

  override failure(body: object, status: number): Uint8Array {
    return encoder.encode(this.#text(this.#events.fail(toStreamError(body, status))));
  }
}

import { GatewayError, UpstreamError } from "../../errors.ts";
import { readEvents } from "../../lib/sse.ts";
import type { StreamMapper, UpstreamEvent } from "../../providers/core/types.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The error for an event: the mapper's own, or that the event is invalid. */
export function toStreamFailure(cause: unknown, provider: string): GatewayError {
  if (cause instanceof GatewayError) return cause;
  const message = `Cannot use the response of ${provider}: an event of its stream is invalid`;
  return new UpstreamError(502, message, { cause, provider, code: "upstream_bad_answer" });
}

/** What a writer is made from. */
interface BlockWriterOptions {
  mapper: StreamMapper;
  /** Slug of the provider. */
  provider: string;
  /** Text of the chunks of one event. */
  write(chunks: readonly object[]): string;
}

/** Writes the client's stream from blocks of the upstream's. */
export class BlockWriter {
  readonly #options: BlockWriterOptions;
  #isDone = false;
  #failure: GatewayError | undefined;

  constructor(options: BlockWriterOptions) {
    this.#options = options;
  }

  /** Whether the upstream wrote `[DONE]`. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Whether the response is complete. */
  get isComplete(): boolean {
    return this.#isDone || this.#options.mapper.isComplete();
  }

  /**
   * The bytes to send for a block; undefined for no bytes.
   *
   * @throws {GatewayError} The failure it reports, where nothing came before it.
   */
  write(block: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    let text = "";
    for (const event of readEvents(decoder.decode(block))) text += this.#map(event);
    if (text === "") this.requireRight();
    return text === "" ? undefined : encoder.encode(text);
  }

  /** @throws {GatewayError} The failure, once what came before it was sent. */
  requireRight(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  #map(event: UpstreamEvent): string {
    const { mapper, provider, write } = this.#options;
    if (event.data === "" || this.#isDone || this.#failure !== undefined) return "";
    this.#isDone = event.data === "[DONE]";
    try {
      return write((this.#isDone ? mapper.done?.() : mapper.map(event)) ?? []);
    } catch (cause) {
      this.#failure = toStreamFailure(cause, provider);
      return "";
    }
  }
}

import { GatewayError, UpstreamError } from "../../errors.ts";
import { readEvents } from "../../lib/sse.ts";
import type { StreamMapper, UpstreamEvent } from "../../providers/core/types.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The failure of an event: what the mapper says, or that it could not read it. */
export function toStreamFailure(cause: unknown, provider: string): GatewayError {
  if (cause instanceof GatewayError) return cause;
  const message = `Cannot use the response of ${provider}: an event of its stream is invalid`;
  return new UpstreamError(502, message, { cause, provider, code: "upstream_bad_answer" });
}

/** What blocks are written with. */
interface BlockWriterOptions {
  mapper: StreamMapper;
  /** Slug of the provider. */
  provider: string;
  /** Text of the chunks one event made. */
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

  /** Whether the answer is whole. */
  get isComplete(): boolean {
    return this.#isDone || this.#options.mapper.isComplete();
  }

  /**
   * Bytes that go on for a block; undefined where there are none.
   *
   * @throws {GatewayError} The failure it tells of, where nothing came before it.
   */
  write(block: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    let text = "";
    for (const event of readEvents(decoder.decode(block))) text += this.#map(event);
    if (text === "") this.requireRight();
    return text === "" ? undefined : encoder.encode(text);
  }

  /** @throws {GatewayError} The failure, once what came before it is on its way. */
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

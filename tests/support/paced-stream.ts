const encoder = new TextEncoder();

/** The body of a response whose pieces a test sends one by one. */
export interface PacedStream {
  readonly body: ReadableStream<Uint8Array>;
  send(piece: string | Uint8Array): void;
  end(): void;
}

export function createPacedStream(): PacedStream {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  return {
    body,
    send: (piece) => controller?.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece),
    end: () => controller?.close(),
  };
}

/** Reads the text of a response piece by piece. */
export class PieceReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  /** All that came. */
  text = "";

  constructor(response: Response) {
    if (!response.body) throw new Error("The response has no body");
    this.#reader = response.body.getReader();
  }

  /** The next piece; an empty one at the end. */
  async next(): Promise<string> {
    const { value } = await this.#reader.read();
    const piece = this.#decoder.decode(value, { stream: true });
    this.text += piece;
    return piece;
  }

  async rest(): Promise<string> {
    while ((await this.next()) !== "");
    return this.text;
  }
}

const lineFeed = 0x0a;

/** Cuts bytes that come in chunks into lines. Longer ones than a bound are left out. */
export class LineCutter {
  readonly #maxBytes: number;
  readonly #onLine: (line: Uint8Array) => void;
  #pieces: Uint8Array[] = [];
  #length = 0;

  /** @param onLine Called with each line that is not empty, without its end. */
  constructor(maxBytes: number, onLine: (line: Uint8Array) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array): void {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      this.#add(chunk.subarray(from, end));
      this.end();
      from = end + 1;
    }
    this.#add(chunk.subarray(from));
  }

  #add(piece: Uint8Array): void {
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  /** Ends the last line. */
  end(): void {
    const [pieces, length] = [this.#pieces, this.#length];
    this.#pieces = [];
    this.#length = 0;
    if (length === 0 || length > this.#maxBytes) return;
    const line = new Uint8Array(length);
    let offset = 0;
    for (const piece of pieces) {
      line.set(piece, offset);
      offset += piece.length;
    }
    this.#onLine(line);
  }
}

/** A body as it is held: as text, as UTF-8 bytes, or as the pieces of a stream. */
export type HeldBody = string | Uint8Array | BodyPieces;

/** Most characters or bytes of a body that are stored. */
export const maxLoggedBody = 1024 * 1024;

/** Smaller pieces are merged: every piece has overhead. */
const smallPiece = 2048;
const pageBytes = 16 * 1024;

/** The first bytes of a streamed body, up to the storage limit. */
export class BodyPieces {
  readonly #pieces: Uint8Array[] = [];
  /** Buffer for small pieces, and how much of it is used. */
  #page: Uint8Array | undefined;
  #used = 0;
  /** Stored bytes. */
  length = 0;

  /** Stores a piece, which must not be modified afterwards. */
  add(piece: Uint8Array): void {
    const bytes = piece.length <= maxLoggedBody - this.length ? piece : piece.subarray(0, maxLoggedBody - this.length);
    if (bytes.length === 0) return;
    this.length += bytes.length;
    if (bytes.length < smallPiece) this.#gather(bytes);
    else {
      this.#endPage();
      this.#pieces.push(bytes);
    }
  }

  /** Stores a piece as it is now. */
  addCopy(piece: Uint8Array): void {
    // small pieces are copied anyway
    this.add(piece.length < smallPiece ? piece : piece.slice());
  }

  #gather(bytes: Uint8Array): void {
    if (this.#page && this.#used + bytes.length > this.#page.length) this.#endPage();
    this.#page ??= new Uint8Array(pageBytes);
    this.#page.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  #endPage(): void {
    if (!this.#page) return;
    this.#pieces.push(this.#page.subarray(0, this.#used));
    this.#page = undefined;
    this.#used = 0;
  }

  /** The stored pieces, in order. */
  pieces(): readonly Uint8Array[] {
    return this.#page ? [...this.#pieces, this.#page.subarray(0, this.#used)] : this.#pieces;
  }

  /** Copies the stored bytes to `target` at `offset`; there must be enough room. */
  copyTo(target: Uint8Array, offset: number): void {
    let position = offset;
    for (const piece of this.pieces()) {
      target.set(piece, position);
      position += piece.length;
    }
  }
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A body as text, cut to the storage limit. */
export function textOfBody(body: HeldBody): string {
  return typeof body === "string" ? body.slice(0, maxLoggedBody) : decoder.decode(bytesOf(body));
}

/** Bytes of a body, cut to the storage limit. */
function bytesOf(body: Uint8Array | BodyPieces): Uint8Array {
  if (body instanceof Uint8Array) return body.subarray(0, maxLoggedBody);
  const bytes = new Uint8Array(body.length);
  body.copyTo(bytes, 0);
  return bytes;
}

/** A body that can be copied into a buffer, cut to the storage limit. */
export function toBytes(body: HeldBody): Uint8Array | BodyPieces {
  if (body instanceof BodyPieces) return body;
  const bytes = typeof body === "string" ? encoder.encode(body.slice(0, maxLoggedBody)) : body;
  return bytes.length <= maxLoggedBody ? bytes : bytes.subarray(0, maxLoggedBody);
}

/** The stored beginning of a body, as a copy that lets the rest be freed; a short body is returned as it is. */
export function beginningOf<Body extends HeldBody | null>(body: Body): Body | Uint8Array {
  if (body === null || body.length <= maxLoggedBody || body instanceof BodyPieces) return body;
  if (body instanceof Uint8Array) return body.slice(0, maxLoggedBody);
  return encoder.encode(body.slice(0, maxLoggedBody)).slice(0, maxLoggedBody);
}

/** Whether a body was cut; `BodyPieces` itself stops at the limit. */
export function isCut(body: HeldBody | null): boolean {
  return body !== null && body.length >= maxLoggedBody;
}

/** Longest string value that is logged of a response with media. */
const maxShown = 4_096;

/** A response as text for the log, without its images or audio. */
export function withoutMedia(answer: object): string {
  return JSON.stringify(answer, (_name, value: unknown) =>
    typeof value === "string" && value.length > maxShown ? `(${value.length} characters)` : value,
  );
}

import { ArgumentsWatch } from "../lib/arguments-watch.ts";
import type { CallPiece, ChatPiece } from "./chat-reader.ts";

/** The consecutive segments of a response. */
export type Segment = { kind: "thinking" | "redacted" | "text" | "refusal" } | { kind: "call"; call: CallPiece };

/** Receives a response in segments that do not overlap. */
export interface SegmentSink<Event> {
  open(segment: Segment): Event[];
  /** Continues the open segment. */
  add(piece: ChatPiece): Event[];
  close(): Event[];
}

/** Key of the segment a piece belongs to; undefined for pieces that belong to any open segment. */
function keyOf(piece: ChatPiece): string | undefined {
  switch (piece.kind) {
    case "annotation":
      return undefined;
    case "signature":
      return "thinking";
    case "call":
      return `call ${piece.index}`;
    default:
      return piece.kind;
  }
}

function toSegment(piece: ChatPiece): Segment {
  if (piece.kind === "call") return { kind: "call", call: piece };
  if (piece.kind === "signature") return { kind: "thinking" };
  return { kind: piece.kind === "annotation" ? "text" : piece.kind };
}

/**
 * Orders the pieces of a response into segments that never overlap. A provider may interleave the arguments of several
 * calls: pieces of a later segment wait until the open call has all of its arguments.
 */
export class Sequencer<Event> {
  readonly #sink: SegmentSink<Event>;
  #open: string | undefined;
  /** Arguments of the open call. */
  #arguments = new ArgumentsWatch();
  /** The open reasoning is complete: its signature arrived, or it was redacted. */
  #sealed = false;
  /** Pieces of later segments, segment by segment in order of arrival. */
  readonly #waiting = new Map<string, ChatPiece[]>();

  constructor(sink: SegmentSink<Event>) {
    this.#sink = sink;
  }

  push(piece: ChatPiece): Event[] {
    const key = keyOf(piece);
    // a signature after text does not belong to reasoning
    if (piece.kind === "signature" && this.#open !== undefined && this.#open !== key) return [];
    if (this.#continues(piece)) return this.#add(piece);
    if (!this.#mayClose()) {
      const segment = key ?? "text";
      const pieces = this.#waiting.get(segment);
      if (pieces) pieces.push(piece);
      else this.#waiting.set(segment, [piece]);
      return [];
    }
    return this.#waiting.size > 0 ? [...this.#flush(), ...this.push(piece)] : this.#switch(piece);
  }

  /** Ends the response: sends waiting pieces and closes the open segment. */
  end(): Event[] {
    return [...this.#close(), ...this.#flush(true), ...this.#close()];
  }

  /** Ends a failed response: drops waiting pieces and closes the open segment. */
  abandon(): Event[] {
    this.#waiting.clear();
    return this.#close();
  }

  /** Whether a piece belongs to the open segment. */
  #continues(piece: ChatPiece): boolean {
    const key = keyOf(piece);
    if (this.#open === undefined) return false;
    if (key === undefined) return true;
    return key === this.#open && !(this.#sealed && piece.kind !== "signature");
  }

  /** Whether the open segment is complete. */
  #mayClose(): boolean {
    if (this.#open === undefined || !this.#open.startsWith("call ")) return true;
    return this.#arguments.isWhole();
  }

  #add(piece: ChatPiece): Event[] {
    if (piece.kind === "call") this.#arguments.add(piece.arguments);
    if (piece.kind === "signature" || piece.kind === "redacted") this.#sealed = true;
    return this.#sink.add(piece);
  }

  #close(): Event[] {
    if (this.#open === undefined) return [];
    this.#open = undefined;
    return this.#sink.close();
  }

  #switch(piece: ChatPiece): Event[] {
    const closed = this.#close();
    this.#open = keyOf(piece) ?? "text";
    this.#arguments = new ArgumentsWatch();
    this.#sealed = false;
    return [...closed, ...this.#sink.open(toSegment(piece)), ...this.#add(piece)];
  }

  /** Sends waiting pieces, segment by segment in order of arrival, up to a call with incomplete arguments. */
  #flush(isEnd = false): Event[] {
    const events: Event[] = [];
    for (const [key, pieces] of this.#waiting) {
      if (!isEnd && !this.#mayClose()) break;
      this.#waiting.delete(key);
      for (const event of this.#sendGroup(pieces)) events.push(event);
    }
    return events;
  }

  #sendGroup([first, ...rest]: readonly ChatPiece[]): Event[] {
    if (!first) return [];
    const begun = this.#switch(first);
    return [...begun, ...rest.flatMap((piece) => (this.#continues(piece) ? this.#add(piece) : this.#switch(piece)))];
  }
}

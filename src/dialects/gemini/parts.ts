import { markSignature } from "../../lib/signature-mark.ts";
import { type CallPiece, type ChatPiece, readArguments } from "../chat-reader.ts";
import type { Segment, SegmentSink } from "../sequence.ts";

/** One part of a response (https://ai.google.dev/api/caching#Part). */
export interface AnswerPart {
  text?: string;
  thought?: true;
  thoughtSignature?: string;
  functionCall?: { id: string; name: string; args: Record<string, unknown> };
}

/** Writes the parts of a response: text as it arrives, calls when complete. */
export class PartWriter implements SegmentSink<AnswerPart> {
  readonly #includesReasoning: boolean;
  readonly #answerId: string;
  #call: CallPiece | undefined;
  #calls = 0;

  /** @param options.includesReasoning Whether reasoning is sent. */
  constructor({ answerId, includesReasoning }: { answerId: string; includesReasoning: boolean }) {
    this.#answerId = answerId;
    this.#includesReasoning = includesReasoning;
  }

  /** Whether there was a call. */
  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  open(segment: Segment): AnswerPart[] {
    this.#call = segment.kind === "call" ? { ...segment.call, arguments: "" } : undefined;
    return [];
  }

  add(piece: ChatPiece): AnswerPart[] {
    switch (piece.kind) {
      case "text":
      case "refusal":
        return [{ text: piece.text }];
      case "thinking":
        return this.#includesReasoning ? [{ text: piece.text, thought: true }] : [];
      case "signature":
      case "redacted":
        return this.#includesReasoning
          ? [{ text: "", thought: true, thoughtSignature: markSignature({ kind: piece.kind, text: piece.text }) }]
          : [];
      case "call":
        this.#extend(piece);
        return [];
      default:
        return [];
    }
  }

  #extend({ arguments: text, name, id, signature }: CallPiece): void {
    if (!this.#call) return;
    this.#call.arguments += text;
    this.#call.name ??= name;
    this.#call.id ??= id;
    this.#call.signature ??= signature;
  }

  close(): AnswerPart[] {
    const call = this.#call;
    this.#call = undefined;
    if (!call) return [];
    this.#calls++;
    const id = call.id ?? `call_${this.#answerId}_${call.index}`;
    const functionCall = { id, name: call.name ?? "", args: readArguments(call.arguments) };
    // an empty signature says to models that require one that none exists; the id is for clients that leave ids out
    return [{ functionCall, thoughtSignature: markSignature({ kind: "call", text: call.signature ?? "", id }) }];
  }
}

/** Parts of a response that did not stream: adjacent text of the same kind is merged. */
export function mergeParts(parts: readonly AnswerPart[]): AnswerPart[] {
  const merged: AnswerPart[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    const isMore =
      last?.text !== undefined &&
      part.text !== undefined &&
      last.thoughtSignature === undefined &&
      last.thought === part.thought;
    if (isMore) merged[merged.length - 1] = { ...last, ...part, text: `${last.text}${part.text}` };
    else merged.push(part);
  }
  return merged;
}

import type { ChatResponse } from "../../schemas/chat.ts";
import type { MessagesRequest, MessagesResponse } from "../../schemas/messages.ts";
import { type ChatPiece, readArguments, readChat, toFinish } from "../chat-reader.ts";
import { type SegmentSink, Sequencer } from "../sequence.ts";
import type { DialectOptions } from "../types.ts";
import { emptyBlock, signatureBlock, toMessagesUsage, toStopReason } from "./blocks.ts";

type Block = MessagesResponse["content"][number];

/** Collects the blocks of a non-streaming response. */
class BlockCollector implements SegmentSink<Block> {
  #block: Record<string, unknown> = {};
  #arguments = "";

  open(segment: Parameters<SegmentSink<Block>["open"]>[0]): Block[] {
    this.#block = emptyBlock(segment);
    this.#arguments = "";
    const carrier = signatureBlock(segment);
    return carrier ? [carrier as Block] : []; // has a type
  }

  add(piece: ChatPiece): Block[] {
    const block = this.#block;
    if (piece.kind === "call") this.#arguments += piece.arguments;
    else if (piece.kind === "text" || piece.kind === "refusal") block.text = String(block.text) + piece.text;
    else if (piece.kind === "thinking") block.thinking = String(block.thinking) + piece.text;
    else if (piece.kind === "signature") block.signature = piece.text;
    else if (piece.kind === "redacted") block.data = piece.text;
    return [];
  }

  close(): Block[] {
    if (this.#block.type === "tool_use") this.#block.input = readArguments(this.#arguments);
    return [this.#block as Block]; // has a type
  }
}

/** The Messages response for a chat completion. */
export function fromChat(answer: ChatResponse, request: MessagesRequest, { id }: DialectOptions): MessagesResponse {
  const { model, pieces, finish, stopSequence, usage } = readChat(answer);
  const sequencer = new Sequencer(new BlockCollector());
  const content = [...pieces.flatMap((piece) => sequencer.push(piece)), ...sequencer.end()];
  const hasCalls = content.some(({ type }) => type === "tool_use");
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model: model ?? request.model,
    content,
    stop_reason: toStopReason(toFinish(finish, hasCalls), finish),
    stop_sequence: stopSequence ?? null,
    usage: toMessagesUsage(usage),
  };
}

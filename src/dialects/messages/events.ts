import { toMessagesType } from "../../lib/messages-error-types.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
import { type ChatPiece, readChat, toFinish } from "../chat-reader.ts";
import { type Segment, type SegmentSink, Sequencer } from "../sequence.ts";
import type { DialectEvent, DialectOptions, EventMapper, StreamError } from "../types.ts";
import { emptyBlock, signatureBlock, toMessagesUsage, toStopReason } from "./blocks.ts";

/** Writes the blocks of a response as events, one after the other. */
class BlockWriter implements SegmentSink<DialectEvent> {
  #index = -1;
  hasCalls = false;

  #start(block: Record<string, unknown>): DialectEvent {
    this.#index++;
    return { type: "content_block_start", index: this.#index, content_block: block };
  }

  #delta(delta: Record<string, unknown>): DialectEvent {
    return { type: "content_block_delta", index: this.#index, delta };
  }

  open(segment: Segment): DialectEvent[] {
    if (segment.kind === "call") this.hasCalls = true;
    const carrier = signatureBlock(segment);
    const carried: DialectEvent[] = carrier
      ? [
          this.#start({ ...carrier, signature: "" }),
          this.#delta({ type: "signature_delta", signature: carrier.signature }),
          ...this.close(),
        ]
      : [];
    // redacted reasoning arrives at once: its block is complete
    return segment.kind === "redacted" ? carried : [...carried, this.#start(emptyBlock(segment))];
  }

  add(piece: ChatPiece): DialectEvent[] {
    switch (piece.kind) {
      case "text":
      case "refusal":
        return [this.#delta({ type: "text_delta", text: piece.text })];
      case "thinking":
        return [this.#delta({ type: "thinking_delta", thinking: piece.text })];
      case "signature":
        return [this.#delta({ type: "signature_delta", signature: piece.text })];
      case "redacted":
        return [this.#start({ type: "redacted_thinking", data: piece.text })];
      case "call":
        return piece.arguments === "" ? [] : [this.#delta({ type: "input_json_delta", partial_json: piece.arguments })];
      default:
        return [];
    }
  }

  close(): DialectEvent[] {
    return [{ type: "content_block_stop", index: this.#index }];
  }
}

/** An error as an event. */
export function toErrorEvent({ message, type, status }: StreamError): DialectEvent {
  return { type: "error", error: { type: toMessagesType(type, status), message } };
}

/** Turns chat chunks into events of the Messages API (https://docs.claude.com/en/docs/build-with-claude/streaming). */
export function createEvents(request: MessagesRequest, { id }: DialectOptions): EventMapper {
  const writer = new BlockWriter();
  const sequencer = new Sequencer(writer);
  let isStarted = false;
  let finish: string | undefined;
  let stopSequence: string | undefined;

  const start = (model: string | undefined): DialectEvent[] => {
    if (isStarted) return [];
    isStarted = true;
    const message = {
      id: `msg_${id}`,
      type: "message",
      role: "assistant",
      model: model ?? request.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    };
    return [{ type: "message_start", message }, { type: "ping" }];
  };
  return {
    push(chunk) {
      const reading = readChat(chunk);
      finish = reading.finish ?? finish;
      stopSequence = reading.stopSequence ?? stopSequence;
      return [...start(reading.model), ...reading.pieces.flatMap((piece) => sequencer.push(piece))];
    },
    end(usage) {
      const ended = [...start(undefined), ...sequencer.end()];
      const delta = {
        stop_reason: toStopReason(toFinish(finish, writer.hasCalls), finish),
        stop_sequence: stopSequence ?? null,
      };
      return [...ended, { type: "message_delta", delta, usage: toMessagesUsage(usage) }, { type: "message_stop" }];
    },
    fail: (error) => [toErrorEvent(error)],
  };
}

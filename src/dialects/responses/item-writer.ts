import type { CallPiece, ChatPiece } from "../chat-reader.ts";
import type { Segment, SegmentSink } from "../sequence.ts";
import type { DialectEvent } from "../types.ts";
import { toItemId } from "./ids.ts";
import {
  type Item,
  type ItemStatus,
  MessageItem,
  type OpenItem,
  openCustomCall,
  openFunctionCall,
  openReasoning,
  type Place,
} from "./open-items.ts";
import { toEncryptedContent } from "./signatures.ts";
import type { ToolTable } from "./tools.ts";

/** Writes the items of a response as events, one after the other, and collects them. */
export class ItemWriter implements SegmentSink<DialectEvent> {
  readonly #id: string;
  readonly #tools: ToolTable["own"];
  #current: OpenItem | undefined;
  /** Completed items. */
  readonly output: Item[] = [];
  hasCalls = false;
  /** Status for the items that are still open. */
  ending: ItemStatus = "completed";

  /**
   * @param id Identifies the response.
   * @param tools Names of the tools in the request.
   */
  constructor(id: string, tools: ToolTable["own"]) {
    this.#id = id;
    this.#tools = tools;
  }

  open(segment: Segment): DialectEvent[] {
    switch (segment.kind) {
      case "text":
      case "refusal":
        return this.#openPart(segment.kind);
      case "call":
        this.hasCalls = true;
        return [...this.finish(), ...this.#carry(segment.call.signature), ...this.#openCall(segment.call)];
      default:
        return [...this.finish(), ...this.#begin(openReasoning(this.#place("rs")))];
    }
  }

  add(piece: ChatPiece): DialectEvent[] {
    return this.#current?.add(piece) ?? [];
  }

  /** A message stays open for its next part. */
  close(): DialectEvent[] {
    return this.#current instanceof MessageItem ? this.#current.closePart() : this.finish();
  }

  /** Ends the open item. */
  finish(): DialectEvent[] {
    const current = this.#current;
    if (!current) return [];
    this.#current = undefined;
    const { events, done } = current.close(this.ending);
    const output_index = this.output.length;
    this.output.push(done);
    return [...events, { type: "response.output_item.done", output_index, item: done }];
  }

  #place(prefix: string): Place {
    return { id: toItemId(prefix, this.#id, this.output.length), index: this.output.length };
  }

  #begin(item: OpenItem): DialectEvent[] {
    this.#current = item;
    return [{ type: "response.output_item.added", output_index: this.output.length, item: item.begun }];
  }

  #openPart(kind: "text" | "refusal"): DialectEvent[] {
    if (this.#current instanceof MessageItem) return this.#current.openPart(kind);
    const closed = this.finish();
    const message = new MessageItem(this.#place("msg"));
    return [...closed, ...this.#begin(message), ...message.openPart(kind)];
  }

  /** A reasoning item that carries the signature of a call, because clients send such items back unread. */
  #carry(signature: string | undefined): DialectEvent[] {
    if (signature === undefined) return [];
    const { id, index } = this.#place("rs");
    const begun = { id, type: "reasoning", summary: [], encrypted_content: null, status: "in_progress" };
    const encrypted = toEncryptedContent({ kind: "call", text: signature });
    const item = { ...begun, encrypted_content: encrypted, status: "completed" };
    this.output.push(item);
    return [
      { type: "response.output_item.added", output_index: index, item: begun },
      { type: "response.output_item.done", output_index: index, item },
    ];
  }

  #openCall(call: CallPiece): DialectEvent[] {
    const name = call.name ?? "";
    const tool = this.#tools.get(name) ?? { kind: "function", name };
    const isCustom = tool.kind === "custom";
    const place = this.#place(isCustom ? "ctc" : "fc");
    return this.#begin(isCustom ? openCustomCall(place, call, tool) : openFunctionCall(place, call, tool));
  }
}

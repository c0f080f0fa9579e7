import { isObject } from "../../lib/json.ts";
import type { CallPiece, ChatPiece } from "../chat-reader.ts";
import type { DialectEvent } from "../types.ts";
import { InputReader } from "./input-reader.ts";
import { toEncryptedContent } from "./signatures.ts";
import type { OwnTool } from "./tools.ts";

/** An item of a response, or a part of one. */
export type Item = Record<string, unknown>;

/** Final status of an item. */
export type ItemStatus = "completed" | "incomplete";

/** Position of an item in a response. */
export interface Place {
  id: string;
  index: number;
}

/** An item under construction and its events. */
export interface OpenItem {
  /** The item in its first event. */
  readonly begun: Item;
  add(piece: ChatPiece): DialectEvent[];
  /** Events of its last parts; the item itself is `done`. */
  close(status: ItemStatus): { events: DialectEvent[]; done: Item };
}

const event = (type: string, { id, index }: Place, members: Item): DialectEvent => ({
  type: `response.${type}`,
  item_id: id,
  output_index: index,
  ...members,
});

/** A reasoning item. Its signature or redacted content is in `encrypted_content`. */
export function openReasoning(place: Place): OpenItem {
  let text = "";
  let encrypted: string | null = null;
  const begun = { id: place.id, type: "reasoning", summary: [], encrypted_content: null, status: "in_progress" };
  const toEvent = (name: string, members: Item) => event(name, place, { summary_index: 0, ...members });
  return {
    begun,
    add(piece) {
      if (piece.kind === "signature") encrypted = toEncryptedContent({ kind: "thought", text: piece.text });
      if (piece.kind === "redacted") encrypted = toEncryptedContent({ kind: "redacted", text: piece.text });
      if (piece.kind !== "thinking") return [];
      const isFirst = text === "";
      text += piece.text;
      const delta = toEvent("reasoning_summary_text.delta", { delta: piece.text });
      const part = { type: "summary_text", text: "" };
      return isFirst ? [toEvent("reasoning_summary_part.added", { part }), delta] : [delta];
    },
    close(status) {
      const part = { type: "summary_text", text };
      const done = { ...begun, summary: text === "" ? [] : [part], encrypted_content: encrypted, status };
      const last = [toEvent("reasoning_summary_text.done", { text }), toEvent("reasoning_summary_part.done", { part })];
      return { events: text === "" ? [] : last, done };
    },
  };
}

/** An annotation of a chat in the format of the Responses API. */
function toAnnotation(annotation: Item): Item {
  const { type, url_citation: cited } = annotation;
  return type === "url_citation" && isObject(cited) ? { type, ...cited } : annotation;
}

/** Text or refusal: parts of one message. */
export class MessageItem implements OpenItem {
  readonly begun: Item;
  readonly #place: Place;
  readonly #content: Item[] = [];
  #part: { kind: "text" | "refusal"; text: string; annotations: Item[]; logprobs: unknown[] } | undefined;

  constructor(place: Place) {
    this.#place = place;
    this.begun = { id: place.id, type: "message", role: "assistant", status: "in_progress", content: [] };
  }

  #toEvent(name: string, members: Item): DialectEvent {
    return event(name, this.#place, { content_index: this.#content.length, ...members });
  }

  /** Begins a part. */
  openPart(kind: "text" | "refusal"): DialectEvent[] {
    this.#part = { kind, text: "", annotations: [], logprobs: [] };
    return [this.#toEvent("content_part.added", { part: this.#shown() })];
  }

  #shown(): Item {
    const { kind = "text", text = "", annotations = [], logprobs = [] } = this.#part ?? {};
    if (kind === "refusal") return { type: "refusal", refusal: text };
    return { type: "output_text", text, annotations: [...annotations], logprobs: [...logprobs] };
  }

  add(piece: ChatPiece): DialectEvent[] {
    const part = this.#part;
    if (!part) return [];
    if (piece.kind === "annotation") {
      if (part.kind === "refusal") return [];
      const annotation = toAnnotation(piece.annotation);
      const members = { annotation_index: part.annotations.length, annotation };
      part.annotations.push(annotation);
      return [this.#toEvent("output_text.annotation.added", members)];
    }
    if (piece.kind !== "text" && piece.kind !== "refusal") return [];
    part.text += piece.text;
    if (part.kind === "refusal") return [this.#toEvent("refusal.delta", { delta: piece.text })];
    const logprobs = (piece.kind === "text" && piece.logprobs) || [];
    part.logprobs.push(...logprobs);
    return [this.#toEvent("output_text.delta", { delta: piece.text, logprobs })];
  }

  /** Ends the open part. */
  closePart(): DialectEvent[] {
    const part = this.#part;
    if (!part) return [];
    const { text, logprobs } = part;
    const events = [
      part.kind === "refusal"
        ? this.#toEvent("refusal.done", { refusal: text })
        : this.#toEvent("output_text.done", { text, logprobs }),
      this.#toEvent("content_part.done", { part: this.#shown() }),
    ];
    this.#content.push(this.#shown());
    this.#part = undefined;
    return events;
  }

  close(status: ItemStatus): { events: DialectEvent[]; done: Item } {
    const events = this.closePart();
    return { events, done: { ...this.begun, status, content: [...this.#content] } };
  }
}

const namespaceOf = ({ namespace }: OwnTool): Item => (namespace === undefined ? {} : { namespace });

/** A call of a function. */
export function openFunctionCall(place: Place, call: CallPiece, tool: OwnTool): OpenItem {
  let given = "";
  const named = { name: tool.name, ...namespaceOf(tool) };
  const members = { call_id: call.id ?? `call_${place.id}`, ...named };
  const begun = { id: place.id, type: "function_call", status: "in_progress", arguments: "", ...members };
  const add = (delta: string): DialectEvent[] => {
    given += delta;
    return delta === "" ? [] : [event("function_call_arguments.delta", place, { delta })];
  };
  return {
    begun,
    add: (piece) => (piece.kind === "call" ? add(piece.arguments) : []),
    close(status) {
      const events = given.trim() === "" ? add("{}") : [];
      events.push(event("function_call_arguments.done", place, { name: tool.name, arguments: given }));
      return { events, done: { ...begun, status, arguments: given } };
    },
  };
}

/** A call of a custom tool, which takes free text. */
export function openCustomCall(place: Place, call: CallPiece, tool: OwnTool): OpenItem {
  const reader = new InputReader();
  const members = { call_id: call.id ?? `call_${place.id}`, name: tool.name, ...namespaceOf(tool) };
  const begun = { id: place.id, type: "custom_tool_call", status: "in_progress", input: "", ...members };
  const toEvent = (delta: string): DialectEvent[] =>
    delta === "" ? [] : [event("custom_tool_call_input.delta", place, { delta })];
  return {
    begun,
    add: (piece) => (piece.kind === "call" ? toEvent(reader.push(piece.arguments)) : []),
    close(status) {
      const events = toEvent(reader.end());
      events.push(event("custom_tool_call_input.done", place, { input: reader.text }));
      return { events, done: { ...begun, status, input: reader.text } };
    },
  };
}

import { isObject, stringOrEmpty } from "../../lib/json.ts";
import { signatureOf, toChatUsage, toFinishReason } from "./answer.ts";

type Members = Record<string, unknown>;

const toReasoningBlock = (delta: Members): Members => ({ content_blocks: [{ index: 0, delta }] });

/** Turns events of the Responses API into chat chunks (https://platform.openai.com/docs/api-reference/responses-streaming). */
export class ChunkMaker {
  /** Calls by the index of their item, with the arguments sent so far. */
  readonly #calls = new Map<unknown, { index: number; sent: string }>();
  #model = "";
  isComplete = false;
  usage: Members | undefined;

  /** Chunks for one event. */
  push(event: Members): Members[] {
    switch (event.type) {
      case "response.created":
        this.#model = isObject(event.response) ? stringOrEmpty(event.response.model) : "";
        return [this.#chunk({ role: "assistant" })];
      case "response.output_text.delta":
        return [this.#chunk({ content: event.delta })];
      case "response.refusal.delta":
        return [this.#chunk({ refusal: event.delta })];
      case "response.reasoning_summary_part.added":
        return Number(event.summary_index) > 0 ? [this.#chunk(toReasoningBlock({ thinking: "\n\n" }))] : [];
      case "response.reasoning_summary_text.delta":
        return [this.#chunk(toReasoningBlock({ thinking: event.delta }))];
      case "response.function_call_arguments.delta":
        return this.#addArguments(event.output_index, stringOrEmpty(event.delta));
      case "response.output_item.added":
        return isObject(event.item) ? this.#begin(event.item, event.output_index) : [];
      case "response.output_item.done":
        return isObject(event.item) ? this.#end(event.item, event.output_index) : [];
      case "response.completed":
      case "response.incomplete":
        return isObject(event.response) ? this.#finish(event.response) : [];
      default:
        return [];
    }
  }

  #chunk(delta: Members, finish: string | null = null): Members {
    return { model: this.#model, choices: [{ index: 0, delta, finish_reason: finish }] };
  }

  #begin({ type, call_id: id, name }: Members, place: unknown): Members[] {
    if (type !== "function_call") return [];
    const index = this.#calls.size;
    this.#calls.set(place, { index, sent: "" });
    return [this.#chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] })];
  }

  #addArguments(place: unknown, delta: string): Members[] {
    const call = this.#calls.get(place);
    if (!call || delta === "") return [];
    call.sent += delta;
    return [this.#chunk({ tool_calls: [{ index: call.index, function: { arguments: delta } }] })];
  }

  #end(item: Members, place: unknown): Members[] {
    if (item.type === "reasoning") {
      const signature = signatureOf(item);
      return signature === undefined ? [] : [this.#chunk(toReasoningBlock({ signature }))];
    }
    // some providers send the arguments only once they are complete
    const isUnsent = this.#calls.get(place)?.sent === "";
    return isUnsent ? this.#addArguments(place, stringOrEmpty(item.arguments)) : [];
  }

  #finish(response: Members): Members[] {
    this.isComplete = true;
    this.usage = toChatUsage(response.usage);
    return [this.#chunk({}, toFinishReason(response, this.#calls.size > 0))];
  }
}

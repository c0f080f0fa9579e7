import { isObject } from "../../lib/json.ts";
import type { ChatRequest, ChatResponse } from "../../schemas/chat.ts";
import { textOfPart } from "../../schemas/content-blocks.ts";
import type { StreamMapper } from "../core/types.ts";

type Members = Record<string, unknown>;

/**
 * The beginning of an answer that the model is to continue: the text of a last message of the assistant. Mistral takes such a
 * message with `prefix: true` only, and repeats its text in the response (https://docs.mistral.ai/capabilities/completion/prefix).
 * Undefined for other chats, and where the caller sets `prefix` itself.
 */
function begunAnswerOf({ messages }: ChatRequest): string | undefined {
  const last = messages.at(-1);
  if (last?.role !== "assistant" || last.prefix !== undefined) return undefined;
  if (Array.isArray(last.tool_calls) && last.tool_calls.length > 0) return undefined;
  const { content } = last;
  return Array.isArray(content) ? content.map(textOfPart).join("") : typeof content === "string" ? content : "";
}

/** The messages that are sent: a begun answer is marked as one. */
export function withPrefix(messages: readonly object[], request: ChatRequest): readonly object[] {
  return begunAnswerOf(request) === undefined
    ? messages
    : [...messages.slice(0, -1), { ...messages.at(-1), prefix: true }];
}

/** Removes the begun answer from the content of one choice, piece by piece. */
class PrefixRemover {
  #left: string;
  #removed = "";

  constructor(begun: string) {
    this.#left = begun;
  }

  /** The piece without what repeats the begun answer. An answer that turns out to differ from it comes whole. */
  remove(piece: string): string {
    if (this.#left === "" || piece === "") return piece;
    if (this.#left.startsWith(piece)) {
      this.#removed += piece;
      this.#left = this.#left.slice(piece.length);
      return "";
    }
    const rest = piece.startsWith(this.#left) ? piece.slice(this.#left.length) : this.#removed + piece;
    this.#left = "";
    return rest;
  }
}

/** Choices without the begun answer. */
function removeFrom(
  answer: object,
  member: "message" | "delta",
  removers: Map<unknown, PrefixRemover>,
  begun: string,
): object {
  const choices: unknown = Reflect.get(answer, "choices");
  if (!Array.isArray(choices)) return answer;
  const made = choices.map((choice: unknown) => {
    const said = isObject(choice) ? choice[member] : undefined;
    if (!isObject(choice) || !isObject(said) || typeof said.content !== "string") return choice;
    const remover = removers.get(choice.index) ?? new PrefixRemover(begun);
    removers.set(choice.index, remover);
    return { ...choice, [member]: { ...said, content: remover.remove(said.content) } satisfies Members };
  });
  return { ...answer, choices: made };
}

/** A response without the answer that the caller began. */
export function withoutBegun(answer: ChatResponse, request: ChatRequest): ChatResponse {
  const begun = begunAnswerOf(request);
  return begun === undefined || begun === ""
    ? answer
    : (removeFrom(answer, "message", new Map(), begun) as ChatResponse); // the same shape, less text
}

/** A mapper of streams without the answer that the caller began. */
export function mapWithoutBegun(mapper: StreamMapper, request: ChatRequest): StreamMapper {
  const begun = begunAnswerOf(request);
  if (begun === undefined || begun === "") return mapper;
  const removers = new Map<unknown, PrefixRemover>();
  return {
    map: (event) => mapper.map(event).map((chunk) => removeFrom(chunk, "delta", removers, begun)),
    isComplete: () => mapper.isComplete(),
    usage: () => mapper.usage(),
  };
}

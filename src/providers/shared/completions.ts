import { isObject } from "../../lib/json.ts";
import type { ChatResponse } from "../../schemas/chat.ts";
import type { StreamMapper } from "../core/types.ts";
import type { AnswerHead } from "./answers.ts";

function toTextChoice(choice: Record<string, unknown>, said: unknown): Record<string, unknown> {
  const content = isObject(said) ? said.content : undefined;
  const { index, finish_reason } = choice;
  return { index, text: typeof content === "string" ? content : "", logprobs: null, finish_reason };
}

/** A text completion from a chat response. */
export function toTextAnswer(answer: ChatResponse): ChatResponse {
  const choices = answer.choices.map((choice) => toTextChoice(choice, choice.message));
  return { ...answer, object: "text_completion", choices };
}

/** A text completion stream from a chat stream. */
export function toTextMapper(chat: StreamMapper): StreamMapper {
  const toText = (chunk: object): object => {
    const { choices, ...head } = chunk as { choices: readonly Record<string, unknown>[] }; // every chunk has choices
    const completions = choices.map((choice) => toTextChoice(choice, choice.delta));
    return { ...head, object: "text_completion", choices: completions };
  };
  return {
    map: (event) => chat.map(event).map(toText),
    done: () => (chat.done?.() ?? []).map(toText),
    isComplete: chat.isComplete,
    usage: chat.usage,
  };
}

/** A text completion in the gateway's shape. */
export function toTextCompletion(
  { id, created }: AnswerHead,
  model: string,
  completions: readonly { text: string; finishReason: string }[],
): ChatResponse {
  const choices = completions.map(({ text, finishReason: finish_reason }, index) => ({
    index,
    text,
    logprobs: null,
    finish_reason,
  }));
  return { id, object: "text_completion", created, model, choices };
}

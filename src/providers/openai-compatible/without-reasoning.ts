import { isObject } from "../../lib/json.ts";
import { createTextFinder } from "../../lib/text-search.ts";
import type { ChatResponse } from "../../schemas/chat.ts";
import type { ChunkCorrector } from "../core/types.ts";
import { isSilent, type Members } from "./members.ts";

/** Message fields in which hosts return reasoning; OpenAI has none of them. */
const reasoningMembers: ReadonlySet<string> = new Set([
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "thinking",
  "thinking_blocks",
  "content_blocks",
]);
const namesReasoning = createTextFinder([...reasoningMembers].map((name) => `"${name}"`));

/** A message without its reasoning; the same object when it has none. */
function leaveOut(message: Members): Members {
  const found = Object.entries(message);
  const remaining = found.filter(([name]) => !reasoningMembers.has(name));
  return remaining.length === found.length ? message : Object.fromEntries(remaining);
}

/** Choices without their reasoning; undefined when none has any. */
function leaveOutOfChoices(choices: readonly unknown[], holder: "message" | "delta"): unknown[] | undefined {
  let isSame = true;
  const made = choices.map((choice) => {
    const message = isObject(choice) ? choice[holder] : undefined;
    if (!isObject(choice) || !isObject(message)) return choice;
    const remaining = leaveOut(message);
    if (remaining === message) return choice;
    isSame = false;
    return { ...choice, [holder]: remaining };
  });
  return isSame ? undefined : made;
}

/** A chat response without reasoning; undefined when it needs no change. */
export function readWithoutReasoning(body: unknown): ChatResponse | undefined {
  const choices =
    isObject(body) && Array.isArray(body.choices) ? leaveOutOfChoices(body.choices, "message") : undefined;
  // no required field was removed
  return choices && ({ ...(body as object), choices } as ChatResponse);
}

/** Whether nothing is left of a choice after its reasoning was removed. */
function isEmpty(choice: unknown, before: unknown): boolean {
  if (choice === before || !isObject(choice) || typeof choice.finish_reason === "string") return false;
  return isObject(choice.delta) && isSilent(choice.delta);
}

/** Creates a corrector that removes reasoning from a stream and leaves everything else unchanged. */
export function createReasoningRemover(): ChunkCorrector {
  return {
    isLocal: true,
    concerns: namesReasoning,
    correct(chunk) {
      const given: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
      const choices = leaveOutOfChoices(given, "delta");
      if (!choices) return chunk;
      const remaining = choices.filter((choice, index) => !isEmpty(choice, given[index]));
      if (remaining.length > 0) return { ...chunk, choices: remaining };
      return isObject(chunk.usage) ? { ...chunk, choices } : undefined;
    },
  };
}

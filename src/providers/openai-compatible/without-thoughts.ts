import { isObject } from "../../lib/json.ts";
import { createTextFinder } from "../../lib/text-search.ts";
import type { ChatResponse } from "../../schemas/chat.ts";
import type { ChunkCorrector } from "../core/types.ts";
import { isSilent, type Members } from "./members.ts";

/** Members of messages in which hosts tell what the model thought; OpenAI's have none. */
const thoughtMembers: ReadonlySet<string> = new Set([
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "thinking",
  "thinking_blocks",
  "content_blocks",
]);
const namesThoughts = createTextFinder([...thoughtMembers].map((name) => `"${name}"`));

/** A message less its thoughts; itself where it has none. */
function leaveOut(message: Members): Members {
  const found = Object.entries(message);
  const kept = found.filter(([name]) => !thoughtMembers.has(name));
  return kept.length === found.length ? message : Object.fromEntries(kept);
}

/** Choices less their thoughts; undefined where none has any. */
function leaveOutOfChoices(choices: readonly unknown[], holder: "message" | "delta"): unknown[] | undefined {
  let isSame = true;
  const made = choices.map((choice) => {
    const message = isObject(choice) ? choice[holder] : undefined;
    if (!isObject(choice) || !isObject(message)) return choice;
    const kept = leaveOut(message);
    if (kept === message) return choice;
    isSame = false;
    return { ...choice, [holder]: kept };
  });
  return isSame ? undefined : made;
}

/** A chat's answer without thoughts; undefined where it is one as it came. */
export function readWithoutThoughts(body: unknown): ChatResponse | undefined {
  const choices =
    isObject(body) && Array.isArray(body.choices) ? leaveOutOfChoices(body.choices, "message") : undefined;
  // nothing that an answer must have was taken out
  return choices && ({ ...(body as object), choices } as ChatResponse);
}

/** Whether nothing is left of a choice whose thoughts were taken out. */
function isEmpty(choice: unknown, before: unknown): boolean {
  if (choice === before || !isObject(choice) || typeof choice.finish_reason === "string") return false;
  return isObject(choice.delta) && isSilent(choice.delta);
}

/** Makes what takes thoughts out of a stream; whatever else is in it goes on as it came. */
export function createThoughtRemover(): ChunkCorrector {
  return {
    isLocal: true,
    concerns: namesThoughts,
    correct(chunk) {
      const given: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
      const choices = leaveOutOfChoices(given, "delta");
      if (!choices) return chunk;
      const kept = choices.filter((choice, index) => !isEmpty(choice, given[index]));
      if (kept.length > 0) return { ...chunk, choices: kept };
      return isObject(chunk.usage) ? { ...chunk, choices } : undefined;
    },
  };
}

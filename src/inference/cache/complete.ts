import { objectsIn } from "../../lib/json.ts";
import type { OperationName } from "../../providers/core/operations.ts";

type Answer = Readonly<Record<string, unknown>>;

/** Reasons for which a model stopped that make a response one refusal: it may be another one next time. */
const refusals: ReadonlySet<unknown> = new Set(
  "content_filter refusal error SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII OTHER".split(" "),
);

/** Whether a response is complete, and no refusal of its provider: others are not stored. */
export function isWhole(operation: OperationName, answer: Answer): boolean {
  if (answer.error !== undefined && answer.error !== null) return false;
  switch (operation) {
    case "chat":
    case "complete": {
      const choices = objectsIn(answer.choices);
      return choices.length > 0 && choices.every(({ finish_reason: reason }) => !refusals.has(reason));
    }
    case "messages":
      return !refusals.has(answer.stop_reason);
    case "responses":
      return answer.status === "completed";
    case "generateContent": {
      const candidates = objectsIn(answer.candidates);
      return candidates.length > 0 && candidates.every(({ finishReason }) => !refusals.has(finishReason));
    }
    default:
      return true;
  }
}

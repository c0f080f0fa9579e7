import type { UncountedCall, WrittenAnswer } from "../../context/call-record.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { operationFacts } from "../facts/operation-facts.ts";

/** What an answer says of its tokens, and what they can be estimated from. */
type GivenAnswer = Omit<UncountedCall, "isCut"> & { readonly isCut?: boolean };

/** Whether a usage has both counts that a call of this operation uses. */
function isComplete(usage: LoggedUsage | null, estimates: "all" | "input" | "none"): boolean {
  return usage !== null && usage.input_tokens > 0 && (usage.output_tokens > 0 || estimates === "input");
}

/**
 * What has to be estimated of a call: nothing where its provider reported all it used, or where its operation uses no
 * tokens that a text shows.
 */
export function uncountedOf(name: OperationName, { isCut = false, ...answer }: GivenAnswer): readonly UncountedCall[] {
  const { estimates, media } = operationFacts[name];
  // of a transcript that broke off, the text that came is known
  if (estimates === "none" && !(isCut && media === "transcript")) return [];
  if (!isCut && isComplete(answer.reported, estimates)) return [];
  const written: WrittenAnswer = estimates === "input" ? { form: "none" } : answer.written;
  return [{ ...answer, written, isCut }];
}

import type { CheckResult } from "../schemas/hooks.ts";
import type { Hook } from "./types.ts";

/** Members of a check's data that say nothing of its parameters. */
const harmless = ["count", "isCut", "closed", "entities"] as const;

/**
 * A check's result as requests, responses and log rows show it. Of guardrails of the organisation workspaces see the
 * verdicts, but neither parameters nor what follows from them, such as the words of a list.
 */
export function toShown({ isOrganisations }: Pick<Hook, "isOrganisations">, result: CheckResult): CheckResult {
  if (!isOrganisations) return result;
  const { data, error, verdict } = result;
  const shown = harmless.flatMap((name) => (data && Object.hasOwn(data, name) ? [[name, data[name]] as const] : []));
  const isClosed = data?.closed === true && typeof data.explanation === "string";
  const explanation = isClosed ? data.explanation : `The check of the organisation ${verdict ? "passed" : "failed"}`;
  return {
    ...result,
    data: { explanation, ...Object.fromEntries(shown) },
    error: error && { name: error.name, message: "The check of the organisation could not do all of its work" },
  };
}

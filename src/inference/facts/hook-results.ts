import type { HookLog } from "../../context/call-record.ts";
import type { HookResults } from "../../schemas/hooks.ts";
import type { LogDetails } from "../../schemas/logs.ts";
import { toStoredHooks } from "../../schemas/stored-hooks.ts";
import { withoutQuotes } from "./log-privacy.ts";

/** Guardrail results in the form clients receive. */
export function toHookResults({ before, after }: Pick<HookLog, "before" | "after">): HookResults {
  return { before_request_hooks: [...before], after_request_hooks: [...after] };
}

/** Whether there are any. */
export function hasResults(log: HookLog | null): log is HookLog {
  return log !== null && log.before.length + log.after.length > 0;
}

/**
 * Adds them to a row of the log.
 *
 * @param quotes Whether they may quote the contents that the guardrails checked.
 */
export function addHookResults(details: LogDetails, log: HookLog | null, quotes: boolean): void {
  if (!hasResults(log)) return;
  const { before, after } = log;
  details.hook_results = quotes
    ? toStoredHooks(before, after)
    : toStoredHooks(withoutQuotes(before), withoutQuotes(after));
}

import type { HookLog } from "../../context/call-record.ts";
import type { LogRecord } from "../../logs/record.ts";
import type { HookResults } from "../../schemas/hooks.ts";

/** Guardrail results in the form clients receive. */
export function toHookResults({ before, after }: Pick<HookLog, "before" | "after">): HookResults {
  return { before_request_hooks: [...before], after_request_hooks: [...after] };
}

/** Whether there are any. */
export function hasResults(log: HookLog | null): log is HookLog {
  return log !== null && log.before.length + log.after.length > 0;
}

/** The same as JSON: written once for the response and the log row. */
export function writeHookResults(log: HookLog): string {
  log.written ??= JSON.stringify(toHookResults(log));
  return log.written;
}

/** What a row of the log has of them. */
export function resultsOfRow(log: HookLog | null): Pick<LogRecord, "hookResults"> {
  return hasResults(log) ? { hookResults: writeHookResults(log) } : {};
}

import { timeOfId } from "../lib/ids.ts";
import type { HookResults } from "../schemas/hooks.ts";
import type { LogDetails, LogRow } from "../schemas/logs.ts";
import { fromStoredHooks } from "../schemas/stored-hooks.ts";
import { withAllCounts } from "./usage.ts";

/** Whether every check passed; undefined without results. */
export function verdictOf(hooks: HookResults | undefined): boolean | undefined {
  const all = hooks && [...hooks.before_request_hooks, ...hooks.after_request_hooks];
  return all && all.length > 0 ? all.every(({ verdict }) => verdict) : undefined;
}

/** A stored row as the API shows it. */
export function toRow(details: LogDetails): LogRow {
  // rows of earlier versions do not say whether they are priced, or have no cost
  const { id, usage, cost = null, priced = cost !== null, hook_results: hooks, ...others } = details;
  const created_at = new Date(timeOfId(id)).toISOString();
  const row: LogRow = {
    id,
    object: "log",
    created_at,
    mode: "single",
    cache_status: "DISABLED",
    ...others,
    usage: withAllCounts(usage),
    cost,
    cost_currency: "USD",
    priced,
  };
  if (hooks) row.hook_results = fromStoredHooks(hooks);
  const verdict = verdictOf(row.hook_results);
  if (verdict !== undefined) row.hook_verdict = verdict;
  return row;
}

/** A row without fields that show contents: guardrail results may quote them. */
export function withoutContents<Row extends Partial<LogRow>>({
  hook_results: _,
  ...figures
}: Row): Omit<Row, "hook_results"> {
  return figures;
}

import type { LogBatch, LogDetails, RowMeasures } from "../schemas/logs.ts";

/** A stored log row, and what was measured for it. */
export interface ObservedRow {
  readonly details: LogDetails;
  /** Null for rows that stand for no request. */
  readonly measures: RowMeasures | null;
  /** Its place in the batch. */
  readonly index: number;
}

const reports: ReadonlySet<string> = new Set(["rows_lost", "requests_shed"]);

/** The rows of a batch that stand for requests: those that report losses are left out. */
export function readRows({ details, measures }: Pick<LogBatch, "details" | "measures">): ObservedRow[] {
  // both are written by `packRecords`
  const all = JSON.parse(details) as LogDetails[];
  const measured = measures ? (JSON.parse(measures) as (RowMeasures | null)[]) : [];
  const rows = all.map((row, index) => ({ details: row, measures: measured[index] ?? null, index }));
  return rows.filter((row) => !reports.has(row.details.operation));
}

/** Whether the response is that of a provider, as far as its status shows. */
export function isOfProvider({ details, measures }: ObservedRow): boolean {
  if (details.upstream_calls === 0) return false;
  return details.error === null || (measures !== null && measures[3] === details.status);
}

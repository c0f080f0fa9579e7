import { isRow, type Row, readList, readText } from "@/lib/read.ts";

/** One call that would be made. */
export interface PlannedCall {
  readonly label: string;
  readonly provider: string;
  readonly model: string;
  readonly host: string;
  readonly params: unknown;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly why: string;
}

/** A condition that was read. */
interface ReadCondition {
  readonly matched: boolean;
  readonly why: string;
}

/** What a config would do with a request, as `POST /v1/configs/explain` says it. */
export interface Plan {
  readonly calls: readonly PlannedCall[];
  /** By path of the group, in the order of its conditions. */
  readonly conditions: ReadonlyMap<string, readonly ReadCondition[]>;
  readonly warnings: readonly string[];
}

function toCall(row: Row): PlannedCall {
  const retry = isRow(row.retry) ? row.retry.attempts : undefined;
  return {
    label: readText(row, "label"),
    provider: readText(row, "provider"),
    model: readText(row, "model"),
    host: readText(row, "host"),
    params: row.params,
    retries: typeof retry === "number" ? retry : 0,
    timeoutMs: typeof row.timeout_ms === "number" ? row.timeout_ms : 0,
    why: readText(row, "why"),
  };
}

export function toPlan(answer: unknown): Plan {
  const row = isRow(answer) ? answer : {};
  const conditions = new Map<string, ReadCondition[]>();
  for (const condition of readList(row.conditions)) {
    const label = readText(condition, "label");
    const known = conditions.get(label) ?? [];
    conditions.set(label, [...known, { matched: condition.matched === true, why: readText(condition, "why") }]);
  }
  return {
    calls: readList(row.attempts).map(toCall),
    conditions,
    warnings: Array.isArray(row.warnings) ? row.warnings.map(String) : [],
  };
}

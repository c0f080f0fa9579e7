import type { AnswerOf } from "@/api/client.ts";

type Explained = AnswerOf<"POST /v1/configs/explain">;

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

function toCall(attempt: Explained["attempts"][number]): PlannedCall {
  const { label, provider, model, host, params, retry, timeout_ms: timeoutMs, why } = attempt;
  return {
    label,
    provider: provider ?? "",
    model: model ?? "",
    host: host ?? "",
    params,
    retries: retry?.attempts ?? 0,
    timeoutMs,
    why,
  };
}

export function toPlan({ attempts, conditions: read, warnings }: Explained): Plan {
  const conditions = new Map<string, ReadCondition[]>();
  for (const { label, matched, why } of read) {
    conditions.set(label, [...(conditions.get(label) ?? []), { matched, why }]);
  }
  return { calls: attempts.map(toCall), conditions, warnings };
}

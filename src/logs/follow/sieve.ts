import type { LogScope } from "../../db/stores/log-scope.ts";
import type { LogDetails } from "../../schemas/logs.ts";
import type { Condition } from "../index/conditions.ts";
import { isWanted, valueReader } from "../index/row-test.ts";
import type { LogRecord } from "../record.ts";
import type { TailFilter } from "./page.ts";

/** A filter, and the number of those that want the same rows. */
export interface NumberedFilter {
  readonly number: number;
  readonly filter: TailFilter;
}

type Value = string | number;

/** The values that a filter wants in one field. */
interface Choice {
  readonly field: string;
  readonly of: (details: LogDetails) => Value | null;
  readonly values: ReadonlySet<Value>;
  /** How many rows share a value, roughly: fields with few of them are looked at first. */
  readonly rank: number;
}

/** Filters that want some values of one field. */
interface Probe {
  readonly of: Choice["of"];
  readonly wanting: Map<Value, NumberedFilter[]>;
}

const rareFields: ReadonlySet<string> = new Set(["endUser", "error", "prompt", "config", "user"]);
const usualFields: ReadonlySet<string> = new Set(["apiKey", "virtualKey", "model", "cacheStatus"]);

function rankOf({ field }: Condition, values: ReadonlySet<Value>): number {
  if (rareFields.has(field) || field.startsWith("metadata.")) return 1;
  if (field === "status") return values.has(200) ? 4 : 2;
  return usualFields.has(field) ? 3 : 4;
}

function choiceOf(condition: Condition): Choice[] {
  if (!("oneOf" in condition)) return [];
  if ("orNone" in condition && condition.orNone) return [];
  const { field, oneOf: values } = condition;
  const read = valueReader(field);
  return [{ field, of: (details) => read(details, 0), values, rank: rankOf(condition, values) }];
}

/** The field to look at first; undefined if the filter wants no certain values. */
function bestChoice({ terms: { traces, spans }, conditions }: TailFilter): Choice | undefined {
  const choices = conditions.flatMap(choiceOf);
  if (spans) choices.push({ field: "span id", of: (row) => row.span_id, values: spans, rank: 0 });
  if (traces) choices.push({ field: "trace id", of: (row) => row.trace_id, values: traces, rank: 0 });
  return choices.sort((one, other) => one.rank - other.rank)[0];
}

const isOf = ({ organisationId, workspaceId }: LogScope, row: LogDetails): boolean =>
  organisationId === row.organisation_id && (workspaceId === null || workspaceId === row.workspace_id);

/**
 * Finds which filters want one of some rows, without asking each filter for each row. The rows are not written yet: no
 * filter may ask for the number of a batch.
 */
export class Sieve {
  readonly #size: number;
  readonly #probes: readonly Probe[];
  /** Filters that are asked for each row. */
  readonly #others: readonly NumberedFilter[];

  constructor(filters: readonly NumberedFilter[]) {
    const probes = new Map<string, Probe>();
    const others: NumberedFilter[] = [];
    for (const one of filters) {
      const choice = bestChoice(one.filter);
      if (!choice) {
        others.push(one);
        continue;
      }
      const { field, of, values } = choice;
      const probe = probes.get(field) ?? { of, wanting: new Map<Value, NumberedFilter[]>() };
      probes.set(field, probe);
      for (const value of values) probe.wanting.set(value, [...(probe.wanting.get(value) ?? []), one]);
    }
    this.#size = filters.length;
    this.#probes = [...probes.values()];
    this.#others = others;
  }

  /** Numbers of the filters that want the row of one of the records, if its trace has the feedback they want. */
  find(records: readonly Pick<LogRecord, "details">[]): number[] {
    const found = new Set<number>();
    const ask = (filters: readonly NumberedFilter[], row: LogDetails) => {
      for (const { number, filter } of filters) {
        if (!found.has(number) && isOf(filter, row) && isWanted(row, filter, 0)) found.add(number);
      }
    };
    for (const { details: row } of records) {
      for (const { of, wanting } of this.#probes) {
        const value = of(row);
        const filters = value === null ? undefined : wanting.get(value);
        if (filters) ask(filters, row);
      }
      if (this.#others.length > 0) ask(this.#others, row);
      if (found.size === this.#size) break;
    }
    return [...found];
  }
}

import { isId } from "../../lib/ids.ts";
import type { LogDetails } from "../../schemas/logs.ts";
import type { Condition } from "./conditions.ts";
import { indexedFields, labelOfKey, metadataKeyOf } from "./fields.ts";
import type { IdRange } from "./find-rows.ts";
import type { RowTest } from "./row-block.ts";

/** Bounds of a number, both inclusive. */
export interface Bounds {
  readonly least: number | undefined;
  readonly most: number | undefined;
}

/** What conditions do not say exactly: they compare digests of ids, and one field at a time. Undefined: any. */
export interface RowTerms {
  readonly traces?: ReadonlySet<string> | undefined;
  readonly spans?: ReadonlySet<string> | undefined;
  /** Rows whose requests were copied. */
  readonly originals?: ReadonlySet<string> | undefined;
  /** Pairs of a provider and its model, as `pairOf` writes them. */
  readonly models?: ReadonlySet<string> | undefined;
  /** Mean of value times weight of the feedback of the trace, which the row does not have. */
  readonly rating?: Bounds | undefined;
}

/** Which rows are wanted: as lists find them in the index, for rows that are at hand. */
export interface RowFilter extends IdRange {
  readonly conditions: readonly Condition[];
  readonly terms: RowTerms;
}

/** A provider and its model as one string. */
export const pairOf = (provider: string | null, model: string | null): string => JSON.stringify([provider, model]);

/** Whether a row meets the terms, apart from the one about feedback. */
export function meetsTerms(
  row: Pick<LogDetails, "trace_id" | "span_id" | "shadow_of" | "provider" | "model">,
  { traces, spans, originals, models }: RowTerms,
): boolean {
  const { trace_id, span_id, shadow_of: original, provider, model } = row;
  return (
    (!traces || traces.has(trace_id)) &&
    (!spans || (span_id !== null && spans.has(span_id))) &&
    (!originals || (original !== undefined && originals.has(original))) &&
    (!models || models.has(pairOf(provider, model)))
  );
}

function modelTest(wanted: ReadonlySet<string>): RowTest {
  return {
    fields: ["provider", "model"],
    of(block) {
      const [providers, models] = [block.strings("provider"), block.strings("model")];
      const known = new Map<number, boolean>();
      return (place) => {
        const [provider, model] = [(providers.codes[place] ?? 0) - 1, (models.codes[place] ?? 0) - 1];
        const key = provider * 2 ** 26 + model;
        let isWanted = known.get(key);
        if (isWanted === undefined) {
          isWanted = wanted.has(pairOf(providers.values.at(provider), models.values.at(model)));
          known.set(key, isWanted);
        }
        return isWanted;
      };
    },
  };
}

/** What conditions cannot say in the index, apart from feedback. */
export function testsOf({ models }: RowTerms): RowTest[] {
  return models ? [modelTest(models)] : [];
}

/** What reads the value that a column of the index would hold. */
export function valueReader(field: Condition["field"]): (details: LogDetails, seq: number) => string | number | null {
  const key = metadataKeyOf(field);
  if (key === undefined) return indexedFields[field as keyof typeof indexedFields].of; // no key: a plain field
  const label = labelOfKey(key);
  if (label !== undefined) {
    return ({ labels }) => (labels && Object.hasOwn(labels, label) ? String(labels[label]) : null);
  }
  return ({ metadata }) => {
    const value: unknown = metadata?.[key];
    // most rows do not have the key, and looking whether it is their own costs more
    return typeof value === "string" && Object.hasOwn(metadata, key) ? value : null;
  };
}

function meets(value: string | number | null, condition: Condition): boolean {
  if (value === null) return "orNone" in condition && condition.orNone === true;
  if ("isGiven" in condition) return typeof value === "string";
  if ("oneOf" in condition) {
    const wanted: ReadonlySet<unknown> = condition.oneOf;
    return wanted.has(value);
  }
  const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = condition;
  return typeof value === "number" && value >= least && value <= most;
}

/**
 * Whether a row is wanted, apart from the feedback of its trace. Rows without an id were not written by this program and
 * are never wanted.
 */
export function isWanted(details: LogDetails, filter: RowFilter, seq: number): boolean {
  const { lower, upper, terms, conditions } = filter;
  const id: unknown = details?.id;
  if (!(typeof id === "string" && isId(id) && id >= lower && id < upper)) return false;
  if (!meetsTerms(details, terms)) return false;
  return conditions.every((condition) => meets(valueReader(condition.field)(details, seq), condition));
}

/** Strings that JSON writes as they are. */
const plainText = /^[\w .:@/+-]{1,256}$/;

/** Pieces of JSON. The stored rows of a batch contain each of them if one of the rows may be wanted. */
export function hintsOf({ terms, conditions }: RowFilter): string[] {
  const hints: string[] = [];
  for (const ids of [terms.traces, terms.spans, terms.originals]) {
    const [only] = ids?.size === 1 ? ids : [];
    if (only !== undefined && plainText.test(only)) hints.push(JSON.stringify(only));
  }
  for (const condition of conditions) {
    if (!("oneOf" in condition) || condition.oneOf.size !== 1) continue;
    if ("orNone" in condition && condition.orNone) continue;
    const [only] = condition.oneOf;
    if (condition.field === "status") hints.push(`"status":${only}`);
    else if (condition.field === "zeroRetention") hints.push(`"zero_retention":${only}`);
    else if (typeof only === "string" && plainText.test(only)) hints.push(JSON.stringify(only));
  }
  return hints;
}

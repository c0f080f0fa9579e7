import type { CallerContext } from "../../context.ts";
import type { AnswerFigures } from "../../db/stores/eval-runs.ts";
import type { EvalRunRow } from "../../db/tables/evals.ts";
import { readDenied } from "../../endpoint/log-access.ts";
import { toCents } from "../../pricing/cost.ts";
import type { VariantTotals } from "../../schemas/eval-runs.ts";
import { withoutDeniedFigures } from "./denied-figures.ts";

/** The value that this part of the sorted values does not exceed; null without any. */
function percentile(sorted: readonly number[], part: number): number | null {
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? null;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number | null => (values.length === 0 ? null : sum(values) / values.length);

/** The share of verdicts that passed, of those that were decided. */
function passRate(verdicts: readonly (boolean | null | undefined)[]): number | null {
  return mean(verdicts.filter((verdict) => typeof verdict === "boolean").map(Number));
}

function totalsOf(variant: string, answers: readonly AnswerFigures[], checks: readonly string[]): VariantTotals {
  const latencies = answers
    .filter(({ status }) => status < 300)
    .map(({ latencyMs }) => latencyMs)
    .toSorted((one, other) => one - other);
  const costs = answers.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  const ratings = answers.flatMap(({ rating }) => (rating === null ? [] : [rating]));
  const meanCost = mean(costs);
  return {
    variant,
    answers: answers.length,
    errors: answers.filter(({ status }) => status >= 300).length,
    mean_cost: meanCost === null ? null : toCents(meanCost),
    cost: toCents(sum(costs)),
    p50_latency: percentile(latencies, 0.5),
    p95_latency: percentile(latencies, 0.95),
    input_tokens: sum(answers.map(({ inputTokens }) => inputTokens)),
    output_tokens: sum(answers.map(({ outputTokens }) => outputTokens)),
    pass_rate: passRate(answers.flatMap(({ verdicts }) => Object.values(verdicts))),
    checks: Object.fromEntries(checks.map((name) => [name, passRate(answers.map(({ verdicts }) => verdicts[name]))])),
    rating: mean(ratings),
    ratings: ratings.length,
  };
}

/** What the answers of each variant add up to, without what the organisation denies: that decides no winner either. */
export async function readTotals(row: EvalRunRow, context: CallerContext): Promise<VariantTotals[]> {
  const answers = await context.services.evalRuns.store.figures(row);
  const denied = await readDenied(context);
  const names = row.checks.map(({ name }) => name);
  return row.variants.map(({ name }, index) => {
    const own = answers.filter(({ variant }) => variant === index);
    return withoutDeniedFigures(totalsOf(name, own, names), denied);
  });
}

const highest = (value: number | null): number => -(value ?? Number.NEGATIVE_INFINITY);
const lowest = (value: number | null): number => value ?? Number.POSITIVE_INFINITY;

/** What a variant is compared by, smallest first: the rule, then the others in this order. */
const measures = {
  pass_rate: (totals: VariantTotals) => highest(totals.pass_rate),
  rating: (totals: VariantTotals) => highest(totals.rating),
  cost: (totals: VariantTotals) => lowest(totals.mean_cost),
  latency: (totals: VariantTotals) => lowest(totals.p50_latency),
} as const;

/** The variant that wins: by the rule of the run, and if it does not decide, by the other measures. */
export function findWinner(
  { winnerBy, minPassRate, status }: EvalRunRow,
  all: readonly VariantTotals[],
): string | null {
  if (status === "running") return null;
  const possible = all.filter(({ answers, errors, pass_rate: rate }) => answers > errors && (rate ?? 1) >= minPassRate);
  const order = [measures[winnerBy], ...Object.values(measures)];
  const [winner] = possible.toSorted((one, other) => {
    const differing = order.find((measure) => measure(one) !== measure(other));
    return differing ? (differing(one) < differing(other) ? -1 : 1) : 0;
  });
  return winner?.variant ?? null;
}
